// SPDX-License-Identifier: Apache-2.0
// The governor at work: engines that change between frames, a gate that counts, a run that really holds its frame rate.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { EngineOptions, FrameResult, NativeEngine } from "../../../cuda/index.js";
import { Governor } from "../../../edge/governor/governor.js";
import { qualityLadder } from "../../../edge/governor/ladder.js";
import { GovernorLoop } from "../../../edge/governor/loop.js";
import { RateGate } from "../../../edge/governor/rate-gate.js";
import { buildTable } from "../../../edge/governor/table.js";
import { AdjustableEngine } from "../../../edge/pipeline/adjustable-engine.js";
import { Meter, type PowerSensor } from "../../../power/index.js";
import { constructedProfile, MODEL } from "../../doubles/constructed-profile.js";
import { HandSource, UNWATCHED } from "../../doubles/pipeline.js";

const MATCH = {
  algorithm: "sgm",
  halfResolution: false,
  minDisparity: 0,
  numDisparities: 64,
  parameters: {
    cost: "gradientCensus",
    paths: 8,
    p1: 10,
    p2: 120,
    adaptiveP2: 0,
    uniqueness: 5,
    subpixel: true,
  },
} as const;

/** Creates engines that finish a frame on request; remembers in which order they were opened and closed. */
class Workshop {
  readonly log: string[] = [];
  finish: (() => void) | undefined;
  refuse = false;
  halves = true;
  readonly backends: string[] = [];
  backend: "cpu" | "cuda" = "cpu";
  readonly open = (options: EngineOptions): NativeEngine => {
    if (this.refuse) throw new Error("no memory");
    const { numDisparities, halfResolution } = options.match;
    const { paths } = options.match.parameters;
    if (halfResolution && !this.halves) throw new Error("full resolution only");
    const name = `p${paths}d${numDisparities}${halfResolution ? "h" : ""}`;
    this.backends.push(options.backend);
    this.log.push(`open ${name}`);
    return {
      info: {
        backend: this.backend,
        backendReason: "as this shop has it",
        instructionSet: "scalar",
        threads: 1,
        workspaceBytes: 0,
        framesInFlight: 2,
        ...UNWATCHED,
      },
      framesInFlight: 2,
      slots: [],
      stageMilliseconds: new Float64Array([Number.NaN, 10, 15]),
      compute: () => Promise.reject(new Error("frames are submitted")),
      submit: (slot, _left, _right, onDone) => {
        this.log.push(`frame ${name}`);
        this.finish = () => onDone(null, { slot } as FrameResult);
      },
      setRightMap: () => {},
      close: () => this.log.push(`close ${name}`),
    };
  };
}

const options = { match: MATCH, backend: "auto" } as unknown as EngineOptions;
const none = new Uint8Array(0);

/** Another engine is opened next to the current one: it is ready a turn later. */
const prepared = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("an engine whose parameters change", () => {
  test("changes between two frames, never under one that is being computed", async () => {
    const shop = new Workshop();
    const engine = new AdjustableEngine(options, { onProblem: () => {} }, shop.open);
    const submit = () => engine.submit(0, none, none, () => {});
    submit();
    engine.adjust({ parameters: { paths: 4 } });
    await prepared();
    engine.submit(1, none, none, () => {});
    shop.finish!();
    expect(shop.log).toEqual(["open p8d64", "frame p8d64", "open p4d64", "frame p8d64"]);
    expect(engine.match.parameters.paths).toBe(8);
  });

  test("opens the new one before it closes the old one, and not again for the same parameters", async () => {
    const shop = new Workshop();
    const engine = new AdjustableEngine(options, { onProblem: () => {} }, shop.open);
    engine.adjust({ parameters: { paths: 4 }, numDisparities: 32 });
    await prepared();
    const run = () => {
      engine.submit(0, none, none, () => {});
      shop.finish!();
    };
    run();
    engine.adjust({ parameters: { paths: 4 }, numDisparities: 32 });
    await prepared();
    run();
    engine.adjust({});
    await prepared();
    run();
    expect(shop.log.filter((entry) => !entry.startsWith("frame"))).toEqual([
      "open p8d64",
      "open p4d32",
      "close p8d64",
      "open p8d64",
      "close p4d32",
    ]);
  });

  test("only the last of the changes that arrive while another is being prepared opens an engine", async () => {
    const shop = new Workshop();
    const engine = new AdjustableEngine(options, { onProblem: () => {} }, shop.open);
    engine.adjust({ parameters: { paths: 4 } });
    engine.adjust({ parameters: { paths: 2 } });
    engine.adjust({ numDisparities: 32 });
    await prepared();
    expect(shop.log).toEqual(["open p8d64", "open p8d32", "close p8d64"]);
  });

  test("an engine that is opened after the end is closed at once", async () => {
    const shop = new Workshop();
    const problems: Error[] = [];
    const engine = new AdjustableEngine(options, { onProblem: (one) => problems.push(one) }, shop.open);
    const changed = engine.change({ ...options, region: undefined as never }, false, () => {});
    engine.close();
    await expect(changed).rejects.toMatchObject({ code: "RUN_ENDED" });
    await prepared();
    expect(shop.log.filter((entry) => entry.startsWith("open"))).toHaveLength(
      shop.log.filter((entry) => entry.startsWith("close")).length,
    );
    expect(problems).toEqual([]);
  });

  test("continues with the old one where the new one cannot be opened", async () => {
    const shop = new Workshop();
    const problems: string[] = [];
    const engine = new AdjustableEngine(
      options,
      { onProblem: (problem) => problems.push(problem.message) },
      shop.open,
    );
    shop.refuse = true;
    engine.adjust({ parameters: { paths: 2 } });
    await prepared();
    engine.submit(0, none, none, () => {});
    expect(problems).toEqual(["no memory"]);
    expect(shop.log).toEqual(["open p8d64", "frame p8d64"]);
    expect(engine.match.parameters.paths).toBe(8);
  });

  test("reports settings once they are computed, and stays on the backend that auto has found", async () => {
    const shop = new Workshop();
    const reported: object[] = [];
    const events = { onProblem: () => {}, onChange: ({ match }: EngineOptions) => reported.push(match) };
    const engine = new AdjustableEngine(options, events, shop.open);
    engine.submit(0, none, none, () => {});
    engine.adjust({ halfResolution: true });
    await prepared();
    expect(reported).toEqual([]);
    shop.finish!();
    expect(reported).toEqual([{ ...MATCH, halfResolution: true }]);
    expect(engine.match.halfResolution).toBe(true);
    expect(shop.backends).toEqual(["auto", "cpu"]);
  });

  test("a change that auto would move to the CPU is refused, and auto stays the requested backend", async () => {
    const shop = new Workshop();
    shop.backend = "cuda";
    const problems: string[] = [];
    const onProblem = (problem: Error) => problems.push(problem.message);
    const engine = new AdjustableEngine(options, { onProblem }, shop.open);
    shop.backend = "cpu";
    expect(engine.tryOut({ ...MATCH, halfResolution: true })).toBeUndefined();
    engine.adjust({ parameters: { paths: 2 } });
    await prepared();
    engine.submit(0, none, none, () => {});
    expect(problems).toEqual([
      "The GPU refused another engine, so the one in use continues: as this shop has it",
    ]);
    expect(engine.info.backend).toBe("cuda");
    expect(shop.backends).toEqual(["auto", "auto", "auto"]);
  });

  test("while a change waits, no second frame is asked for: the engine must come to rest", async () => {
    const shop = new Workshop();
    const engine = new AdjustableEngine(options, { onProblem: () => {} }, shop.open);
    engine.submit(0, none, none, () => {});
    expect(engine.framesInFlight).toBe(2);
    engine.adjust({ parameters: { paths: 4 } });
    await prepared();
    expect(engine.framesInFlight).toBe(1);
    shop.finish!();
    engine.submit(0, none, none, () => {});
    expect(shop.log.slice(-1)).toEqual(["frame p4d64"]);
    expect(engine.framesInFlight).toBe(2);
  });

  test("whether a change can be computed is tried on its own engine", async () => {
    const shop = new Workshop();
    const engine = new AdjustableEngine(options, { onProblem: () => {} }, shop.open);
    expect(engine.tryOut({ ...MATCH, halfResolution: true })).toBeDefined();
    expect(shop.log).toEqual(["open p8d64", "open p8d64h", "close p8d64h"]);
    shop.halves = false;
    expect(engine.tryOut({ ...MATCH, halfResolution: true })).toBeUndefined();
    expect(engine.match.halfResolution).toBe(false);
  });
});

describe("the rate gate", () => {
  test("hands back surplus frames at once, and counts them", async () => {
    const source = new HandSource();
    let dropped = 0;
    const gate = new RateGate(source, () => dropped++);
    const passed: number[] = [];
    const ignore = () => {};
    gate.start({
      onPair: (pair) => {
        passed.push(pair.left.sequence);
        pair.release();
      },
      onDegraded: ignore,
      onEnd: ignore,
      onError: ignore,
    });
    source.deliver();
    source.deliver();
    expect(passed).toEqual([0, 1]);
    gate.limit(20);
    source.deliver();
    expect(dropped).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 60));
    source.deliver();
    source.deliver();
    expect(passed).toEqual([0, 1, 3]);
    expect(source.released).toEqual([0, 1, 2, 3, 4]);
    expect(dropped).toBe(2);
  });
});

describe("the loop", () => {
  test("looks at the meter, applies what was decided, and reports it", async () => {
    let watts = 9;
    const sensor: PowerSensor = {
      name: "bench",
      rails: [
        { label: "in", sourcePath: "bench", kind: "power", updateIntervalMs: undefined, step: undefined },
      ],
      total: { rails: ["in"], reason: "all" },
      read: () => [{ available: true, timestampNs: process.hrtime.bigint(), powerMilliwatts: watts * 1000 }],
      close: () => {},
    };
    const shop = new Workshop();
    const engine = new AdjustableEngine(options, { onProblem: () => {} }, shop.open);
    const gate = new RateGate(new HandSource(), () => {});
    const meter = new Meter({ sensor, rateHz: 50 });
    const levels = qualityLadder({ match: MATCH, sourceHz: 30, half: false });
    const said: string[] = [];
    const governor = new Governor(levels, { budgetWatts: 10 });
    const loop = new GovernorLoop({
      governor,
      engine,
      gate,
      meter,
      frames: () => 0,
      onChange: (reason) => said.push(reason),
    });
    meter.start();
    await new Promise((resolve) => setTimeout(resolve, 1150));
    loop.look();
    expect(loop.figures).toMatchObject({
      available: true,
      level: 0,
      changes: 0,
      budgetWatts: 10,
      minFps: null,
    });
    watts = 14;
    await new Promise((resolve) => setTimeout(resolve, 1150));
    loop.look();
    expect(loop.figures).toMatchObject({ level: 1, changes: 1, name: "4 paths, 64 disparities" });
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(/^down to 4 paths, 64 disparities: 1[34]\.\d+ W is over the budget of 10 W$/);
    await prepared();
    engine.submit(0, none, none, () => {});
    expect(engine.match.parameters.paths).toBe(4);
    meter.close();
  });
});

describe("a profile for the governor", () => {
  test("watts at the camera's rate, from idle power and net energy; unknown levels stay unknown", () => {
    const profile = constructedProfile();
    const levels = qualityLadder({ match: { ...MATCH, numDisparities: 128 }, sourceHz: 15, half: false });
    const table = buildTable(profile, levels, { width: 640, height: 480, rateHz: 15 });
    const measured = profile.results.find((r) => r.id === "sgm-640x480-d128-p8-15hz")!;
    if (!measured.power.available) throw new Error("constructed without watts");
    // The profile's own run at 15 Hz checks the prediction from the run at full speed.
    expect(table[0]!.watts! / measured.power.watts).toBeCloseTo(1, 1);
    expect(table[0]!.watts!).toBeGreaterThan(MODEL.idleWatts);
    expect(table.slice(0, 4).every((figures) => figures.watts !== undefined)).toBe(true);
    expect(table.at(-1)).toEqual({});
  });
});

test("a run without a sensor gives up quality for safety, says why, and keeps publishing", {
  timeout: 120_000,
}, () => {
  const main = join(import.meta.dirname, "../../../dist/edge/cli/main.js");
  const flags = ["--json", "--broker", "none", "--rate", "20", "--frames", "160", "--backend", "cpu"];
  const set = [
    "source.synthetic.width=160",
    "source.synthetic.height=120",
    "match.numDisparities=64",
    "match.sgm.paths=8",
    "power.budgetWatts=5",
    "power.minFps=8",
    "power.sensor=none",
  ];
  const words = ["run", "--source", "synthetic", ...flags, ...set.flatMap((item) => ["--set", item])];
  const result = spawnSync(process.execPath, [main, ...words], { encoding: "utf8", timeout: 90_000 });
  expect(result.status, result.stderr).toBe(0);
  const figures = JSON.parse(result.stdout.trim().split("\n").at(-1)!);
  expect(figures.governor).toMatchObject({ available: true, changes: 1, level: figures.governor.levels - 1 });
  expect(figures.governor.reason).toContain("watts are unavailable");
  expect(figures.drops.governor).toBeGreaterThan(10);
  expect(figures.frames).toBe(160);
  expect(result.stderr).toContain("governor: down to");
});
