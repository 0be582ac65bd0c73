// SPDX-License-Identifier: Apache-2.0
// The picture tab: left image and depth next to or over each other, the probe, the region that is drawn.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { finiteNumber, member, parseCamera, unavailableReason } from "../documents.js";
import { onFrames } from "../live.js";
import { currentOptions, onOptions, useOptions } from "../options.js";
import { controlNow, useDocuments, useStore } from "../store.js";
import { S } from "../strings.js";
import { ColourBar } from "./colour-bar.js";
import { areaFacts, distanceBetween } from "./measure.js";
import { MeasurePanel } from "./measure-panel.js";
import { Overlay } from "./overlay.js";
import { Painter, type PixelFacts } from "./painter.js";
import { PictureTools, type Tool } from "./picture-tools.js";
import { Probe } from "./probe.js";
import { RangePanel } from "./range-panel.js";
import { type DrawnRegion, regionBetween, sendRegion } from "./region.js";
import { TopView } from "./top-view.js";
import { ZonePanel } from "./zone-panel.js";
import { hasOwnZones, MIN_PIXELS_KEY, nearestInZone, type Point, zonesFrom } from "./zones.js";

const TICK_MS = 250;

/** Returns the pixel under a pointer, for any displayed size of the canvas. */
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
  const [tool, setTool] = useState<Tool>();
  const [from, setFrom] = useState<Point>();
  const [area, setArea] = useState<DrawnRegion>();
  const [ruler, setRuler] = useState<readonly [Point, Point]>();
  /** Corners of the zone that is being drawn, in shares of the picture; undefined: none is. */
  const [corners, setCorners] = useState<readonly Point[]>();
  const control = useStore(controlNow);
  const camera = parseCamera(useStore(({ documents, device }) => documents[device ?? ""]?.cameraInfo));
  const zones = control.state.enabled ? zonesFrom(control) : undefined;
  const { metrics, grid } = useDocuments();
  const derived = member(metrics?.outputs, "derived");
  const zonesDrawn =
    hasOwnZones(control) || (derived !== undefined && unavailableReason(derived) === undefined);
  const minPixels = finiteNumber(control.values[MIN_PIXELS_KEY]) ?? 1;

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

  const drawn = tool !== undefined && from && point ? ([from, point] as const) : undefined;
  const region = drawn && tool !== "ruler" ? regionBetween(...drawn) : area;
  const finish = (to: Point) => {
    if (tool === undefined || from === undefined) return;
    const rectangle = regionBetween(from, to);
    setFrom(undefined);
    setTool(undefined);
    if (tool === "region") void sendRegion(rectangle);
    else if (tool === "area") setArea(rectangle);
    else setRuler([from, to]);
  };
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
        if (tool === undefined) return;
        canvas.setPointerCapture(event.pointerId);
        setFrom(at);
      },
      onPointerUp: (event: PointerEvent) => {
        finish(pixelAt(event.currentTarget as HTMLCanvasElement, event));
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
          setTool(undefined);
          setFrom(undefined);
          setCorners(undefined);
        }
        if (corners !== undefined && event.key === "Enter" && point !== undefined)
          setCorners([...corners, cornerAt(canvas, point)]);
        if (tool !== undefined && event.key === "Enter" && point !== undefined) {
          if (from === undefined) setFrom(point);
          else finish(point);
        }
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
    [tool, from, corners, point],
  );

  const set = painter.current?.set;
  const shownQuantity = painter.current?.quantity(options) ?? options.quantity;
  const overlay = (
    <Overlay
      size={size}
      point={point}
      grid={options.grid}
      region={region}
      ruler={drawn && tool === "ruler" ? drawn : ruler}
      zones={zones !== undefined && zonesDrawn && options.zones ? zones : []}
      corners={corners}
    />
  );
  return (
    <div class="picture">
      <div
        ref={stage}
        class={`stage layout-${options.layout}${tool || corners ? " drawing" : ""}`}
        data-frozen={frozen}
        data-size={size ? `${size.width}x${size.height}` : ""}
        style={{ "--aspect": size ? String(size.width / size.height) : "1.3333" }}
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
          {set !== undefined && set.pictures.left === undefined && <p class="nothing">{S.picture.noLeft}</p>}
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
        {size !== undefined && options.layout !== "left" && (
          <ColourBar painter={painter.current ?? undefined} />
        )}
        {size === undefined && <p class="nothing">{S.picture.nothing}</p>}
      </div>
      <PictureTools
        stage={stage}
        painter={painter}
        tool={tool}
        hasZones={zones !== undefined && zonesDrawn}
        onTool={(chosen) => {
          setTool(chosen);
          setFrom(undefined);
        }}
      />
      <div class="under">
        <RangePanel painter={painter.current ?? undefined} />
        <Probe facts={facts ?? probed} />
        {(area || ruler) && (
          <MeasurePanel
            area={set && area && areaFacts(set, area, camera, options.minConfidence)}
            distance={set && ruler && distanceBetween(set, ruler, camera, options.minConfidence)}
            hasRuler={ruler !== undefined}
            onClear={() => {
              setArea(undefined);
              setRuler(undefined);
            }}
          />
        )}
        {zones !== undefined && (
          <ZonePanel
            zones={zones}
            corners={corners}
            nearest={(zone) => set && nearestInZone(set, zone, minPixels)}
            onCorners={setCorners}
          />
        )}
        {grid !== undefined && <TopView grid={grid} />}
      </div>
    </div>
  );
}
