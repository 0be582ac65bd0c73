// SPDX-License-Identifier: Apache-2.0
// Runs a governor against a modelled board and draws what happened.
import { Governor } from "../../edge/governor/governor.js";
import type { LevelFigures } from "../../edge/governor/knowledge.js";
import { type QualityLevel, qualityLadder } from "../../edge/governor/ladder.js";
import type { GovernorGoal, Observation } from "../../edge/governor/limits.js";
import {
  type Frame,
  horizontalAxis,
  line,
  linearScale,
  picture,
  text,
  verticalAxis,
} from "../../edge/plot/index.js";
import { BoardModel, type BoardModelOptions } from "./board-model.js";

export const SGM = {
  algorithm: "sgm",
  parameters: { paths: 8 },
  numDisparities: 128,
  halfResolution: false,
} as const;
export const LEVELS = qualityLadder({ match: SGM, sourceHz: 30, half: true });

/** Anything that can be governed second by second. */
export interface Board {
  readonly trueWatts: number;
  readonly fps: number;
  second(level: QualityLevel): Observation;
}

export interface Second {
  watts: number;
  fps: number;
  level: number;
  changed: boolean;
  reason: string;
}

export interface Run {
  seconds: Second[];
  governor: Governor;
}

/** Creates the profile of the modelled board: each level alone on an otherwise idle, warm board. */
export function profileLevels(model: BoardModelOptions): LevelFigures[] {
  return LEVELS.map((level) => {
    const board = new BoardModel({
      ...model,
      otherWatts: () => 0,
      sensorWorks: () => true,
      noiseWatts: 0,
      stepWatts: 0.001,
    });
    let observation = board.second(level);
    for (let i = 0; i < 300; i++) observation = board.second(level);
    return { watts: board.trueWatts, capacityFps: observation.capacityFps ?? 0 };
  });
}

export function simulate(
  model: BoardModelOptions,
  goal: GovernorGoal,
  seconds: number,
  table: LevelFigures[] = [],
): Run {
  return govern(new BoardModel(model), LEVELS, goal, seconds, table);
}

export function govern(
  board: Board,
  levels: readonly QualityLevel[],
  goal: GovernorGoal,
  seconds: number,
  table: LevelFigures[] = [],
): Run {
  const governor = new Governor(levels, goal, table);
  const history: Second[] = [];
  let level = governor.level;
  for (let t = 0; t < seconds; t++) {
    const observation = board.second(levels[level]!);
    const used = level;
    const decision = governor.observe(observation);
    level = decision.level;
    history.push({
      watts: board.trueWatts,
      fps: board.fps,
      level: used,
      changed: decision.changed,
      reason: decision.reason,
    });
  }
  return { seconds: history, governor };
}

const STYLE = `<style>
svg { background: #ffffff; }
text { fill: #5c6662; font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
.axis, .name { font-weight: 600; fill: #1d2321; }
.grid { stroke: #e9ece9; }
.watts { fill: none; stroke: #b3401f; stroke-width: 1.6; }
.quality { fill: none; stroke: #0b7a75; stroke-width: 1.8; }
.budget { stroke: #1d2321; stroke-width: 1.4; stroke-dasharray: 6 4; }
</style>`;

/** Budget, watts and quality over time, two panels above one another. */
export function drawRun(run: Run, goal: GovernorGoal, title: string): string {
  const { levels } = run.governor;
  const upper: Frame = { left: 52, right: 880, top: 60, bottom: 260 };
  const lower: Frame = { left: 52, right: 880, top: 310, bottom: 510 };
  const x = linearScale(0, run.seconds.length, upper.left, upper.right, 8);
  const max = Math.max(...run.seconds.map((second) => second.watts), goal.budgetWatts ?? 0);
  const watts = linearScale(0, max, upper.bottom, upper.top, 5);
  const quality = linearScale(levels.length - 1, 0, lower.bottom, lower.top, 4);
  const axis = {
    ...quality,
    at: (value: number) => lower.top + (value / (levels.length - 1)) * (lower.bottom - lower.top),
  };
  const points = (value: (second: Second) => number): string =>
    run.seconds.map((second, t) => `${x.at(t).toFixed(1)},${value(second).toFixed(1)}`).join(" ");
  const steps: string[] = [];
  for (const [t, second] of run.seconds.entries()) {
    const before = run.seconds[t - 1];
    if (before !== undefined && before.level !== second.level)
      steps.push(`${x.at(t).toFixed(1)},${axis.at(before.level).toFixed(1)}`);
    steps.push(`${x.at(t).toFixed(1)},${axis.at(second.level).toFixed(1)}`);
  }
  const budget = goal.budgetWatts;
  const names = levels
    .map((_, i) => i)
    .map(
      (i) =>
        line(lower.left, axis.at(i), lower.right, axis.at(i), "grid") +
        text(lower.left - 8, axis.at(i) + 4, String(i), { anchor: "end" }) +
        text(lower.right + 10, axis.at(i) + 4, levels[i]!.name),
    );
  const body =
    STYLE +
    text(upper.left, 22, title, { kind: "name" }) +
    verticalAxis(watts, upper, "watts (true, not as read)") +
    (budget === undefined
      ? ""
      : line(upper.left, watts.at(budget), upper.right, watts.at(budget), "budget")) +
    (budget === undefined
      ? ""
      : text(upper.right, watts.at(budget) - 6, `budget ${budget} W`, { anchor: "end" })) +
    `<polyline points="${points((second) => watts.at(second.watts))}" class="watts"/>` +
    names.join("") +
    text(lower.left - 8, lower.top - 12, "level: 0 is the best of the ladder", { kind: "axis" }) +
    `<polyline points="${steps.join(" ")}" class="quality"/>` +
    horizontalAxis(x, { ...lower, top: lower.bottom }, "seconds");
  return `${picture(1300, 560, title, body)}\n`;
}
