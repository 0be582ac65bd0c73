// SPDX-License-Identifier: Apache-2.0
// Power modes as the last levels of the ladder: changed by name next to the other work, put back at the end, and only where
// they are named. nvpmodel is a program of the test's own.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Governor } from "../../../edge/governor/governor.js";
import { qualityLadder } from "../../../edge/governor/ladder.js";
import { GovernorLoop } from "../../../edge/governor/loop.js";
import type { RateGate } from "../../../edge/governor/rate-gate.js";
import type { AdjustableEngine } from "../../../edge/pipeline/adjustable-engine.js";
import { PowerModes } from "../../../edge/profile/power-modes.js";
import type { Meter } from "../../../power/index.js";
import { SGM } from "../../doubles/governor-run.js";

const CONF = "< POWER_MODEL ID=0 NAME=MAXN >\n< POWER_MODEL ID=1 NAME=15W >\n< POWER_MODEL ID=2 NAME=10W >\n";
let folder: string;
const state = () => readFileSync(join(folder, "state"), "utf8").trim();
const calls = () => readFileSync(join(folder, "calls"), "utf8").trim().split("\n");

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-modes-"));
  writeFileSync(join(folder, "nvpmodel.conf"), CONF);
  writeFileSync(join(folder, "state"), "0");
  writeFileSync(join(folder, "calls"), "");
  writeFileSync(
    join(folder, "nvpmodel"),
    `#!/bin/sh
cd "${folder}"; echo "$*" >> calls
if [ "$1" = -m ]; then [ -e refuse ] && exit 1; echo "$2" > state; exit 0; fi
id=$(cat state); set -- MAXN 15W 10W; shift "$id"; printf 'NV Power Mode: %s\\n%s\\n' "$1" "$id"
`,
  );
  chmodSync(join(folder, "nvpmodel"), 0o755);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = () =>
  PowerModes.open({
    program: join(folder, "nvpmodel"),
    confFile: join(folder, "nvpmodel.conf"),
    onSignals: false,
  })!;

/** A loop whose meter says what the test wants; it begins at the last level before the modes. */
function loopWith(modes: PowerModes, problems: Error[]) {
  const names = ["15W", "10W"];
  const match = { ...SGM, parameters: { paths: 2 }, numDisparities: 32 };
  const levels = qualityLadder({ match, sourceHz: 1, half: false, modes: names });
  let watts = 30;
  const governor = new Governor(levels, { budgetWatts: 10 }, [], levels.length - 1 - names.length);
  const ignore = () => {};
  const loop = new GovernorLoop({
    governor,
    modes,
    frames: () => 0,
    onChange: ignore,
    onProblem: (problem) => problems.push(problem),
    engine: { adjust: ignore, stageMilliseconds: new Float64Array(1) } as unknown as AdjustableEngine,
    gate: { limit: ignore } as unknown as RateGate,
    meter: { recent: () => ({ available: true, watts, changed: [] }) } as unknown as Meter,
  });
  return { loop, governor, levels, draw: (value: number) => (watts = value) };
}

test("the ladder continues into the modes; the first one is restored at the end", async () => {
  const modes = open();
  const problems: Error[] = [];
  const { loop, governor, levels } = loopWith(modes, problems);
  loop.look();
  expect(levels[governor.level]!.name).toBe("2 paths, 32 disparities, power mode 15W");
  await modes.settled();
  expect(state()).toBe("1");
  await loop.stop();
  expect(state()).toBe("0");
  expect(problems).toEqual([]);
});

test("changes come one after the other, also when they are asked for at once, and an end waits for them", async () => {
  const modes = open();
  const all = Promise.all([
    modes.change("15W"),
    modes.change("10W"),
    modes.change(undefined),
    modes.change("10W"),
  ]);
  await modes.settled();
  await all;
  expect(calls().filter((call) => call.startsWith("-m"))).toEqual(["-m 1", "-m 2", "-m 0", "-m 2"]);
  modes.restore();
  expect(state()).toBe("0");
});

test("a mode that is refused is reported once, and the governor continues without", async () => {
  writeFileSync(join(folder, "refuse"), "");
  const modes = open();
  const problems: Error[] = [];
  const { loop } = loopWith(modes, problems);
  loop.look();
  await modes.settled();
  await Promise.resolve();
  expect(problems.map(({ message }) => message)).toEqual(["nvpmodel -m 1 failed."]);
  const before = calls().length;
  loop.look();
  await modes.settled();
  expect(calls().length).toBe(before);
  rmSync(join(folder, "refuse"));
  await loop.stop();
  expect(state()).toBe("0");
});

test("modes that this machine does not have are refused before the first frame", () => {
  expect(() => open().check("60W")).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID", hint: expect.stringContaining("MAXN, 15W, 10W") }),
  );
  const main = join(import.meta.dirname, "../../../dist/edge/cli/main.js");
  const set = ["power.budgetWatts=5", "power.modes=15W,10W", "power.sensor=none"].flatMap((item) => [
    "--set",
    item,
  ]);
  const words = [
    "run",
    "--source",
    "synthetic",
    "--broker",
    "none",
    "--frames",
    "3",
    "--backend",
    "cpu",
    ...set,
  ];
  const result = spawnSync(process.execPath, [main, ...words], { encoding: "utf8", timeout: 60_000 });
  expect(result.status).not.toBe(0);
  expect(result.stderr).toContain("power.modes is set, but this machine has no /etc/nvpmodel.conf");
});
