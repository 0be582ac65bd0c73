// SPDX-License-Identifier: Apache-2.0
// The charts of a profile report that show joules: of a frame, of its rails, of its stages.
import {
  type Frame,
  horizontalAxis,
  line,
  linearScale,
  picture,
  rectangle,
  shortNumber,
  text,
} from "../../plot/index.js";
import { type MeasuredPoint, shortName, WIDTH } from "./charts.js";
import type { StageEnergies } from "./stage-energy.js";

/** One bar per point: joules per frame, what the idle machine takes within it set apart where it is known. */
export function energyChart(points: readonly MeasuredPoint[]): string {
  const shown = points
    .filter((point) => typeof point.power.joulesPerFrame === "number")
    .sort((a, b) => (a.power.joulesPerFrame as number) - (b.power.joulesPerFrame as number));
  const rowHeight = 26;
  const frame: Frame = { left: 210, right: WIDTH - 120, top: 10, bottom: 10 + shown.length * rowHeight };
  const max = Math.max(...shown.map((point) => point.power.joulesPerFrame as number));
  const x = linearScale(0, max, frame.left, frame.right);
  const rows = shown.map((point, index) => {
    const top = frame.top + index * rowHeight + 4;
    const gross = point.power.joulesPerFrame as number;
    const net = point.power.joulesPerFrameNet;
    const tip = `${shortName(point)}: ${shortNumber(gross)} J per frame gross`;
    const idle = typeof net === "number" ? Math.min(gross, Math.max(0, gross - net)) : 0;
    const bars =
      rectangle(
        x.at(0),
        top,
        x.at(idle) - x.at(0),
        rowHeight - 9,
        "idle",
        `${tip}, of it ${shortNumber(idle)} J idle power`,
      ) +
      rectangle(x.at(idle), top, x.at(gross) - x.at(idle), rowHeight - 9, `paths${point.point.paths}`, tip);
    const value = `${shortNumber(gross)} J`;
    return (
      text(frame.left - 10, top + 13, shortName(point), { anchor: "end", kind: "name" }) +
      bars +
      text(x.at(gross) + 8, top + 13, value, { kind: "value" })
    );
  });
  const body = horizontalAxis(x, frame, "joules per frame") + rows.join("");
  return picture(WIDTH, frame.bottom + 46, "Joules per frame", body);
}

/** Rails whose joules may stand side by side: the parts of a sum, or what lies below a single input rail. */
export function shownRails(points: readonly MeasuredPoint[], totalRails: readonly string[]): string[] {
  const labels = [...new Set(points.flatMap((point) => Object.keys(point.power.rails)))];
  const read = labels.filter((label) => points.every((point) => point.power.rails[label]?.available));
  return totalRails.length > 1
    ? read.filter((label) => totalRails.includes(label))
    : read.filter((label) => !totalRails.includes(label));
}

/** One stacked bar per point: joules per frame of each rail. */
export function railChart(points: readonly MeasuredPoint[], rails: readonly string[]): string {
  const rowHeight = 26;
  const frame: Frame = { left: 210, right: WIDTH - 120, top: 10, bottom: 10 + points.length * rowHeight };
  const joules = (point: MeasuredPoint, label: string): number => {
    const rail = point.power.rails[label];
    return rail?.available ? rail.watts / point.fps : 0;
  };
  const sums = points.map((point) => rails.reduce((sum, label) => sum + joules(point, label), 0));
  const x = linearScale(0, Math.max(...sums), frame.left, frame.right);
  const rows = points.map((point, index) => {
    const top = frame.top + index * rowHeight + 4;
    let begin = 0;
    const bars = rails.map((label, colour) => {
      const value = joules(point, label);
      const tip = `${label}: ${shortNumber(value)} J per frame`;
      const bar = rectangle(
        x.at(begin),
        top,
        x.at(begin + value) - x.at(begin),
        rowHeight - 9,
        `stage${colour % 8}`,
        tip,
      );
      begin += value;
      return bar;
    });
    const name = text(frame.left - 10, top + 13, shortName(point), { anchor: "end", kind: "name" });
    return (
      name + bars.join("") + text(x.at(begin) + 8, top + 13, `${shortNumber(begin)} J`, { kind: "value" })
    );
  });
  const body = horizontalAxis(x, frame, "joules per frame") + rows.join("");
  return picture(WIDTH, frame.bottom + 46, "Joules per frame by rail", body);
}

/** Joules per frame of each stage that was left out or repeated, with its 95 % interval; what crosses zero is not distinguishable from it. */
export function stageEnergyChart(energies: StageEnergies): string {
  const rowHeight = 30;
  const frame: Frame = {
    left: 210,
    right: WIDTH - 120,
    top: 10,
    bottom: 10 + energies.stages.length * rowHeight,
  };
  const lows = energies.stages.map((stage) => stage.joulesPerFrame - stage.halfWidth);
  const highs = energies.stages.map((stage) => stage.joulesPerFrame + stage.halfWidth);
  const x = linearScale(Math.min(0, ...lows), Math.max(...highs), frame.left, frame.right);
  const rows = energies.stages.map((stage, index) => {
    const y = frame.top + (index + 0.5) * rowHeight;
    const [low, high] = [stage.joulesPerFrame - stage.halfWidth, stage.joulesPerFrame + stage.halfWidth];
    const tip = `${stage.stage}: ${shortNumber(stage.joulesPerFrame)} J +- ${shortNumber(stage.halfWidth)} J`;
    const [begin, end] = [Math.min(0, stage.joulesPerFrame), Math.max(0, stage.joulesPerFrame)];
    return (
      text(frame.left - 10, y + 4, stage.stage, { anchor: "end", kind: "name" }) +
      rectangle(x.at(begin), y - 8, x.at(end) - x.at(begin), 16, "paths4", tip) +
      line(x.at(low), y, x.at(high), y, "whisker")
    );
  });
  return picture(
    WIDTH,
    frame.bottom + 46,
    "Joules per frame of each stage",
    horizontalAxis(x, frame, "joules per frame, 95 % interval") + rows.join(""),
  );
}
