// SPDX-License-Identifier: Apache-2.0
// Parts of a run on the command line: the first lines, the line of several rigs, signals, and the configuration read again.
import { expect, test, vi } from "vitest";
import { DepthwattError } from "../../../../core/index.js";
import { greet } from "../../../../edge/cli/run/greeting.js";
import { hasTerminal, reload, reloadLater, reloadRefused } from "../../../../edge/cli/run/reload.js";
import { rigsLine } from "../../../../edge/cli/run/run-rigs.js";
import { stopOnSignals } from "../../../../edge/cli/run/signals.js";
import { loadConfig } from "../../../../edge/config/index.js";

const load = (...set: string[]) => loadConfig({ environment: {}, set: ["board=none", ...set] });

function printed(action: () => void): string[] {
  let out = "";
  const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    out += text;
    return true;
  });
  try {
    action();
  } finally {
    write.mockRestore();
  }
  return out.split("\n").slice(0, -1);
}

test("the first lines of a run", () => {
  const parts = (sensor: object, greeting: readonly string[][]) => ({
    source: { description: { title: "two cameras" } },
    engine: {
      info: { backend: "cpu", backendReason: "No GPU was found.", instructionSet: "avx2", threads: 4 },
    },
    meter: { sensor },
    outputs: { greeting: () => greeting },
  });
  const lines = (...how: Parameters<typeof parts>) =>
    printed(() =>
      greet({
        config: load("match.sgm.paths=8", "match.numDisparities=48").config,
        parts: parts(...how),
      } as never),
    );
  const rails = { name: "ina", rails: [{ label: "IN" }, { label: "SOC" }] };
  const first = lines(rails, [
    ["mqtt", "mqtt://h"],
    ["", "more"],
  ]);
  expect(first).toEqual([
    "source    two cameras",
    "engine    sgm, 8 paths, 48 disparities on cpu (avx2, 4 threads)",
    "          No GPU was found",
    "power     ina: IN, SOC",
    "mqtt      mqtt://h",
    "          more",
  ]);
  expect(lines({ available: false }, []).slice(3)).toEqual([
    "power     unavailable ('depthwatt doctor' says why)",
    "outputs   none: frames are neither published nor recorded",
  ]);
});

test("the line of several rigs: rates, phases and problems, then the watts of all", () => {
  const rigs = {
    rigs: [
      { name: "front", phase: "running" },
      { name: "side", phase: "running" },
      { name: "rear", phase: "waiting", problem: { message: "no camera" } },
      { name: "top", phase: "starting" },
    ],
    fps: (name: string) => (name === "front" ? 29.96 : undefined),
    power: { available: true, watts: 12.1, fpsPerWatt: 4.956 },
  };
  expect(rigsLine(rigs as never)).toBe(
    "front 30.0 fps | side 0.0 fps | rear waiting: no camera | top starting | 12.10 W, 4.96 fps/W",
  );
});

test("the first signal ends the run in order, the second one the process; a service reads its file again", () => {
  const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const before = names.map((name) => process.listeners(name));
  const added = (at: number) => process.listeners(names[at]!).filter((one) => !before[at]!.includes(one));
  const [stop, stopping, onHangup] = [vi.fn(), vi.fn(), vi.fn()];
  const exit = vi.spyOn(process, "exit").mockImplementation((() => {}) as never);
  try {
    const signals = stopOnSignals({ stop }, { stopping } as never, onHangup);
    expect(names.map((_, at) => added(at).length)).toEqual([1, 1, 1]);
    if (!hasTerminal()) expect(added(2)).toEqual([onHangup]);
    expect(signals.received).toBe(false);
    const handler = added(1)[0] as (signal: NodeJS.Signals) => void;
    handler("SIGTERM");
    expect([signals.received, stop.mock.calls.length, stopping.mock.calls.length]).toEqual([true, 1, 1]);
    expect(exit).not.toHaveBeenCalled();
    handler("SIGINT");
    // 128 and the number of SIGINT.
    expect(exit.mock.calls).toEqual([[130]]);
    signals.forget();
    expect(names.map((_, at) => added(at).length)).toEqual([0, 0, 0]);
  } finally {
    exit.mockRestore();
  }
});

test("a terminal is found in /proc/self/stat behind any name of a process", () => {
  // pid (name) state ppid pgrp session tty_nr.
  expect(hasTerminal("7 (node) S 1 7 7 34816 7 0")).toBe(true);
  expect(hasTerminal("7 (node) S 1 7 7 0 -1 0")).toBe(false);
  expect(hasTerminal("7 (a) b 1 2 3 4) S 1 7 7 0 -1 0")).toBe(false);
});

function createLog() {
  const entries: unknown[] = [];
  const write = (level: string) => (fields: object, text: string) => void entries.push([level, fields, text]);
  return { entries, log: { info: write("info"), warn: write("warn") } as never };
}

test("a configuration that is read again: two changes, none, and a refusal", async () => {
  const applied: unknown[] = [];
  const runtime = {
    config: load().config,
    apply: async (...words: unknown[]) => void applied.push(words),
  } as never;
  const { entries, log } = createLog();
  await reload(runtime, () => load("match.numDisparities=48", "refine.median=false"), log);
  await reload(runtime, () => load(), log, "front");
  const changed = ["match.numDisparities", "refine.median"];
  expect(applied).toEqual([[{ "match.numDisparities": 48, "refine.median": false }, "reload"]]);
  expect(entries.splice(0)).toEqual([
    ["info", { event: "reload", changed, rig: undefined }, `reload: changed ${changed.join(", ")}`],
    ["info", { event: "reload", changed: [], rig: "front" }, "front: reload: no setting has changed"],
  ]);
  const wrong = () => {
    throw new DepthwattError("CONFIG_INVALID", "p1 is wrong", { hint: "Correct it." });
  };
  await reload(runtime, wrong, log);
  expect(entries.splice(0)).toEqual([
    [
      "warn",
      { event: "reload", errorCode: "CONFIG_INVALID", rig: undefined },
      "reload: p1 is wrong; the running settings stay. Correct it.",
    ],
  ]);
  expect(() => reloadRefused(new TypeError("a bug"), log)).toThrow("a bug");
});

test("a configuration that is read again before anything runs counts for the next attempt", () => {
  const { entries, log } = createLog();
  const { config } = load();
  const next = load("match.numDisparities=48");
  expect(reloadLater(config, () => next, log)).toBe(next.config);
  expect(entries.splice(0)).toEqual([
    ["info", { event: "reload", changed: ["match.numDisparities"] }, "reload: read again"],
  ]);
  const wrong = () => {
    throw new DepthwattError("CONFIG_INVALID", "p1 is wrong", { hint: "Correct it." });
  };
  expect(reloadLater(config, wrong, log)).toBe(config);
  expect(entries).toHaveLength(1);
});
