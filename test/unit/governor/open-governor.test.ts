// SPDX-License-Identifier: Apache-2.0
// A run's settings decide its governor: the ladder, the goals, the clocks and power modes, and its part of a board.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import type { PairSource } from "../../../camera/index.js";
import type { EngineInfo, MatchParameters } from "../../../cuda/index.js";
import { loadConfig } from "../../../edge/config/index.js";
import type { GovernedRig } from "../../../edge/governor/board-governor.js";
import { GovernorLoop } from "../../../edge/governor/loop.js";
import { openBoardGovernor, openGovernor } from "../../../edge/run/open-governor.js";
import { constructedProfile } from "../../doubles/constructed-profile.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-open-governor-"));
afterAll(() => rmSync(folder, { recursive: true }));
const profileFile = join(folder, "profile.json");
writeFileSync(profileFile, JSON.stringify(constructedProfile({ clocks: [{ gpu: 612e6 }] })));

const MATCH = ["board=none", "match.algorithm=sgm", "match.numDisparities=64", "match.sgm.paths=4"];

/** A run's parts that record what the governor does to them. */
function parts({ half = false, chosen = "full", rateHz = 4 } = {}) {
  const calls: unknown[] = [];
  const tried: MatchParameters[] = [];
  let [frames, watts] = [0, 1];
  const governed = {
    engine: {
      tryOut: (match: MatchParameters) => {
        tried.push(match);
        if (match.halfResolution) return half ? ({} as EngineInfo) : undefined;
        return { search: { chosen } } as unknown as EngineInfo;
      },
      adjust: (change: object) => calls.push(["adjust", change]),
      stageMilliseconds: Float64Array.of(3, Number.NaN, 4),
    },
    source: { limit: (rateHz: number | undefined) => calls.push(["limit", rateHz]) },
    meter: { recent: () => ({ available: true, watts, changed: [] }) },
    pipeline: {
      get frames() {
        return frames;
      },
    },
    duty: { activity: { computing: true, wakes: 0 } },
    shared: undefined as object | undefined,
  };
  const events = {
    source: { description: { width: 640, height: 480, rateHz } } as unknown as PairSource,
    onChange: vi.fn(),
    onProblem: vi.fn(),
  };
  const open = (...set: string[]) => {
    const { config } = loadConfig({ environment: {}, set: [...MATCH, ...set] });
    return openGovernor(config, governed as never, events);
  };
  const draw = (value: number, count: number) => {
    watts = value;
    frames = count;
  };
  return { open, governed, events, calls, tried, draw };
}

const names = (governor: ReturnType<ReturnType<typeof parts>["open"]>) =>
  governor!.levels.map(({ name }) => name);

test("without a budget or a frame rate there is no governor", () => {
  const { open, tried } = parts();
  expect([open(), tried]).toEqual([undefined, []]);
});

describe("the ladder", () => {
  test.each<[Parameters<typeof parts>[0], string[], string[]]>([
    [
      {},
      ["power.budgetWatts=5"],
      [
        "4 paths, 64 disparities",
        "2 paths, 64 disparities",
        "2 paths, 32 disparities",
        "2 paths, 32 disparities, at most 2 fps",
        "2 paths, 32 disparities, at most 1 fps",
      ],
    ],
    [
      { half: true },
      ["power.minFps=2"],
      [
        "4 paths, 64 disparities",
        "2 paths, 64 disparities",
        "4 paths, 64 disparities, half resolution",
        "4 paths, 32 disparities, half resolution",
        "4 paths, 32 disparities, half resolution, at most 2 fps",
      ],
    ],
    [
      { chosen: "coarseToFine" },
      ["power.budgetWatts=5", "power.minFps=3"],
      [
        "4 paths, 64 disparities",
        "4 paths, search auto, 64 disparities",
        "2 paths, search auto, 64 disparities",
        "2 paths, search auto, 32 disparities",
      ],
    ],
  ])("of a machine with %j and the settings %j is %j", (machine, set, expected) => {
    expect(names(parts(machine).open(...set))).toEqual(expected);
  });

  test("coarse-to-fine search is asked about with the parameters of its level", () => {
    const { open, tried } = parts();
    open("power.budgetWatts=5");
    const searches = tried.filter(({ parameters }) => parameters.search === "auto");
    // Where it gains nothing with 4 paths, it is asked about again with 2.
    expect(searches.map(({ parameters, numDisparities }) => [parameters.paths, numDisparities])).toEqual([
      [4, 64],
      [2, 64],
    ]);
  });
});

test("it starts at the best level, or at the best one that the profile says is within the budget", () => {
  const level = (...set: string[]) => {
    const { figures } = parts({ rateHz: 15 }).open(...set)!;
    return figures.available && [figures.level, figures.budgetWatts, figures.minFps];
  };
  expect(level("power.minFps=2")).toEqual([0, null, 2]);
  expect(level("power.budgetWatts=4")).toEqual([0, 4, null]);
  const profile = `power.profile=${profileFile}`;
  expect(level("power.budgetWatts=1000", profile)).toEqual([0, 1000, null]);
  // Idle 4.6 W and 15 frames a second of 19.66 million cells: 1.1 mJ a million for 4 paths, 0.77 mJ for 2. That is 4.92 W
  // and 4.83 W, and 97 % of 5.03 W are 4.88 W.
  expect(level("power.budgetWatts=5.03", profile)).toEqual([1, 5.03, null]);
  expect(level("power.budgetWatts=5.2", profile)).toEqual([0, 5.2, null]);
  expect(() => level("power.budgetWatts=5", `power.profile=${folder}/none.json`)).toThrow(
    expect.objectContaining({ code: "SOURCE_UNREADABLE" }),
  );
});

describe("clocks", () => {
  const NO_BUDGET = "power.clocks needs power.budgetWatts";
  const NO_PROFILE = "power.clocks needs a power.profile with runs at other clocks";
  /** The constructed profile has runs at other clocks; this one has none of them. */
  const plainFile = join(folder, "plain.json");
  const profile = constructedProfile({ clocks: [{ gpu: 612e6 }] });
  const results = profile.results.filter(({ point }) => point.clockHertz === undefined);
  writeFileSync(plainFile, JSON.stringify({ ...profile, results }));

  test.each([
    [["power.budgetWatts=5"], "power.clocks is off"],
    [["power.budgetWatts=5", "power.clocks=off", `power.profile=${profileFile}`], "power.clocks is off"],
    [["power.minFps=2", "power.clocks=auto", `power.profile=${profileFile}`], NO_BUDGET],
    [["power.budgetWatts=5", "power.clocks=auto"], NO_PROFILE],
    [["power.budgetWatts=5", "power.clocks=auto", `power.profile=${plainFile}`], NO_PROFILE],
  ])("with %j are left alone: %s", (set, reason) => {
    const { figures } = parts().open(...set)!;
    expect(figures.available && figures.clocks).toEqual({ available: false, reason });
  });

  test.each([
    [["power.minFps=2"], NO_BUDGET],
    [["power.budgetWatts=5"], NO_PROFILE],
    [["power.budgetWatts=5", `power.profile=${plainFile}`], NO_PROFILE],
  ])("that must be limited are an error with %j", (set, reason) => {
    expect(() => parts().open("power.clocks=on", ...set)).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID", message: `${reason}, found none.` }),
    );
  });

  test("of a machine that has none are an error only where they must be limited", () => {
    const set = ["power.budgetWatts=5", `power.profile=${profileFile}`];
    const { figures, levels } = parts().open("power.clocks=auto", ...set)!;
    expect(figures.available && figures.clocks).toMatchObject({ available: false });
    expect(levels.some(({ clocks }) => Object.keys(clocks ?? {}).length > 0)).toBe(false);
    expect(() => parts().open("power.clocks=on", ...set)).toThrow(
      expect.objectContaining({ code: "DEVICE_UNAVAILABLE" }),
    );
  });
});

test("power modes of a machine that has none are refused", () => {
  const missing = expect.objectContaining({
    code: "DEVICE_UNAVAILABLE",
    message: "power.modes is set, but this machine has no /etc/nvpmodel.conf, so it has no power modes.",
  });
  expect(() => parts().open("power.budgetWatts=5", "power.modes=15W,10W")).toThrow(missing);
  const meter = { recent: vi.fn() };
  const board = (...set: string[]) =>
    openBoardGovernor(loadConfig({ environment: {}, set: [...MATCH, ...set] }).config.power, meter, () => {});
  expect(() => board("power.modes=15W")).toThrow(missing);
  expect(board()).toBeDefined();
});

test("over the budget it changes the engine and logs it", async () => {
  const { open, governed, events, calls, draw } = parts();
  const loop = open("power.budgetWatts=5") as GovernorLoop;
  expect(loop).toBeInstanceOf(GovernorLoop);
  loop.start();
  expect(calls.splice(0)).toEqual([
    ["adjust", { parameters: { paths: 4 }, numDisparities: 64, halfResolution: false }],
    ["limit", undefined],
  ]);
  // Far over the budget, one reading is enough; nothing happens while the run sleeps.
  draw(6, 10);
  governed.duty.activity = { computing: false, wakes: 0 };
  loop.look();
  expect(calls).toEqual([]);
  governed.duty.activity = { computing: true, wakes: 1 };
  loop.look();
  loop.look();
  expect(calls.splice(0)).toEqual([
    ["adjust", { parameters: { paths: 2 }, numDisparities: 64, halfResolution: false }],
    ["limit", undefined],
  ]);
  const reason = "down to 2 paths, 64 disparities: 6.00 W is over the budget of 5 W";
  expect(events.onChange.mock.calls).toEqual([[reason]]);
  await loop.stop();
  expect(events.onProblem).not.toHaveBeenCalled();
});

test("a rig takes part in the governor of its board, with its own ladder and goals", () => {
  const { open, governed, events, calls, draw } = parts();
  const part = vi.fn((_: GovernedRig) => "the part");
  governed.shared = { governor: { part }, name: "front", rank: 2 };
  // Clocks are the board's.
  expect(open("power.budgetWatts=5", "power.minFps=3", "power.clocks=on")).toBe("the part");
  const [rig] = part.mock.calls[0]!;
  expect(rig).toEqual({
    name: "front",
    rank: 2,
    levels: expect.any(Array),
    goal: { budgetWatts: 5, minFps: 3 },
    apply: expect.any(Function),
    frames: expect.any(Function),
    busyMs: expect.any(Function),
    onChange: events.onChange,
  });
  expect(rig.levels.map(({ name }) => name)).toEqual([
    "4 paths, 64 disparities",
    "2 paths, 64 disparities",
    "2 paths, 32 disparities",
  ]);
  draw(1, 42);
  expect([rig.frames(), rig.busyMs()]).toEqual([42, 7]);
  rig.apply({ ...rig.levels[1]!, rateHz: 2 });
  rig.apply(undefined);
  expect(calls).toEqual([
    ["limit", 2],
    ["adjust", { parameters: { paths: 2 }, numDisparities: 64, halfResolution: false }],
    ["limit", undefined],
  ]);
});
