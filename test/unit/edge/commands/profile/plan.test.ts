// SPDX-License-Identifier: Apache-2.0
// Tests which points are visited, the rest after an interruption, and power modes with the test's own nvpmodel.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isDepthwattError } from "../../../../../core/index.js";
import {
  parseAlgorithms,
  parseClocks,
  parsePaths,
  parseRates,
  parseRepeatedStages,
  parseResolutions,
  parseSearches,
  parseSizes,
  planPoints,
} from "../../../../../edge/commands/profile/plan.js";
import { stageRounds } from "../../../../../edge/commands/profile/run.js";
import { missingPoints } from "../../../../../edge/commands/profile/sweep.js";
import { PowerModes } from "../../../../../edge/profile/power-modes.js";
import { readProfile, resumeProfile, saveProfile } from "../../../../../edge/profile/store.js";
import { type ProfilePoint, pointId } from "../../../../../edge/profile/types.js";
import { constructedProfile } from "../../../../doubles/constructed-profile.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-profile-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function refusal(action: () => unknown): { code: string; message: string } {
  try {
    action();
  } catch (error) {
    if (isDepthwattError(error)) return error;
    throw error;
  }
  throw new Error("expected a refusal");
}

describe("plan", () => {
  const options = {
    modes: ["7W", "15W"],
    clocks: [{}],
    algorithms: ["sgm" as const],
    sizes: parseSizes("640x480,1280x720"),
    disparities: [64],
    paths: parsePaths("4,8"),
    rates: parseRates("max,30"),
    resolutions: [false],
    searches: parseSearches("full,coarseToFine"),
    stageRounds: 0,
    repeated: [],
  };

  test("every combination once, the mode outermost", () => {
    const points = planPoints(options);
    expect(points).toHaveLength(2 * 2 * 2 * 2);
    expect(new Set(points.map(pointId)).size).toBe(16);
    expect(points.slice(0, 8).every((point) => point.mode === "7W")).toBe(true);
  });

  test("rounds of left-out stages are interleaved with whole runs of the first point", () => {
    const points = planPoints({ ...options, stageRounds: 2 }).slice(16);
    const round = ["leftRight", "median", "speckle", "depth", "encode", undefined];
    expect(points.map((point) => point.without)).toEqual([...round, ...round]);
  });

  test("the rounds repeat the stages that are named, at the first point", () => {
    const repeated = parseRepeatedStages("match=3,median=40");
    const points = planPoints({ ...options, stageRounds: 1, repeated }).slice(16);
    expect(points.map((point) => point.repeat?.stage)).toEqual([
      ...Array.from({ length: 5 }, () => undefined),
      "match",
      "median",
      undefined,
    ]);
    expect(points.map(pointId).slice(5)).toEqual([
      "sgm-640x480-d64-p4-max-7W-match-x3",
      "sgm-640x480-d64-p4-max-7W-median-x40",
      "sgm-640x480-d64-p4-max-7W",
    ]);
    for (const bad of ["match", "match=1", "match=2.5", "match=2=3", "matching=2", "match=10001"])
      expect(refusal(() => parseRepeatedStages(bad)).message).toContain(`got "${bad}"`);
  });

  test("the rounds add publishing with --stages, and capture where a configuration names cameras", () => {
    const asked = { stageRounds: "1", stages: true, config: "rig.yaml" } as never;
    expect(stageRounds(asked).added).toEqual(["capture", "publish"]);
    expect(stageRounds({ stageRounds: "1", stages: true } as never).added).toEqual(["publish"]);
    expect(stageRounds({ stageRounds: "1" } as never).added).toEqual([]);
    const points = planPoints({ ...options, ...stageRounds(asked) }).slice(-3);
    expect(points.map(pointId)).toEqual(
      ["-capture", "-publish", ""].map((end) => `sgm-640x480-d64-p4-max-7W${end}`),
    );
  });

  test("half resolution next to full, and cbca once for all paths", () => {
    const points = planPoints({
      ...options,
      modes: [undefined],
      sizes: parseSizes("640x480"),
      rates: ["max"],
      algorithms: parseAlgorithms("sgm,cbca"),
      resolutions: parseResolutions("full,half"),
    });
    expect(points.map(pointId)).toEqual([
      "sgm-640x480-d64-p4-max",
      "sgm-640x480-d64-p4-max-half",
      "sgm-640x480-d64-p8-max",
      "sgm-640x480-d64-p8-max-half",
      "cbca-640x480-d64-p4-max",
      "cbca-640x480-d64-p4-max-half",
    ]);
    expect(refusal(() => parseResolutions("quarter")).message).toContain("full or half");
    expect(refusal(() => parseAlgorithms("bm")).message).toContain("sgm or cbca");
  });

  test("both searches where they differ", () => {
    const points = planPoints({
      ...options,
      modes: [undefined],
      sizes: parseSizes("640x480"),
      rates: ["max"],
      algorithms: parseAlgorithms("sgm,cbca"),
      disparities: [64, 128],
      resolutions: parseResolutions("full,half"),
    });
    expect(points.filter(({ search }) => search !== undefined).map(pointId)).toEqual([
      "sgm-640x480-d128-p4-max-coarseToFine",
    ]);
    expect(refusal(() => parseSearches("auto")).message).toContain("full or coarseToFine");
  });

  test("says what it expected", () => {
    expect(refusal(() => parseSizes("640")).message).toContain('"640"');
    expect(refusal(() => parsePaths("3")).message).toContain("2, 4 or 8");
    expect(refusal(() => parseRates("-1")).message).toContain("max");
    expect(refusal(() => planPoints({ ...options, paths: [] })).code).toBe("USAGE");
  });
});

describe("continuing after an interruption", () => {
  test("existing points are not measured again; repeated points need as many results", () => {
    const profile = constructedProfile();
    const points = profile.results.map((result) => result.point);
    const twice: ProfilePoint[] = [...points, points[0]!];
    expect(missingPoints(twice, profile.results)).toEqual([points[0]]);
    expect(missingPoints(points, profile.results.slice(3))).toEqual(points.slice(0, 3));
    expect(missingPoints(points, profile.results)).toEqual([]);
  });

  test("a profile in the folder is taken up, one made under other conditions is refused", async () => {
    const profile = constructedProfile();
    expect(resumeProfile(folder, profile)).toBe(profile);
    await saveProfile(folder, profile);
    const fresh = { ...profile, results: [] };
    expect(resumeProfile(folder, fresh).results).toHaveLength(profile.results.length);
    const other = refusal(() => resumeProfile(folder, { ...fresh, seconds: 5 }));
    expect(other.code).toBe("CONFIG_INVALID");
    expect(other.message).toContain('"seconds":20');
    writeFileSync(join(folder, "profile.json"), '{"format":"x"}');
    expect(refusal(() => readProfile(folder)).code).toBe("SOURCE_UNREADABLE");
  });
});

describe("clocks", () => {
  const limits = { steps: (name: string) => (name === "gpu" ? [306, 612, 624.75, 918] : [2133, 3199]) };

  test("are steps of the board, all of them below its limit or those that are named", () => {
    const gpu = (...megahertz: number[]) => megahertz.map((one) => ({ gpu: one * 1e6 }));
    expect(parseClocks("all", limits)).toEqual([{}, ...gpu(624.75, 612, 306)]);
    expect(parseClocks("current,306,624/2133,/2133", limits)).toEqual([
      {},
      { gpu: 306e6 },
      { gpu: 624.75e6, emc: 2133e6 },
      { emc: 2133e6 },
    ]);
    expect(parseClocks("current", undefined)).toEqual([{}]);
    expect(() => parseClocks("500", limits)).toThrow(
      'expected steps of the gpu in MHz (306, 612, 624.75, 918), got "500"',
    );
    expect(() => parseClocks("306/9", limits)).toThrow(/steps of the emc/);
  });

  test("are the innermost loop, and part of a point's name", () => {
    const points = planPoints({
      modes: [undefined],
      clocks: parseClocks("current,306/2133", limits),
      algorithms: ["sgm"],
      sizes: parseSizes("640x480"),
      disparities: [64],
      paths: [4],
      rates: [15],
      resolutions: [false],
      searches: ["full"],
      stageRounds: 0,
      repeated: [],
    });
    expect(points.map(pointId)).toEqual([
      "sgm-640x480-d64-p4-15hz",
      "sgm-640x480-d64-p4-15hz-gpu306-emc2133",
    ]);
  });
});

describe("power modes", () => {
  const CONF =
    "< POWER_MODEL ID=0 NAME=MAXN >\n< POWER_MODEL ID=1 NAME=MODE_15W >\n< POWER_MODEL ID=2 NAME=MODE_30W >\n";
  let program: string;
  const state = () => readFileSync(join(folder, "state"), "utf8").trim();
  beforeEach(() => {
    program = join(folder, "nvpmodel");
    writeFileSync(join(folder, "nvpmodel.conf"), CONF);
    writeFileSync(join(folder, "state"), "2");
    // Answers as the real one does: -q names the mode and its number, -m takes a number.
    writeFileSync(
      program,
      `#!/bin/sh
if [ "$1" = -m ]; then [ -e "${folder}/refuse" ] && { echo "need root" >&2; exit 1; }; echo "$2" > "${folder}/state"; exit 0; fi
id=$(cat "${folder}/state")
set -- MAXN MODE_15W MODE_30W
shift "$id"
printf 'NV Power Mode: %s\\n%s\\n' "$1" "$id"
`,
    );
    chmodSync(program, 0o755);
  });
  const open = () => PowerModes.open({ program, confFile: join(folder, "nvpmodel.conf") })!;

  test("by name, with or without its prefix, and back to what was on", () => {
    const modes = open();
    expect(modes.names).toEqual(["MAXN", "MODE_15W", "MODE_30W"]);
    expect(modes.current()).toBe("MODE_30W");
    modes.set("MAXN");
    expect(state()).toBe("0");
    modes.set("15W");
    expect(modes.current()).toBe("MODE_15W");
    modes.restore();
    expect(state()).toBe("2");
    modes.restore();
  });

  test("comes back where nvpmodel's answers and its configuration differ by the prefix, in either direction", () => {
    // The configuration says MODE_15W and MAXN; the answer is 15W, as on some boards.
    const text = readFileSync(program, "utf8");
    writeFileSync(program, text.replace("set -- MAXN MODE_15W MODE_30W", "set -- MODE_MAXN 15W 30W"));
    for (const [number, other] of [
      ["1", "30W"],
      ["0", "15W"],
    ] as const) {
      writeFileSync(join(folder, "state"), number);
      const modes = open();
      modes.set(other);
      expect(state()).not.toBe(number);
      modes.restore();
      expect(state()).toBe(number);
    }
  });

  test("a mode that does not come back is an error, not silence", () => {
    const modes = open();
    modes.set("MAXN");
    writeFileSync(program, readFileSync(program, "utf8").replace('echo "$2" >', 'echo "1" >'));
    expect(refusal(() => modes.restore()).message).toBe(
      "nvpmodel was asked for MODE_30W, but the mode is MODE_15W.",
    );
  });

  test("an unknown name, a refusal and a machine without nvpmodel", () => {
    const modes = open();
    expect(refusal(() => modes.set("60W"))).toMatchObject({
      code: "CONFIG_INVALID",
      hint: expect.stringContaining("MODE_30W"),
    });
    writeFileSync(join(folder, "refuse"), "");
    expect(refusal(() => modes.set("MAXN"))).toMatchObject({
      code: "DEVICE_UNAVAILABLE",
      hint: expect.stringContaining("sudo"),
    });
    rmSync(join(folder, "refuse"));
    modes.restore();
    expect(PowerModes.open({ confFile: join(folder, "nothing") })).toBeUndefined();
  });

  test.each(["SIGINT", "SIGTERM"] as const)("comes back when the process gets %s", async (signal) => {
    const module = join(import.meta.dirname, "../../../../../dist/edge/profile/power-modes.js");
    const code = `import { PowerModes } from ${JSON.stringify(module)};
      const modes = PowerModes.open({ program: ${JSON.stringify(program)}, confFile: ${JSON.stringify(join(folder, "nvpmodel.conf"))} });
      modes.set("MAXN"); console.log("changed"); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    expect(state()).toBe("0");
    child.kill(signal);
    const [exitCode, exitSignal] = await once(child, "exit");
    expect([exitCode, exitSignal]).toEqual([null, signal]);
    expect(state()).toBe("2");
  });
});

test("the command runs for real, writes its three files and continues where it was", {
  timeout: 120_000,
}, () => {
  const main = join(import.meta.dirname, "../../../../../dist/edge/cli/main.js");
  const run = (...more: string[]) => {
    const words = ["profile", "-o", folder, "--sizes", "96x64", "--disparities", "16", "--seconds", "2"];
    const rest = ["--warm-up", "0.5", "--idle", "2", "--backend", "cpu", "--json", ...more];
    const result = spawnSync(process.execPath, [main, ...words, ...rest], {
      encoding: "utf8",
      timeout: 60_000,
    });
    if (result.status !== 0) throw new Error(result.stderr);
    return {
      ...(JSON.parse(result.stdout.trim().split("\n").at(-1)!) as {
        files: string[];
        results: { id: string; fps: number; date: string; power: { available: boolean; reason: string } }[];
      }),
      stderr: result.stderr,
    };
  };
  const first = run("--paths", "4", "--rates", "20");
  expect(first.results.map((result) => result.id)).toEqual(["sgm-96x64-d16-p4-20hz"]);
  // A busy machine may fall short of the rate asked for; nothing may exceed it.
  expect(first.results[0]!.fps).toBeGreaterThan(2);
  expect(first.results[0]!.fps).toBeLessThan(20.6);
  if (!first.results[0]!.power.available) expect(first.results[0]!.power.reason).toContain("no power sensor");
  const second = run("--paths", "4", "--rates", "20,max");
  expect(second.stderr).toContain("1 of 2 points are already measured");
  expect(second.results[0]!.date).toBe(first.results[0]!.date);
  expect(second.results[1]!.fps).toBeGreaterThan(second.results[0]!.fps);
  expect(readFileSync(join(folder, "report.html"), "utf8")).toContain("<svg");
  expect(readFileSync(join(folder, "profile.csv"), "utf8").trim().split("\r\n")).toHaveLength(3);
});

test("--stages chooses rounds and repeated stages, which the two other flags override", () => {
  const asked = (more: Partial<Parameters<typeof stageRounds>[0]>) =>
    stageRounds({ stageRounds: "0", ...more } as Parameters<typeof stageRounds>[0]);
  const { stageRounds: rounds, repeated } = asked({ stages: true });
  expect([rounds, repeated.map(({ stage }) => stage)]).toEqual([4, ["rectify", "match", "median"]]);
  expect(asked({ stages: true, stageRounds: "2", repeatStages: "match=5" })).toEqual({
    stageRounds: 2,
    repeated: [{ stage: "match", times: 5 }],
    added: ["publish"],
  });
  expect(asked({})).toEqual({ stageRounds: 0, repeated: [], added: [] });
});
