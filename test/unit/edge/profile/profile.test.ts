// SPDX-License-Identifier: Apache-2.0
// A profile on disk: its table, the names of its points, with which folder it continues, and what its flags accept.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { STAGE_NAMES } from "../../../../cuda/index.js";
import { parseKernelTimes, readKernelTimes } from "../../../../edge/profile/kernel-times.js";
import { expectToRun, parseRepeatedStage } from "../../../../edge/profile/repeated-stage.js";
import {
  profileCsv,
  readProfile,
  resumeProfile,
  saveProfile,
  writeWhole,
} from "../../../../edge/profile/store.js";
import {
  hasPaths,
  isWhole,
  megaDisparitiesPerSecond,
  type PointResult,
  type Profile,
  type ProfilePoint,
  pointId,
} from "../../../../edge/profile/types.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-profile-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const POINT: ProfilePoint = {
  mode: undefined,
  algorithm: "sgm",
  width: 640,
  height: 480,
  numDisparities: 128,
  paths: 4,
  rateHz: "max",
};

describe("points", () => {
  test.each<[Partial<ProfilePoint>, string]>([
    [{}, "sgm-640x480-d128-p4-max"],
    [{ rateHz: 30, mode: "15W" }, "sgm-640x480-d128-p4-30hz-15W"],
    [{ halfResolution: true, search: "coarseToFine" }, "sgm-640x480-d128-p4-max-half-coarseToFine"],
    [{ clockHertz: { emc: 2133e6, gpu: 612e6 } }, "sgm-640x480-d128-p4-max-gpu612-emc2133"],
    [{ clockHertz: { gpu: 612e6 }, without: "median" }, "sgm-640x480-d128-p4-max-gpu612-no-median"],
    [{ repeat: { stage: "median", times: 20 } }, "sgm-640x480-d128-p4-max-median-x20"],
    [{ added: "publish", algorithm: "cbca", paths: 8 }, "cbca-640x480-d128-p8-max-publish"],
  ])("%j is named %s", (change, id) => expect(pointId({ ...POINT, ...change })).toBe(id));

  test.each<[Partial<ProfilePoint>, boolean]>([
    [{ halfResolution: true, search: "coarseToFine", clockHertz: { gpu: 1 } }, true],
    [{ without: "median" }, false],
    [{ repeat: { stage: "median", times: 2 } }, false],
    [{ added: "capture" }, false],
  ])("%j is a frame in earnest: %s", (change, whole) => expect(isWhole({ ...POINT, ...change })).toBe(whole));

  test("only some matchers have paths", () => {
    expect((["sgm", "cbca", "foreign"] as const).map(hasPaths)).toEqual([true, false, false]);
  });

  test("half resolution has a quarter of the pixels and half of the disparities", () => {
    // 640 x 480 x 128 is 39.32 million.
    expect(megaDisparitiesPerSecond(POINT)).toBeCloseTo(39.3216, 9);
    expect(megaDisparitiesPerSecond({ ...POINT, halfResolution: true })).toBeCloseTo(39.3216 / 8, 9);
  });
});

describe("the table", () => {
  const known = {
    id: "a",
    point: {
      ...POINT,
      mode: 'a "15 W", slow',
      rateHz: 30,
      halfResolution: true,
      search: "coarseToFine",
      clockHertz: { gpu: 612.5e6, emc: 2133e6 },
      without: "median",
      repeat: { stage: "speckle", times: 20 },
      added: "publish",
    },
    addedPerFrame: 0.5,
    backend: "cuda",
    frames: 300,
    seconds: 10,
    fps: 29.97,
    validPercent: 88.25,
    power: {
      available: true,
      watts: 12.5,
      wattsUncertainty: 0.25,
      idleWatts: 6,
      joulesPerFrame: 0.4,
      joulesPerFrameNet: 0.2,
      fpsPerWatt: 2.4,
      mdePerJoule: 94,
      changed: ["fan", "clock"],
    },
  } as unknown as PointResult;
  const unknown = {
    ...known,
    id: "b",
    point: POINT,
    addedPerFrame: undefined,
    power: { available: false, reason: "no sensor", changed: ["x"] },
  } as unknown as PointResult;
  const unsure = {
    ...unknown,
    id: "c",
    power: { ...known.power, watts: { available: false, reason: "too short" }, changed: [] },
  } as unknown as PointResult;

  test("has every figure in its column, an empty field for an unknown one, and quotes where they are needed", () => {
    expect(profileCsv([known, unknown, unsure])).toBe(
      [
        "id,mode,algorithm,width,height,num_disparities,paths,rate_hz,half_resolution,search,gpu_limit_mhz,emc_limit_mhz," +
          "without,repeated,added,added_per_frame,backend,frames,seconds,fps,watts,watts_uncertainty_k2,idle_watts," +
          "joules_per_frame,joules_per_frame_net,fps_per_watt,mde_per_joule,valid_percent,changed",
        'a,"a ""15 W"", slow",sgm,640,480,128,4,30,true,coarseToFine,612.5,2133,' +
          "median,speckle=20,publish,0.5,cuda,300,10,29.97,12.5,0.25,6,0.4,0.2,2.4,94,88.25,fan; clock",
        "b,,sgm,640,480,128,4,max,false,full,,,,,,,cuda,300,10,29.97,,,,,,,,88.25,",
        "c,,sgm,640,480,128,4,max,false,full,,,,,,,cuda,300,10,29.97,,0.25,6,0.4,0.2,2.4,94,88.25,",
        "",
      ].join("\r\n"),
    );
  });
});

describe("a folder", () => {
  const provenance = {
    version: "1",
    machine: "m",
    board: { name: "orin" },
    backend: "cpu",
    sensor: { name: "INA3221" },
    kernel: "k",
  };
  const profile = {
    format: "depthwatt-profile/1",
    seconds: 10,
    warmUpSeconds: 5,
    provenance,
    results: [],
  } as unknown as Profile;
  const changed = (change: object) => ({ ...profile, provenance: { ...provenance, ...change } }) as Profile;

  test("continues with what it holds, if the conditions are the same", async () => {
    const place = join(folder, "new", "er");
    expect(resumeProfile(place, profile)).toBe(profile);
    const full = { ...profile, results: [{ id: "a" }] } as unknown as Profile;
    await saveProfile(place, full);
    expect(readdirSync(place)).toEqual(["profile.json"]);
    expect(readFileSync(join(place, "profile.json"), "utf8")).toBe(`${JSON.stringify(full, null, 1)}\n`);
    expect(resumeProfile(place, profile)).toEqual(full);
    expect(readProfile(place)).toEqual(full);
    expect(readProfile(join(place, "profile.json"))).toEqual(full);
    // The kernel is provenance, and no condition.
    expect(resumeProfile(place, changed({ kernel: "other" }))).toEqual(full);
    for (const [at, other] of [
      changed({ version: "2" }),
      changed({ machine: "n" }),
      changed({ board: { name: "nano" } }),
      changed({ backend: "cuda" }),
      changed({ sensor: { available: false, reason: "gone" } }),
      { ...profile, seconds: 11 },
      { ...profile, warmUpSeconds: 6 },
    ].entries())
      expect(() => resumeProfile(place, other), String(at)).toThrow(
        expect.objectContaining({ code: "CONFIG_INVALID" }),
      );
  });

  test("that holds another file, or another format, is named", () => {
    const place = join(folder, "other");
    mkdirSync(place);
    expect(() => readProfile(place)).toThrow(
      expect.objectContaining({
        code: "SOURCE_UNREADABLE",
        message: `${join(place, "profile.json")} is no profile that can be read.`,
      }),
    );
    writeFileSync(join(place, "profile.json"), '{"format": "x"}');
    expect(() => readProfile(place)).toThrow(
      `${join(place, "profile.json")}: expected format depthwatt-profile/1, got x.`,
    );
  });

  test("that cannot be made, and a file that cannot be written, are errors", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    expect(() => resumeProfile(join(file, "a"), profile)).toThrow(
      expect.objectContaining({
        code: "OUTPUT_UNWRITABLE",
        message: expect.stringContaining("cannot be made"),
      }),
    );
    await expect(writeWhole(join(file, "a"), "")).rejects.toMatchObject({
      code: "OUTPUT_UNWRITABLE",
      message: expect.stringMatching(/^cannot write .*file\/a: /) as string,
    });
  });
});

describe("a repeated stage", () => {
  test.each([
    ["median=2", { stage: "median", times: 2 }],
    ["speckle=10000", { stage: "speckle", times: 10_000 }],
  ])("%s", (text, parsed) => expect(parseRepeatedStage("--repeat", text)).toEqual(parsed));

  test.each([
    "median=1",
    "median=10001",
    "median=2.5",
    "median=",
    "median",
    "median=2=3",
    "none=2",
    "=2",
    "median=-2",
  ])("%s is refused with the stages", (text) => {
    expect(() => parseRepeatedStage("--repeat", text)).toThrow(
      expect.objectContaining({
        code: "USAGE",
        message: `--repeat: expected STAGE=TIMES, a stage of ${STAGE_NAMES.join(", ")} and 2 to 10000, got "${text}"`,
      }),
    );
  });

  test("must run with the settings", () => {
    const ran = ["median", "match"] as const;
    const stageMilliseconds = STAGE_NAMES.map((name) =>
      (ran as readonly string[]).includes(name) ? 0 : Number.NaN,
    );
    const expectStage = (stage?: (typeof STAGE_NAMES)[number]) =>
      expectToRun({ stageMilliseconds } as never, stage && { stage, times: 2 }, "--repeat");
    expect(() => expectStage("median")).not.toThrow();
    expect(() => expectStage()).not.toThrow();
    const order = STAGE_NAMES.filter((name) => (ran as readonly string[]).includes(name)).join(", ");
    expect(() => expectStage("speckle")).toThrow(
      expect.objectContaining({
        code: "USAGE",
        message: `--repeat: speckle does not run with these settings; these do: ${order}`,
      }),
    );
  });
});

describe("times of kernels", () => {
  const row = { kind: "measured", what: "census", multiprocessors: 8, medianMs: 0.5, more: "kept" };
  const times = { machine: "m", commit: "c", date: "d", toolchain: "t", rows: [row] };
  const parse = (value: unknown) => parseKernelTimes(JSON.stringify(value), "k.json", "Run check.sh.");

  test("are read whole", () => expect(parse(times)).toEqual(times));

  test.each<[object, RegExp]>([
    [{ ...times, machine: "" }, /machine: /],
    [{ ...times, commit: "" }, /commit: /],
    [{ ...times, date: "" }, /date: /],
    [{ ...times, toolchain: "" }, /toolchain: /],
    [{ ...times, rows: [] }, /rows: /],
    [{ ...times, rows: [{ ...row, kind: "predicted" }] }, /rows\.0\.kind: /],
    [{ ...times, rows: [{ ...row, what: "" }] }, /rows\.0\.what: /],
    [{ ...times, rows: [{ ...row, multiprocessors: 0 }] }, /rows\.0\.multiprocessors: /],
    [{ ...times, rows: [{ ...row, medianMs: 0 }] }, /rows\.0\.medianMs: /],
  ])("%j are refused with their place", (value, place) => {
    expect(() => parse(value)).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: expect.stringMatching(place),
        hint: "Run check.sh.",
      }),
    );
    expect(() => parse(value)).toThrow(/^k\.json holds no times of kernels: /);
  });

  test("in no JSON, and in no file, are errors", () => {
    expect(() => parseKernelTimes("{", "k.json", "h")).toThrow(/^k\.json is no JSON: /);
    expect(() => readKernelTimes(join(folder, "none.json"), "h")).toThrow(
      expect.objectContaining({ code: "USAGE" }),
    );
  });
});
