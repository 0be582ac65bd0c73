// SPDX-License-Identifier: Apache-2.0
// The picture tab: left image and depth next to or over each other, the probe, the region that is drawn.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { onFrames } from "../live.js";
import { currentOptions, onOptions, useOptions } from "../options.js";
import { controlNow, useStore } from "../store.js";
import { S } from "../strings.js";
import { Overlay } from "./overlay.js";
import { Painter, type PixelFacts } from "./painter.js";
import { PictureTools } from "./picture-tools.js";
import { Probe } from "./probe.js";
import { RangePanel } from "./range-panel.js";
import { type DrawnRegion, regionBetween, sendRegion } from "./region.js";
import { ZonePanel } from "./zone-panel.js";
import { type Point, zonesFrom } from "./zones.js";

const TICK_MS = 250;

/** The pixel under a pointer, whatever size the canvas is shown at. */
function pixelAt(canvas: HTMLCanvasElement, event: PointerEvent): Point {
  const box = canvas.getBoundingClientRect();
  const x = Math.floor(((event.clientX - box.left) / box.width) * canvas.width);
  const y = Math.floor(((event.clientY - box.top) / box.height) * canvas.height);
  return { x: Math.min(canvas.width - 1, Math.max(0, x)), y: Math.min(canvas.height - 1, Math.max(0, y)) };
}

/** The middle of a pixel, in shares of the picture. */
const cornerAt = ({ width, height }: HTMLCanvasElement, { x, y }: Point): Point => ({
  x: (x + 0.5) / width,
  y: (y + 0.5) / height,
});

export function PictureView() {
  const options = useOptions();
  const frozen = useStore((state) => state.frozen);
  const stage = useRef<HTMLDivElement>(null);
  const left = useRef<HTMLCanvasElement>(null);
  const value = useRef<HTMLCanvasElement>(null);
  const painter = useRef<Painter>(null);
  const [size, setSize] = useState<{ width: number; height: number }>();
  const [point, setPoint] = useState<Point>();
  const [facts, setFacts] = useState<PixelFacts>();
  const [, setTick] = useState(0);
  const [drawing, setDrawing] = useState(false);
  const [from, setFrom] = useState<Point>();
  /** Corners of the zone that is being drawn, in shares of the picture; undefined: none is. */
  const [corners, setCorners] = useState<readonly Point[]>();
  const control = useStore(controlNow);
  const zones = control.state.enabled ? zonesFrom(control) : undefined;

  useEffect(() => {
    const own = new Painter(left.current as HTMLCanvasElement, value.current as HTMLCanvasElement);
    painter.current = own;
    const stopFrames = onFrames((set) => {
      own.draw(set, currentOptions());
      const header = Object.values(set.pictures)[0]?.header;
      if (header)
        setSize((old) =>
          old?.width === header.width && old.height === header.height
            ? old
            : { width: header.width, height: header.height },
        );
    });
    const stopOptions = onOptions(() => own.set && own.draw(own.set, currentOptions()));
    const timer = setInterval(() => setTick((tick) => tick + 1), TICK_MS);
    return () => {
      stopFrames();
      stopOptions();
      clearInterval(timer);
    };
  }, []);

  // The probe's figures follow the frame, at a pace that can be read.
  const probed = point && painter.current?.at(point.x, point.y);
  useEffect(() => setFacts(probed), [probed?.x, probed?.y, probed?.depthMetres, probed?.confidence]);

  const region: DrawnRegion | undefined = drawing && from && point ? regionBetween(from, point) : undefined;
  const handlers = useMemo(
    () => ({
      onPointerMove: (event: PointerEvent) =>
        setPoint(pixelAt(event.currentTarget as HTMLCanvasElement, event)),
      onPointerDown: (event: PointerEvent) => {
        const canvas = event.currentTarget as HTMLCanvasElement;
        const at = pixelAt(canvas, event);
        setPoint(at);
        if (corners !== undefined) {
          event.preventDefault();
          canvas.focus();
          setCorners([...corners, cornerAt(canvas, at)]);
          return;
        }
        if (!drawing) return;
        canvas.setPointerCapture(event.pointerId);
        setFrom(at);
      },
      onPointerUp: (event: PointerEvent) => {
        if (!drawing || from === undefined) return;
        const drawn = regionBetween(from, pixelAt(event.currentTarget as HTMLCanvasElement, event));
        setFrom(undefined);
        setDrawing(false);
        void sendRegion(drawn);
      },
      onKeyDown: (event: KeyboardEvent) => {
        const step = event.shiftKey ? 10 : 1;
        const moves: Record<string, [number, number]> = {
          ArrowLeft: [-step, 0],
          ArrowRight: [step, 0],
          ArrowUp: [0, -step],
          ArrowDown: [0, step],
        };
        const canvas = event.currentTarget as HTMLCanvasElement;
        if (event.key === "Escape") {
          setDrawing(false);
          setFrom(undefined);
          setCorners(undefined);
        }
        if (corners !== undefined && event.key === "Enter" && point !== undefined)
          setCorners([...corners, cornerAt(canvas, point)]);
        if (corners !== undefined && event.key === "Backspace") setCorners(corners.slice(0, -1));
        const move = moves[event.key];
        if (!move) return;
        event.preventDefault();
        const { width, height } = canvas;
        setPoint((old) => ({
          x: Math.min(width - 1, Math.max(0, (old?.x ?? width >> 1) + move[0])),
          y: Math.min(height - 1, Math.max(0, (old?.y ?? height >> 1) + move[1])),
        }));
      },
    }),
    [drawing, from, corners, point],
  );

  const shownQuantity = painter.current?.quantity(options) ?? options.quantity;
  const overlay = (
    <Overlay
      size={size}
      point={point}
      grid={options.grid}
      region={region}
      zones={zones !== undefined && options.zones ? zones : []}
      corners={corners}
    />
  );
  return (
    <div class="picture">
      <div
        ref={stage}
        class={`stage layout-${options.layout}${drawing || corners ? " drawing" : ""}`}
        data-frozen={frozen}
        data-size={size ? `${size.width}x${size.height}` : ""}
      >
        <div class="sheet left">
          <canvas
            ref={left}
            width={4}
            height={3}
            aria-label={S.picture.leftCanvas}
            role="img"
            {...handlers}
          />
          {options.layout !== "blend" && overlay}
        </div>
        <div class="sheet value">
          <canvas
            ref={value}
            width={4}
            height={3}
            tabIndex={0}
            role="img"
            aria-label={S.picture.valueCanvas(S.picture.quantities[shownQuantity])}
            data-quantity={shownQuantity}
            style={options.layout === "blend" ? { opacity: String(options.blend) } : { opacity: "1" }}
            {...handlers}
          />
          {overlay}
        </div>
        {size === undefined && <p class="nothing">{S.picture.nothing}</p>}
      </div>
      <PictureTools
        stage={stage}
        painter={painter}
        drawing={drawing}
        hasZones={zones !== undefined}
        onDraw={() => setDrawing((on) => !on)}
      />
      <div class="under">
        <RangePanel painter={painter.current ?? undefined} />
        <Probe facts={facts ?? probed} />
        {zones !== undefined && <ZonePanel zones={zones} corners={corners} onCorners={setCorners} />}
      </div>
    </div>
  );
}
