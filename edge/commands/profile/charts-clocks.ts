// SPDX-License-Identifier: Apache-2.0
// Joules per frame against the GPU's clock, and which clock takes the fewest at a rate: the highest one, which races to idle, or a
// lower one, which is slow and steady.
import {
  circle,
  type Frame,
  horizontalAxis,
  line,
  linearScale,
  picture,
  shortNumber,
  text,
  verticalAxis,
} from "../../plot/index.js";
import type { Profile } from "../../profile/types.js";
import { type MeasuredPoint, measuredPoints, shortName, WIDTH } from "./charts.js";

interface ClockRun {
  megahertz: number;
  point: MeasuredPoint;
}

/** Runs of one point at several limits of the GPU's clock, lowest first. */
export interface ClockCurve {
  name: string;
  rateHz: number | "max";
  runs: ClockRun[];
}

const joules = ({ point }: ClockRun): number => point.power.joulesPerFrame as number;

/** Returns the points that were measured at more than one clock. */
export function clockCurves({ results, clockLimitHertz }: Profile): ClockCurve[] {
  const curves = new Map<string, ClockCurve>();
  for (const point of measuredPoints(results)) {
    const { clockHertz = {}, ...rest } = point.point;
    const hertz = clockHertz.gpu ?? clockLimitHertz?.gpu;
    if (hertz === undefined || typeof point.power.joulesPerFrame !== "number") continue;
    const { gpu: _gpu, ...others } = clockHertz;
    const key = JSON.stringify([rest, others]);
    const name = shortName({ ...point, point: { ...rest, clockHertz: others } });
    const curve = curves.get(key) ?? { name, rateHz: rest.rateHz, runs: [] };
    curve.runs.push({ megahertz: hertz / 1e6, point });
    curves.set(key, curve);
  }
  const found = [...curves.values()].filter(({ runs }) => runs.length > 1);
  for (const { runs } of found) runs.sort((a, b) => a.megahertz - b.megahertz);
  return found;
}

/** Names the clock with the fewest joules, among those that reach the rate. */
export function bestClockWords({ name, rateHz, runs }: ClockCurve): string {
  const fast = runs.at(-1)!;
  const reached = runs.filter(({ point }) => rateHz === "max" || point.fps >= 0.98 * rateHz);
  if (reached.length === 0) return `${name}: no clock reaches the rate.`;
  const best = reached.reduce((a, b) => (joules(b) < joules(a) ? b : a));
  const uncertain = [best, fast].map(({ point }) => point.power.wattsUncertainty);
  const difference = joules(fast) - joules(best);
  const known = uncertain.every((watts) => typeof watts === "number");
  const bound = known ? (Number(uncertain[0]) + Number(uncertain[1])) / Math.max(1, fast.point.fps) : 0;
  const words = `${shortNumber(joules(best))} J at ${shortNumber(best.megahertz)} MHz, ${shortNumber(joules(fast))} J at ${shortNumber(fast.megahertz)} MHz`;
  if (best === fast)
    return `${name}: racing to idle takes the fewest joules, ${shortNumber(joules(fast))} J.`;
  if (!known) return `${name}: slow and steady takes the fewest joules (${words}; uncertainty unknown).`;
  return difference > bound
    ? `${name}: slow and steady takes the fewest joules (${words}).`
    : `${name}: the clocks do not differ beyond the uncertainty (${words}).`;
}

/** One line per point, a mark per clock. */
export function clockChart(curves: readonly ClockCurve[]): string {
  const frame: Frame = { left: 64, right: WIDTH - 24, top: 36 + 18 * curves.length, bottom: 390 };
  const all = curves.flatMap(({ runs }) => runs);
  const clocks = all.map(({ megahertz }) => megahertz);
  const x = linearScale(0.95 * Math.min(...clocks), 1.02 * Math.max(...clocks), frame.left, frame.right, 8);
  const y = linearScale(0, 1.05 * Math.max(...all.map(joules)), frame.bottom, frame.top);
  const drawn = curves.map(({ name, runs }, index) => {
    const kind = `stage${index % 8}`;
    const marks = runs.map((run, i) => {
      const [cx, cy] = [x.at(run.megahertz), y.at(joules(run))];
      const before = runs[i - 1];
      const tip = `${name}: ${shortNumber(joules(run))} J at ${shortNumber(run.megahertz)} MHz, ${run.point.fps.toFixed(1)} fps`;
      return (
        (before === undefined ? "" : line(x.at(before.megahertz), y.at(joules(before)), cx, cy, "whisker")) +
        circle(cx, cy, 5.5, kind, tip)
      );
    });
    const legend = 18 + 18 * index;
    return (
      marks.join("") +
      circle(frame.left + 8, legend - 4, 5.5, kind, name) +
      text(frame.left + 20, legend, name)
    );
  });
  return picture(
    WIDTH,
    440,
    "Joules per frame against the GPU's clock",
    horizontalAxis(x, frame, "limit of the GPU's clock, MHz") +
      verticalAxis(y, frame, "joules per frame, idle included") +
      drawn.join(""),
  );
}
