// SPDX-License-Identifier: Apache-2.0
// The picture tab: left image and depth beside or over each other, the probe, the region that is drawn.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { onFrames } from "../live.js";
import { currentOptions, onOptions, useOptions } from "../options.js";
import { S } from "../strings.js";
import { useStore } from "../store.js";
import { Painter, type PixelFacts } from "./painter.js";
import { PictureTools } from "./picture-tools.js";
import { Probe } from "./probe.js";
import { RangePanel } from "./range-panel.js";
import { type DrawnRegion, regionBetween, sendRegion } from "./region.js";

interface Point {
  x: number;
  y: number;
}

const TICK_MS = 250;

/** The pixel under a pointer, whatever size the canvas is shown at. */
function pixelAt(canvas: HTMLCanvasElement, event: PointerEvent): Point {
  const box = canvas.getBoundingClientRect();
  const x = Math.floor(((event.clientX - box.left) / box.width) * canvas.width);
  const y = Math.floor(((event.clientY - box.top) / box.height) * canvas.height);
  return { x: Math.min(canvas.width - 1, Math.max(0, x)), y: Math.min(canvas.height - 1, Math.max(0, y)) };
}

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

  useEffect(() => {
    const mine = new Painter(left.current as HTMLCanvasElement, value.current as HTMLCanvasElement);
    painter.current = mine;
    const stopFrames = onFrames((set) => {
      mine.draw(set, currentOptions());
      const header = Object.values(set.pictures)[0]?.header;
      if (header)
        setSize((old) =>
          old?.width === header.width && old.height === header.height
            ? old
            : { width: header.width, height: header.height },
        );
    });
    const stopOptions = onOptions(() => mine.set && mine.draw(mine.set, currentOptions()));
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
        if (event.key === "Escape") {
          setDrawing(false);
          setFrom(undefined);
        }
        const move = moves[event.key];
        if (!move) return;
        event.preventDefault();
        const { width, height } = event.currentTarget as HTMLCanvasElement;
        setPoint((old) => ({
          x: Math.min(width - 1, Math.max(0, (old?.x ?? width >> 1) + move[0])),
          y: Math.min(height - 1, Math.max(0, (old?.y ?? height >> 1) + move[1])),
        }));
      },
    }),
    [drawing, from],
  );

  const shownQuantity = painter.current?.quantity(options) ?? options.quantity;
  const overlay = <Overlay size={size} point={point} grid={options.grid} region={region} />;
  return (
    <div class="picture">
      <div
        ref={stage}
        class={`stage layout-${options.layout}${drawing ? " drawing" : ""}`}
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
      </div>
      <PictureTools
        stage={stage}
        painter={painter}
        drawing={drawing}
        onDraw={() => setDrawing((on) => !on)}
      />
      <div class="under">
        <RangePanel painter={painter.current ?? undefined} />
        <Probe facts={facts ?? probed} />
      </div>
    </div>
  );
}

interface OverlayProps {
  size: { width: number; height: number } | undefined;
  point: Point | undefined;
  grid: boolean;
  region: DrawnRegion | undefined;
}

/** Lines over a picture, in its own pixels. */
function Overlay({ size, point, grid, region }: OverlayProps) {
  if (size === undefined) return null;
  const { width, height } = size;
  const step = Math.max(16, Math.round(width / 10 / 16) * 16);
  const lines = [];
  if (grid) {
    for (let x = step; x < width; x += step) lines.push(`M${x} 0V${height}`);
    for (let y = step; y < height; y += step) lines.push(`M0 ${y}H${width}`);
  }
  return (
    <svg class="overlay" viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      {grid && <path class="grid" d={lines.join("")} />}
      {point && (
        <path
          class="cross"
          d={`M${point.x + 0.5} ${point.y - 12}v8m0 9v8M${point.x - 12} ${point.y + 0.5}h8m9 0h8`}
        />
      )}
      {region && <rect class="region" {...region} />}
    </svg>
  );
}
