// SPDX-License-Identifier: Apache-2.0
// The charts of a profile report. Every mark carries its exact figures as a tooltip; colours mean the same everywhere.
import type { Figure, PowerReport } from "../../../power/index.js";
import {
  circle,
  type Frame,
  horizontalAxis,
  line,
  linearScale,
  picture,
  rectangle,
  shortNumber,
  text,
  verticalAxis,
} from "../../plot/index.js";
import { clockWords } from "../../profile/clock-limits.js";
import { hasPaths, isWhole, type PointResult, TIMELINE_FRAMES } from "../../profile/types.js";

export type MeasuredPoint = PointResult & { power: PowerReport };

/** Every point once, the first time it was run: rounds of stage runs repeat one point. */
export function distinctPoints(results: readonly PointResult[]): PointResult[] {
  return results.filter(({ id, point }, index) => {
    return isWhole(point) && results.findIndex((other) => other.id === id) === index;
  });
}

/** Points whose watts are known. */
export function measuredPoints(results: readonly PointResult[]): MeasuredPoint[] {
  return distinctPoints(results).filter((result): result is MeasuredPoint => result.power.available);
}

/** Points that no other point beats in both: more frames for no more watts. Fewest watts first. */
export function paretoFront(points: readonly MeasuredPoint[]): MeasuredPoint[] {
  const byWatts = [...points].sort((a, b) => a.power.watts - b.power.watts || b.fps - a.fps);
  let best = Number.NEGATIVE_INFINITY;
  return byWatts.filter((point) => {
    if (point.fps <= best) return false;
    best = point.fps;
    return true;
  });
}

export function shortName({ point }: PointResult): string {
  const rate = point.rateHz === "max" ? "" : ` @${point.rateHz}`;
  const mode = point.mode === undefined ? "" : ` ${point.mode}`;
  const how = hasPaths(point.algorithm) ? `p${point.paths}` : point.algorithm;
  const half = point.halfResolution ? " half" : "";
  const search = point.search === undefined ? "" : ` ${point.search}`;
  const limits = clockWords(point.clockHertz ?? {});
  const clocks = limits === "" ? "" : ` (${limits})`;
  return `${point.width}x${point.height} d${point.numDisparities} ${how}${half}${search}${rate}${mode}${clocks}`;
}

const figures = (point: MeasuredPoint): string =>
  `${shortName(point)}: ${point.fps.toFixed(1)} fps at ${point.power.watts.toFixed(2)} W ` +
  `(+- ${uncertaintyWords(point.power.wattsUncertainty)})`;

const uncertaintyWords = (watts: Figure): string =>
  typeof watts === "number" ? `${shortNumber(watts)} W` : "unknown";

export const WIDTH = 920;

/**
 * Frames per second against watts of the points of one image size, the Pareto front joined; points of one path count
 * share a colour.
 */
export function scatterChart(points: readonly MeasuredPoint[]): string {
  const frame: Frame = { left: 56, right: WIDTH - 24, top: 36, bottom: 390 };
  const watts = points.map((point) => point.power.watts);
  const x = linearScale(Math.min(...watts) * 0.95, Math.max(...watts) * 1.05, frame.left, frame.right, 8);
  const y = linearScale(0, Math.max(...points.map((point) => point.fps)) * 1.05, frame.bottom, frame.top);
  const front = paretoFront(points);
  const path = front
    .map((point) => `${x.at(point.power.watts).toFixed(1)},${y.at(point.fps).toFixed(1)}`)
    .join(" ");
  const marks = points.map((point) => {
    const [cx, cy] = [x.at(point.power.watts), y.at(point.fps)];
    const half = point.power.wattsUncertainty;
    if (typeof half !== "number") return circle(cx, cy, 5.5, `paths${point.point.paths}`, figures(point));
    const bar = line(x.at(point.power.watts - half), cy, x.at(point.power.watts + half), cy, "whisker");
    return bar + circle(cx, cy, 5.5, `paths${point.point.paths}`, figures(point));
  });
  // Labels only where they do not run into one another: the front, thinned by distance.
  let lastY = Number.POSITIVE_INFINITY;
  const labels = front.flatMap((point) => {
    const at = y.at(point.fps);
    if (Math.abs(at - lastY) < 16) return [];
    lastY = at;
    const right = x.at(point.power.watts) > frame.right - 180;
    return [
      text(x.at(point.power.watts) + (right ? -10 : 10), at - 8, shortName(point), {
        anchor: right ? "end" : "start",
        kind: "name",
      }),
    ];
  });
  const body =
    horizontalAxis(x, frame, "watts, mean over the run, idle included") +
    verticalAxis(y, frame, "frames per second") +
    `<polyline points="${path}" class="front"/>` +
    marks.join("") +
    labels.join("");
  return picture(WIDTH, 440, "Frames per second against watts", body);
}

/** Watts over the first seconds of a point, a tick for every frame that was taken in. */
export function timelineChart(point: MeasuredPoint): string {
  const { binSeconds, watts, frames } = point.timeline;
  const values = watts.filter((value): value is number => value !== null);
  const frame: Frame = { left: 56, right: WIDTH - 24, top: 34, bottom: 170 };
  const seconds = watts.length * binSeconds;
  const x = linearScale(0, seconds, frame.left, frame.right, 10);
  const margin = Math.max(0.05 * Math.max(...values), Math.max(...values) - Math.min(...values));
  const y = linearScale(
    Math.max(0, Math.min(...values) - margin),
    Math.max(...values) + margin * 0.5,
    frame.bottom,
    frame.top,
    4,
  );
  const pieces: string[] = [];
  let pen = "M";
  for (const [index, value] of watts.entries()) {
    if (value === null) {
      pen = "M";
      continue;
    }
    pieces.push(`${pen}${x.at((index + 0.5) * binSeconds).toFixed(1)} ${y.at(value).toFixed(1)}`);
    pen = "L";
  }
  // Closer than two pixels, single frames cannot be distinguished any more: then a band stands for them.
  const dense = frames.length > 0 && (frame.right - frame.left) / (frames.length || 1) < 2.5;
  // A record that is full says nothing of when the frames ended: they continued.
  const end = frames.length >= TIMELINE_FRAMES ? seconds : Math.min(seconds, frames.at(-1) ?? 0);
  const band = dense ? rectangle(frame.left, frame.bottom - 7, x.at(end) - frame.left, 7, "band") : "";
  const ticks = frames.map((at) => line(x.at(at), frame.bottom - 7, x.at(at), frame.bottom, "tick")).join("");
  const body =
    horizontalAxis(x, frame, "seconds") +
    verticalAxis(y, frame, "watts") +
    (dense ? band : ticks) +
    `<path d="${pieces.join("")}" class="trace"/>` +
    text(frame.right, frame.top - 12, shortName(point), { anchor: "end", kind: "name" });
  return picture(WIDTH, 215, `Watts over time of ${shortName(point)}`, body);
}

/** Draws the share of each stage in a frame's time: stacked milliseconds per point. */
export function stageTimeChart(results: readonly PointResult[], stageNames: readonly string[]): string {
  const shown = distinctPoints(results);
  const sums = shown.map((result) =>
    Object.values(result.stages).reduce((sum, stage) => sum + stage.p50Ms, 0),
  );
  const rowHeight = 26;
  const frame: Frame = { left: 210, right: WIDTH - 120, top: 10, bottom: 10 + shown.length * rowHeight };
  const x = linearScale(0, Math.max(...sums), frame.left, frame.right);
  const rows = shown.map((result, index) => {
    const top = frame.top + index * rowHeight + 4;
    let begin = 0;
    const bars = stageNames.map((name, stage) => {
      const milliseconds = result.stages[name as keyof typeof result.stages]?.p50Ms ?? 0;
      const bar = rectangle(
        x.at(begin),
        top,
        x.at(begin + milliseconds) - x.at(begin),
        rowHeight - 9,
        `stage${stage}`,
        `${name}: ${shortNumber(milliseconds)} ms`,
      );
      begin += milliseconds;
      return bar;
    });
    return (
      text(frame.left - 10, top + 13, shortName(result), { anchor: "end", kind: "name" }) +
      bars.join("") +
      text(x.at(begin) + 8, top + 13, `${shortNumber(begin)} ms`, { kind: "value" })
    );
  });
  return picture(
    WIDTH,
    frame.bottom + 46,
    "Milliseconds per stage",
    horizontalAxis(x, frame, "milliseconds, median of each stage") + rows.join(""),
  );
}
