// SPDX-License-Identifier: Apache-2.0
// The point cloud tab: canvas, pointers, keys and the switches below it.
import { useEffect, useRef, useState } from "preact/hooks";
import { Choice, Switch } from "../controls.js";
import { parseCamera } from "../documents.js";
import type { FrameSet } from "../frame-set.js";
import { onFrames, shownSet } from "../live.js";
import { currentOptions, type Options, onOptions, setOptions, useOptions } from "../options.js";
import { colourTable } from "../picture/colour-maps.js";
import { download, frameName } from "../picture/save.js";
import { pageState } from "../store.js";
import { S } from "../strings.js";
import { CloudAxes } from "./cloud-axes.js";
import { type CloudFrame, CloudScene } from "./cloud-scene.js";
import { byKey, followPointers, type OrbitState, START, viewProjection } from "./orbit.js";
import { buildPoints, encodePly } from "./points.js";

const T = S.cloud;

/** Returns the cloud's part of a set; undefined if there is no depth or no calibration. */
function buildCloudFrame(set: FrameSet): CloudFrame | undefined {
  const { depth, left, confidence } = set.pictures;
  const camera = parseCamera(pageState().documents[set.device]?.cameraInfo);
  if (!depth || !camera || !(depth.counts instanceof Uint16Array)) return undefined;
  const { width, height } = depth.header;
  const same = (picture: typeof left) =>
    picture?.counts.length === width * height ? picture.counts : undefined;
  return {
    width,
    height,
    camera,
    depth: depth.counts,
    meaning: depth.header,
    reduction: depth.header.reduction,
    grey: same(left),
    confidence: same(confidence),
  };
}

/** JavaScript time of the newest frame; an attribute of the canvas, for measurements. */
const cost = { milliseconds: 0 };

export default function CloudView() {
  const options = useOptions();
  const canvas = useRef<HTMLCanvasElement>(null);
  const orbit = useRef<OrbitState>(START);
  const [shown, setShown] = useState({ orbit: START, side: 300 });
  const request = useRef<() => void>(() => {});
  const [problem, setProblem] = useState("");
  const [canDraw, setCanDraw] = useState(true);
  const [near, setNear] = useState(false);

  useEffect(() => {
    const element = canvas.current as HTMLCanvasElement;
    const gl = element.getContext("webgl2", { antialias: false, powerPreference: "low-power" });
    if (!gl) return setCanDraw(false);
    const scene = new CloudScene(gl);
    let map = "";
    let waiting = 0;
    const draw = () => {
      waiting = 0;
      const look = currentOptions();
      if (map !== look.map) scene.setColours(colourTable(look.map));
      map = look.map;
      const ratio = Math.min(2, devicePixelRatio);
      const [width, height] = [element.clientWidth * ratio, element.clientHeight * ratio].map(Math.round);
      if (width && height && (element.width !== width || element.height !== height)) {
        element.width = width;
        element.height = height;
      }
      const side = Math.min(element.clientWidth, element.clientHeight);
      setShown((old) =>
        old.orbit === orbit.current && old.side === side ? old : { orbit: orbit.current, side },
      );
      scene.draw({
        viewProjection: viewProjection(orbit.current, element.width / element.height),
        range: look.ranges.depth,
        pointSize: look.pointSize,
        colouring: look.cloudColour,
        hideFilled: !look.cloudFilled,
        background: [0.055, 0.07, 0.09],
      });
    };
    const ask = () => {
      if (waiting === 0) waiting = requestAnimationFrame(draw);
    };
    request.current = ask;
    const stopFrames = onFrames((set) => {
      const before = performance.now();
      const frame = buildCloudFrame(set);
      setProblem(frame ? "" : T.noCamera);
      if (!frame) return;
      scene.upload(frame);
      cancelAnimationFrame(waiting);
      draw();
      cost.milliseconds = performance.now() - before;
      element.dataset.javascriptMs = cost.milliseconds.toFixed(2);
    });
    const stopOptions = onOptions(ask);
    const stopPointers = followPointers(
      element,
      () => orbit.current,
      (next) => {
        orbit.current = next;
        ask();
      },
    );
    const resized = new ResizeObserver(ask);
    resized.observe(element);
    return () => {
      cancelAnimationFrame(waiting);
      stopFrames();
      stopOptions();
      stopPointers();
      resized.disconnect();
      scene.close();
    };
  }, []);

  const onKeyDown = (event: KeyboardEvent) => {
    const next = byKey(orbit.current, event.key, event.shiftKey);
    if (!next) return;
    event.preventDefault();
    orbit.current = next;
    request.current();
  };
  const save = () => {
    const set = shownSet();
    const frame = set && buildCloudFrame(set);
    if (!set || !frame) return;
    const { confidence, ...rest } = frame;
    const { ranges, cloudFilled } = currentOptions();
    const points = buildPoints({ ...rest, range: ranges.depth, ...(!cloudFilled && { confidence }) });
    download(`${frameName(set)}.ply`, [encodePly(points)], "application/octet-stream");
  };
  const { depth } = options.ranges;
  const limit = (end: "min" | "max", value: number) => {
    if (!(value >= 0)) return;
    setOptions({ ranges: { ...options.ranges, depth: { ...depth, [end]: value } } });
  };
  return (
    <div class="cloud">
      {canDraw ? (
        <>
          <div class="stage">
            <canvas
              ref={canvas}
              tabIndex={0}
              role="img"
              aria-label={T.label}
              aria-describedby="cloud-hint"
              onKeyDown={onKeyDown}
              onFocus={() => setNear(true)}
              onBlur={() => setNear(false)}
            />
            {options.cloudAxes && <CloudAxes {...shown} />}
            {problem !== "" && <p class="notice">{problem}</p>}
          </div>
          <p id="cloud-hint" class={near ? "hint" : "hint quiet"}>
            {T.hint}
          </p>
        </>
      ) : (
        <p class="notice">{T.noWebGl}</p>
      )}
      <div class="tools" role="toolbar" aria-label={S.tabs.cloud}>
        {canDraw && (
          <>
            <Choice
              label={T.colour}
              value={options.cloudColour}
              choices={T.colours}
              onChange={(cloudColour) => setOptions({ cloudColour: cloudColour as Options["cloudColour"] })}
            />
            <label class="field">
              <span>{T.size}</span>
              <input
                type="range"
                min={0.5}
                max={4}
                step={0.1}
                value={options.pointSize}
                onInput={(event) => setOptions({ pointSize: Number(event.currentTarget.value) })}
              />
            </label>
          </>
        )}
        {(["min", "max"] as const).map((end) => (
          <label class="field" key={end}>
            <span>
              {end === "min" ? S.range.near : S.range.far} ({S.units.m})
            </span>
            <input
              type="number"
              min={0}
              max={66}
              step={0.1}
              value={Number(depth[end].toFixed(2))}
              onChange={(event) => limit(end, event.currentTarget.valueAsNumber)}
            />
          </label>
        ))}
        <Switch
          label={T.filled}
          on={options.cloudFilled}
          onChange={(cloudFilled) => setOptions({ cloudFilled })}
        />
        {canDraw && (
          <Switch label={T.axes} on={options.cloudAxes} onChange={(cloudAxes) => setOptions({ cloudAxes })} />
        )}
        <div class="buttons">
          {canDraw && (
            <button
              type="button"
              onClick={() => {
                orbit.current = START;
                request.current();
              }}
            >
              {T.reset}
            </button>
          )}
          <button type="button" onClick={save}>
            {T.ply}
          </button>
        </div>
      </div>
    </div>
  );
}
