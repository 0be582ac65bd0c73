// SPDX-License-Identifier: Apache-2.0
// Whole texts of depthwatt profile and profile compare, computed by hand from profiles with round figures.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { detectBoard, loadBoards } from "../../../../../edge/boards/index.js";
import { runCommandLine } from "../../../../../edge/cli/program.js";
import { stageCosts } from "../../../../../edge/commands/profile/stage-energy.js";
import { VERSION } from "../../../../../edge/contracts/version.js";
import {
  type PointResult,
  type Profile,
  type ProfilePoint,
  pointId,
} from "../../../../../edge/profile/types.js";
import { constructedProfile, constructedResult } from "../../../../doubles/constructed-profile.js";

let folder = "";
let [out, err] = ["", ""];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-profile-text-"));
  [out, err] = ["", ""];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    out += text;
    return true;
  });
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    err += text;
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const UNKNOWN = { available: false as const, reason: "no step" };
const POINT: ProfilePoint = {
  mode: undefined,
  algorithm: "sgm",
  width: 640,
  height: 480,
  numDisparities: 64,
  paths: 4,
  rateHz: "max",
};
const ID = pointId(POINT);

interface Given {
  point?: Partial<ProfilePoint>;
  fps?: number;
  power?: object;
  stages?: PointResult["stages"];
  addedPerFrame?: number;
}
function result({ point = {}, power = {}, ...more }: Given): PointResult {
  const whole = { ...POINT, ...point };
  const base = constructedResult(whole, () => 0.5);
  return {
    ...base,
    id: pointId(whole),
    fps: 10,
    ...more,
    power: {
      ...base.power,
      watts: 8,
      idleWatts: 4,
      wattsUncertainty: 0.08,
      ...power,
    } as PointResult["power"],
  };
}

function save(name: string, results: readonly PointResult[], more: Partial<Profile> = {}): string {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  const profile = { ...constructedProfile(), seconds: 20, results, ...more };
  writeFileSync(join(path, "profile.json"), JSON.stringify(profile));
  return path;
}

async function run(...words: string[]): Promise<string[]> {
  out = "";
  expect(await runCommandLine(["profile", ...words]), err).toBe(0);
  return out.split("\n").slice(0, -1);
}

const time = (p50Ms: number) => ({ p50Ms, p95Ms: p50Ms, p99Ms: p50Ms });
/** Three whole runs about 1 J and three without the median about 0.9 J, each 0.01 J apart. */
const ROUNDS = [
  result({ power: { joulesPerFrame: 0.99 }, stages: { match: time(12), median: time(0.5) } }),
  result({ power: { joulesPerFrame: 1, idleWatts: 6 }, stages: { match: time(12.5), median: time(0.75) } }),
  result({ power: { joulesPerFrame: 1.01 }, stages: { match: time(14), median: time(0.25) } }),
  ...[0.89, 0.9, 0.91].map((joulesPerFrame) =>
    result({ point: { without: "median" }, power: { joulesPerFrame } }),
  ),
];

describe("costs of stages", () => {
  test("a table with the time of each stage and the joules of stages that were left out", async () => {
    const path = save("rounds", ROUNDS);
    // The stage is the difference of two means of three: the residuals' deviation is sqrt(4e-4 / 4) J, and Student's t of
    // four degrees of freedom is 2.776. Half widths are 2.776 * 0.01 J * sqrt(2 / 3) and sqrt(1 / 3).
    expect(await run("--report-only", "-o", path)).toEqual([
      "stage            ms      mJ per frame, 95 %",
      "capture                  unavailable: name the cameras' configuration with --config",
      "match            12.500",
      "median           0.500   100 +- 22.7",
      "publish                  unavailable: measure it with --stages",
      "everything else          900 +- 16.0",
      "of it idle               400",
      join(path, "profile.json"),
      join(path, "profile.csv"),
      join(path, "report.html"),
    ]);
    expect(readFileSync(join(path, "profile.csv"), "utf8").split("\r\n")).toHaveLength(8);
    expect(readFileSync(join(path, "report.html"), "utf8")).toContain("<svg");
  });

  test("work that was added is no longer missing; without idle power the rest is not divided", async () => {
    const results = ROUNDS.map((one) => ({
      ...one,
      power: { ...one.power, idleWatts: UNKNOWN },
    })) as PointResult[];
    const added = [0, 1, 2].map((i) =>
      result({
        point: { added: "publish" },
        addedPerFrame: 0.5,
        power: { joulesPerFrame: 1.06 + 0.01 * i },
      }),
    );
    const lines = await run("--report-only", "-o", save("added", [...results, ...added]));
    // Half a frame is published with each computed one and costs 0.07 J. Six degrees of freedom: t is 2.447.
    expect(lines.slice(3, 7)).toEqual([
      "median           0.500   100 +- 20.0",
      "publish                  140 +- 40.0",
      "everything else          900 +- 14.1",
      "of it idle               unavailable: no idle power was measured",
    ]);
  });

  test("too few runs, and no sensor: times without joules, and why", async () => {
    const few = await run("--report-only", "-o", save("few", [ROUNDS[0]!, ROUNDS[3]!]));
    expect(few.slice(0, -3)).toEqual([
      "stage    ms      mJ per frame, 95 %",
      "capture          unavailable: name the cameras' configuration with --config",
      "match    12.000",
      "median   0.500",
      "publish          unavailable: measure it with --stages",
      "no joules of stages: too few runs: add rounds (--stage-rounds)",
    ]);
    const power = { available: false as const, reason: "no sensor" };
    const blind = ROUNDS.map((one) => ({ ...one, power }));
    expect((await run("--report-only", "-o", save("blind", blind))).at(-4)).toBe(
      "no joules of stages: no sensor",
    );
    expect(stageCosts(blind)).toMatchObject({ joules: power, idleJoulesPerFrame: power });
    expect(stageCosts(ROUNDS.slice(0, 3))).toBeUndefined();
  });

  test("other points, and runs without joules, take no part", () => {
    const others = [
      result({ point: { paths: 8 }, power: { joulesPerFrame: 7 }, stages: { match: time(99) } }),
      result({ power: { joulesPerFrame: UNKNOWN, idleWatts: UNKNOWN }, stages: { match: time(12.5) } }),
    ];
    const costs = stageCosts([...others, ...ROUNDS]);
    expect(costs).toMatchObject({
      joules: {
        runs: 6,
        degreesOfFreedom: 4,
        stages: [{ stage: "median", joulesPerFrame: expect.closeTo(0.1, 9) }],
      },
      idleJoulesPerFrame: 0.4,
      milliseconds: { match: 12.5, median: 0.5 },
    });
  });

  test("--json: the results without their timelines, and the files", async () => {
    const path = save("json", ROUNDS);
    const {
      files,
      idleBefore,
      idleAfter,
      stageCosts: costs,
      results,
    } = JSON.parse((await run("--report-only", "-o", path, "--json"))[0]!);
    expect(files).toEqual(["profile.json", "profile.csv", "report.html"].map((name) => join(path, name)));
    const { idleBefore: before, idleAfter: after } = constructedProfile();
    expect([idleBefore, idleAfter]).toEqual([before, after]);
    expect(costs.idleJoulesPerFrame).toBe(0.4);
    expect(Object.keys(costs.notAdded)).toEqual(["capture", "publish"]);
    const rows = JSON.parse(JSON.stringify(ROUNDS)) as Partial<PointResult>[];
    for (const row of rows) delete row.timeline;
    expect(results).toEqual(rows);
    expect(
      JSON.parse((await run("--report-only", "-o", save("whole", ROUNDS.slice(0, 1)), "--json"))[0]!)
        .stageCosts,
    ).toBe(null);
  });
});

test("--contribute writes the file to send in; kernel times need it", async () => {
  const path = save("sent", ROUNDS);
  await run("--report-only", "-o", path, "--contribute");
  expect(err).toContain(
    `${join(path, "contribution.json")} is ready to be sent in: see docs/guides/contribute.md.\n`,
  );
  const contribution = JSON.parse(readFileSync(join(path, "contribution.json"), "utf8"));
  expect([contribution.rows.length, contribution.kernels]).toEqual([3, null]);
  const row = { kind: "measured", what: "a", multiprocessors: 8, medianMs: 1 };
  const kernels = { machine: "m", commit: "c", date: "d", toolchain: "t", rows: [row] };
  const file = join(folder, "kernels.json");
  writeFileSync(file, JSON.stringify(kernels));
  await run("--report-only", "-o", path, "--contribute", "--kernels", file);
  expect(JSON.parse(readFileSync(join(path, "contribution.json"), "utf8")).kernels).toEqual(kernels);
  expect(await runCommandLine(["profile", "--report-only", "-o", path, "--kernels", file])).toBe(2);
  expect(err).toContain("expected --contribute with --kernels, whose times go into that file");
});

describe("profile compare", () => {
  test("changes of each point, within and beyond the uncertainty, and points of one side", async () => {
    const eight = { point: { paths: 8 as const } };
    const half = { point: { halfResolution: true as const } };
    const a = save("a", [
      result({ fps: 10, power: { watts: 8, wattsUncertainty: 0.08, joulesPerFrame: 0.8 } }),
      result({ ...eight, fps: 40, power: { watts: 5, wattsUncertainty: UNKNOWN, joulesPerFrame: 0.125 } }),
      result({ ...half, fps: 20, power: { joulesPerFrame: UNKNOWN } }),
      result({ point: { paths: 2 } }),
    ]);
    const b = save(
      "b",
      [
        result({ fps: 12.5, power: { watts: 8.04, wattsUncertainty: 0.08, joulesPerFrame: 0.648 } }),
        result({ ...eight, fps: 30, power: { watts: 4, joulesPerFrame: 0.133 } }),
        result({ ...half, fps: 20 }),
        result({ point: { numDisparities: 128 } }),
      ],
      { seconds: 30 },
    );
    const name = (point: Partial<ProfilePoint>) => pointId({ ...POINT, ...point });
    // 0.08 W twice in quadrature are 0.11 W, 1 % of 0.8 J and of 0.648 J 0.01 J.
    expect((await run("compare", a, b)).map((line) => line.replace(/ {2,}/g, "  "))).toEqual([
      "differs: seconds: 20 | 30",
      "point  fps A  fps B  A  B  per frame A  B",
      `${ID}  10.0  12.5  +25.0 %  8.00 W  8.04 W  +0.5 % (within uncertainty)  0.800 J  0.648 J  -19.0 %`,
      `${name({ paths: 8 })}  40.0  30.0  -25.0 %  5.00 W  4.00 W  -20.0 % (uncertainty unknown)  0.125 J  0.133 J  +6.4 % (uncertainty unknown)`,
      `${name({ halfResolution: true })}  20.0  20.0  +0.0 %  8.00 W  8.00 W  +0.0 % (within uncertainty)  -  -`,
      `only in A: ${name({ paths: 2 })}`,
      `only in B: ${name({ numDisparities: 128 })}`,
    ]);
    const json = JSON.parse((await run("compare", a, b, "--json"))[0]!);
    expect([json.points.length, json.onlyA, json.differences]).toEqual([
      3,
      [name({ paths: 2 })],
      ["seconds: 20 | 30"],
    ]);
  });

  test("without watts, the reason once", async () => {
    const power = { available: false as const, reason: "no sensor" };
    const a = save("a", [
      { ...result({}), power },
      { ...result({ point: { paths: 8 } }), power },
    ]);
    expect((await run("compare", a, a)).slice(1).map((line) => line.replace(/ {2,}/g, "  "))).toEqual([
      `${ID}  10.0  10.0  +0.0 %  -  -  -  -`,
      `${pointId({ ...POINT, paths: 8 })}  10.0  10.0  +0.0 %  -  -  -  -`,
      "no watts to compare: watts of A: no sensor",
    ]);
  });
});

describe("a profile that is continued", () => {
  /** Saves a profile of one point that was made here, on the CPU and without a sensor. */
  function saveOwn(name: string, seconds: number, warmUpSeconds: number): string {
    const { provenance } = constructedProfile();
    const { board } = detectBoard(loadBoards());
    const own = {
      ...provenance,
      version: VERSION,
      machine: hostname(),
      board: { ...provenance.board, name: board?.name ?? null },
      backend: "cpu",
      sensor: UNKNOWN,
    } as Profile["provenance"];
    return save(name, [result({})], { provenance: own, seconds, warmUpSeconds });
  }
  const words = [
    "--backend",
    "cpu",
    "--sensor",
    "none",
    "--disparities",
    "64",
    "--paths",
    "4",
    "--searches",
    "full",
  ];
  const times = (seconds: number, warmUp: number, idle: number) =>
    ["--seconds", seconds, "--warm-up", warmUp, "--idle", idle].map(String);

  test.each([
    [2, 0.5, 2],
    [3600, 600, 600],
  ])(
    "with all points measured it only writes: %d s, warmed up for %d s, idle for %d s",
    async (...limits) => {
      const listeners = process.listenerCount("SIGINT");
      const path = saveOwn("own", limits[0], limits[1]);
      const [json] = await run("-o", path, ...words, ...times(...limits), "--json");
      const none = { available: false, reason: "power.sensor is 'none'" };
      expect(JSON.parse(json!)).toMatchObject({
        files: ["profile.json", "profile.csv", "report.html"].map((name) => join(path, name)),
        idleBefore: none,
        idleAfter: none,
        results: [{ id: ID }],
      });
      expect(err.split("\n")).toEqual([
        "1 of 1 points are already measured",
        `no watts and no joules will be measured: ${none.reason}`,
        "1 of 1 points measured; done",
        "",
      ]);
      const stored = JSON.parse(readFileSync(join(path, "profile.json"), "utf8"));
      expect([stored.idleBefore, stored.idleAfter, stored.clockLimitHertz]).toEqual([none, none, undefined]);
      expect(process.listenerCount("SIGINT")).toBe(listeners);
    },
  );

  test.each([
    [["--backend", "gpu"], '--backend: expected one of auto, cpu, cuda, got "gpu"'],
    [["--sensor", "watch"], /--sensor: expected one of .*none.*, got "watch"/],
    [["--idle", "1.9"], 'expected --idle to be a number from 2 to 600, got "1.9"'],
    [["--idle", "601"], 'expected --idle to be a number from 2 to 600, got "601"'],
    [["--seconds", "1.9"], 'expected --seconds to be a number from 2 to 3600, got "1.9"'],
    [["--seconds", "3601"], 'expected --seconds to be a number from 2 to 3600, got "3601"'],
    [["--warm-up", "0.4"], 'expected --warm-up to be a number from 0.5 to 600, got "0.4"'],
    [["--warm-up", "601"], 'expected --warm-up to be a number from 0.5 to 600, got "601"'],
    [["--seconds", "3"], "holds a profile made under other conditions"],
  ])("%j is refused, and the folder stays as it is", async (more, message) => {
    const path = saveOwn("own", 2, 0.5);
    const before = readFileSync(join(path, "profile.json"), "utf8");
    const code = await runCommandLine(["profile", "-o", path, ...words, ...times(2, 0.5, 2), ...more]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(message);
    expect(readFileSync(join(path, "profile.json"), "utf8")).toBe(before);
    expect(readdirSync(path)).toEqual(["profile.json"]);
  });
});
