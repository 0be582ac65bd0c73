// SPDX-License-Identifier: Apache-2.0
// The papers' tables: what they declare, how gaps are reported, and the program on a small data set with a broken scene.
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { encodePng } from "../../../../../camera/index.js";
import { DepthwattError, mean } from "../../../../../core/index.js";
import { Lab } from "../../../../../edge/commands/reproduce/lab.js";
import { PAPERS } from "../../../../../edge/commands/reproduce/list.js";
import { gap, type Row } from "../../../../../edge/commands/reproduce/paper.js";
import { gapReasons, reproduce, reproducedTable } from "../../../../../edge/commands/reproduce/reproduce.js";
import { runInProcess } from "../../../../doubles/command-line.js";
import { runProgram } from "../../../../doubles/program.js";

const lab = new Lab({ data: undefined, backend: "cpu", frames: 1 });
const row = (name: string, ours: Row["ours"]): Row => ({ name, unit: "%", printed: 10, ours });

test("ours, the difference, and a gap for each error with a code", async () => {
  const rows: Row[] = [
    row("measured", async () => 10.5),
    row("no data", () => lab.match({ preset: "sad-3" }, { folder: "x", scene: "y" }).then(() => 0)),
    row("broken", async () => {
      throw new DepthwattError("IMAGE_UNSUPPORTED", "no picture");
    }),
    gap("not built", "ms", null, "no such kernel"),
  ];
  const [table] = await reproduce([{ kind: "table", number: "1", title: "t", rows }], lab);
  expect(table!.rows.map(({ ours, difference }) => [ours, difference])).toEqual([
    [10.5, 0.5],
    [{ available: false, reason: expect.stringMatching(/^DATASET_INVALID: expected a folder with x/) }, null],
    [{ available: false, reason: "IMAGE_UNSUPPORTED: no picture" }, null],
    [{ available: false, reason: "no such kernel" }, null],
  ]);
  expect(reproducedTable(table!.rows).slice(1, 3)).toEqual([
    ["measured", "10.00", "10.50", "+0.50", "%"],
    ["no data", "10.00", "gap", "-", "%"],
  ]);
  expect(gapReasons(table!.rows)).toContain("gap in 1 row: no such kernel");
  await expect(
    reproduce(
      [{ kind: "table", number: "1", title: "t", rows: [row("bug", () => Promise.reject(new TypeError()))] }],
      lab,
    ),
  ).rejects.toThrow(TypeError);
});

test("frames per watt without a power sensor are a gap that names the sensor's reason", async () => {
  const system = { preset: "sgm-2016", set: ["power.sensor=battery", "engine.threads=1"] };
  const ours = (one: Lab) => one.framesPerWatt(system, 64, 48, 16);
  const [table] = await reproduce(
    [{ kind: "figure", number: "6", title: "t", rows: [row("watts", ours)] }],
    lab,
  );
  expect(gapReasons(table!.rows)).toEqual([
    expect.stringMatching(/^gap in 1 row: SENSOR_UNAVAILABLE: expected a power sensor: .*battery/),
  ]);
});

describe("the papers", () => {
  const numbers = (paper: string, kind: string) =>
    PAPERS.find(({ number }) => number === paper)!
      .exhibits.filter((exhibit) => exhibit.kind === kind)
      .map(({ number }) => number);

  test.each([
    ["000", ["2", "3"], ["2"]],
    ["001", ["I", "II", "III"], []],
    ["002", ["II", "III", "IV", "V"], ["3", "4", "7", "8", "9", "12", "13", "14"]],
    ["003", ["7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8"], ["7.10", "7.11", "7.12"]],
    ["004", [], ["6", "7"]],
  ])("%s has its tables and figures", (paper, tables, figures) => {
    expect(numbers(paper, "table")).toEqual(tables);
    expect(numbers(paper, "figure")).toEqual(figures);
  });

  test("every row has its own name, and the twelve errors of a line average to the printed value", () => {
    for (const { exhibits } of PAPERS) {
      for (const { rows } of exhibits) {
        expect(rows.length).toBeGreaterThan(0);
        expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
      }
    }
    const lines = PAPERS.flatMap(({ exhibits }) => exhibits).flatMap(({ rows }) => rows);
    const averages = lines.flatMap(({ name, printed }, at) =>
      name.endsWith(", average") && lines[at - 12]?.name.endsWith("tsukuba nonocc")
        ? [[printed!, mean(lines.slice(at - 12, at).map((one) => one.printed!))] as const]
        : [],
    );
    expect(averages).toHaveLength(5);
    for (const [average, ofTwelve] of averages) expect(ofTwelve).toBeCloseTo(average, 0);
  });
});

describe("what every row prints and asks for", () => {
  const digest = (value: unknown) =>
    createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 8);
  /** Answers every request with figures that follow from its words, and counts the words. */
  function recordingLab() {
    const calls: unknown[] = [];
    const figure = (...words: unknown[]) => {
      calls.push(words);
      return 1 + Number.parseInt(digest(words).slice(0, 4), 16) / 1000;
    };
    const measured = (...words: unknown[]) => {
      const badPercent = figure(...words);
      return {
        name: "s",
        weight: badPercent / 2,
        width: 450,
        height: 375,
        numDisparities: 60,
        milliseconds: 2 * badPercent,
        stages: { half: badPercent + 1, match: badPercent + 2, upscale: badPercent + 3 },
        masks: Object.fromEntries(
          ["nonocc", "all", "disc", "valid"].map((mask, at) => [mask, { badPercent: badPercent + at / 8 }]),
        ),
        measures: { all: { "bad 2": { badPercent } } },
      };
    };
    const image = {
      format: "GREY",
      width: 129,
      height: 2,
      left: Uint8Array.from({ length: 258 }, (_, i) => 90 * i),
    };
    const answers = {
      kernelMs: (form: string, where: object) => figure("kernel", form, where),
      scenes: async (folder: string) => (figure("scenes", folder) > 0 ? ["a", "b"] : []),
      scene: async (place: object, colours: boolean) =>
        figure("scene", place, colours) > 0 ? image : undefined,
      match: async (...words: unknown[]) => measured("match", ...words),
      matchScene: async (
        system: object,
        name: string,
        create: (colours: boolean) => Promise<object>,
        how: object,
      ) => {
        const { right, truth, ...more } = (await create(true)) as { right: Uint8Array; truth: Float32Array };
        return measured("scene", system, name, how, { ...more, masks: 0, left: 0 }, [...right], [...truth]);
      },
      time: async (...words: unknown[]) => measured("time", ...words),
      framesPerWatt: async (...words: unknown[]) => figure("watt", ...words),
    };
    const recording = new Lab({ data: undefined, backend: "cpu", frames: 1 });
    return { calls, lab: Object.assign(recording, answers) as unknown as Lab };
  }

  // A printed value that changes is to be compared with the paper.
  test("the printed values add up, and the requests are those that were checked", async () => {
    const found: string[] = [];
    for (const { number, exhibits } of PAPERS) {
      for (const { kind, number: exhibit, rows } of exhibits) {
        const { calls, lab: recording } = recordingLab();
        const ours: unknown[] = [];
        for (const { name, unit, ours: compute } of rows)
          ours.push([name, unit, typeof compute === "function" ? await compute(recording) : compute]);
        const sum = rows.reduce((total, { printed }) => total + (printed ?? 0), 0);
        const printed = rows.filter(({ printed }) => printed !== null).length;
        const counts = `${printed} of ${rows.length} rows add up to ${sum.toFixed(2)}`;
        found.push(`${number} ${kind} ${exhibit}: ${counts}; requests ${digest([ours, calls])}`);
      }
    }
    expect(found).toEqual([
      "000 table 2: 16 of 16 rows add up to 1652.45; requests d05397b0",
      "000 table 3: 30 of 30 rows add up to 643.80; requests b78cd111",
      "000 figure 2: 16 of 16 rows add up to 102.35; requests ea919791",
      "001 table I: 37 of 37 rows add up to 912.17; requests 59041c30",
      "001 table II: 15 of 15 rows add up to 329.49; requests af780d13",
      "001 table III: 2 of 2 rows add up to 7889.00; requests 562b710f",
      "002 table II: 10 of 10 rows add up to 378.60; requests 484d5f50",
      "002 table III: 3 of 3 rows add up to 7.30; requests 2b90848e",
      "002 table IV: 47 of 47 rows add up to 1014.48; requests 67247350",
      "002 table V: 8 of 8 rows add up to 151.59; requests 39de381f",
      "002 figure 3: 0 of 16 rows add up to 0.00; requests ea919791",
      "002 figure 4: 0 of 20 rows add up to 0.00; requests 971835e2",
      "002 figure 7: 1 of 4 rows add up to 2.00; requests e61ead9b",
      "002 figure 8: 0 of 16 rows add up to 0.00; requests 38cd176f",
      "002 figure 9: 0 of 29 rows add up to 0.00; requests 9bffd0f8",
      "002 figure 12: 5 of 6 rows add up to 375.90; requests a1a993c2",
      "002 figure 13: 0 of 64 rows add up to 0.00; requests d93573d4",
      "002 figure 14: 0 of 11 rows add up to 0.00; requests 460cb797",
      "003 table 7.2: 12 of 12 rows add up to 333.50; requests 33aa55ae",
      "003 table 7.3: 12 of 12 rows add up to 271.87; requests 1df0c698",
      "003 table 7.4: 2 of 3 rows add up to 7.73; requests d558dfd6",
      "003 table 7.5: 9 of 9 rows add up to 685.19; requests 201c8c3d",
      "003 table 7.6: 9 of 9 rows add up to 689.81; requests 041b3a1e",
      "003 table 7.7: 9 of 9 rows add up to 400.49; requests 93c41597",
      "003 table 7.8: 9 of 9 rows add up to 610.67; requests c7baf402",
      "003 figure 7.10: 0 of 4 rows add up to 0.00; requests c7961986",
      "003 figure 7.11: 3 of 3 rows add up to 256.90; requests 4a703657",
      "003 figure 7.12: 0 of 12 rows add up to 0.00; requests 0642b272",
      "004 figure 6: 1 of 18 rows add up to 42.00; requests be772359",
      "004 figure 7: 0 of 1 rows add up to 0.00; requests 68db5a6f",
      "004 section 3.3: 9 of 105 rows add up to 16.44; requests b7e75d2d",
    ]);
  });
});

describe("kernels before their optimisations", () => {
  const times = (form: string, multiprocessors: number, medianMs: number, paths = 4) => ({
    kind: "measured" as const,
    what: form,
    matcher: "sgm",
    paths,
    multiprocessors,
    medianMs,
  });
  const head = { machine: "m", commit: "c", date: "d", toolchain: "t" };
  const rows = [times("a", 8, 9), times("a", 132, 2), times("a", 132, 1, 2), times("b", 132, 1)];
  const withKernels = new Lab({ data: undefined, backend: "cpu", frames: 1, kernels: { ...head, rows } });

  test("the whole GPU counts unless a row names a part of it", () => {
    expect(withKernels.kernelMs("a", { paths: 4 })).toBe(2);
    expect(withKernels.kernelMs("a", { paths: 4, multiprocessors: 8 })).toBe(9);
    expect(() => withKernels.kernelMs("b", { paths: 8 })).toThrow(/expected --kernels to hold "b"/);
    expect(() => lab.kernelMs("a", {})).toThrow(/expected --kernels .*check\.sh --baselines/);
  });

  test("every form that a paper's row asks for is one that the GPU check times", async () => {
    const forms = ["sgm_baseline.cu", "exponential_baseline.cu", "pyramid_baseline.cu"].map((name) =>
      readFileSync(`cuda/check/baselines/${name}`, "utf8"),
    );
    const source = [...forms, readFileSync("cuda/check/bench_baselines.cu", "utf8")].join();
    const asked = new Set<string>();
    const asking = Object.assign(new Lab({ data: undefined, backend: "cpu", frames: 1 }), {
      kernelMs: (form: string) => asked.add(form).size,
    });
    const ofKernels = PAPERS.flatMap(({ exhibits }) => exhibits).filter(
      ({ kind, number }) => kind === "section" || ["II", "12", "7.4", "7.10", "7.12"].includes(number),
    );
    await reproduce(
      ofKernels.map((one) => ({
        ...one,
        rows: one.rows.filter(({ name }) => !/Adirondack|Pipes|Vintage|ESMP/.test(name)),
      })),
      asking,
    );
    expect(asked.size).toBeGreaterThan(15);
    for (const form of asked) expect(source).toContain(`"${form.replace(/, \dx\d$/, "")}`);
  });
});

describe("the program", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-reproduce-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const size = { width: 32, height: 24 };

  test("a broken scene and a missing one are gaps, the rest is printed, exit 6", async () => {
    const set = join(folder, "midd_v2");
    mkdirSync(set);
    const noise = Uint8Array.from({ length: 32 * 24 }, (_, i) => (i * 7919) % 251);
    const files = {
      "image.png": await encodePng({ data: noise, ...size }),
      "truth.png": await encodePng({ data: new Uint8Array(32 * 24).fill(1), ...size }),
      "mask.png": await encodePng({ data: new Uint8Array(32 * 24).fill(255), ...size }),
      "cut.png": (await encodePng({ data: noise, ...size })).subarray(0, 60),
    };
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(set, name), bytes);
    const scene = (name: string, left: string) => ({
      name,
      left,
      right: "image.png",
      groundTruth: { path: "truth.png", scale: 16, invalid: 0 },
      masks: { nonocc: "mask.png" },
      numDisparities: 16,
    });
    const scenes = [scene("tsukuba", "image.png"), scene("venus", "cut.png")];
    writeFileSync(join(set, "dataset.json"), JSON.stringify({ scenes }));
    const words = ["reproduce", "003", "--table", "7.2", "--data", folder, "--backend", "cpu"];
    const ran = await runProgram([...words, "--json"]);
    expect(ran.code, ran.stderr).toBe(6);
    const { backend, gaps, exhibits } = JSON.parse(ran.stdout);
    expect([backend, gaps]).toEqual(["cpu", 9]);
    const byScene = (name: string) =>
      exhibits[0].rows.filter((one: { name: string }) => one.name.endsWith(name));
    for (const { ours, printed, difference } of byScene("tsukuba")) {
      expect(ours).toBe(0);
      expect(difference).toBeCloseTo(-printed, 9);
    }
    for (const { ours } of byScene("venus")) expect(ours.reason).toMatch(/^SOURCE_UNREADABLE: .*cut\.png/);
    for (const { ours } of byScene("teddy")) expect(ours.reason).toMatch(/expected a scene teddy/);
    const text = await runInProcess(words);
    expect(text.code).toBe(6);
    expect(text.stdout).toMatch(/^3x3, tsukuba +22.50 +0.00 +-22.50 +%$/m);
    expect(text.stdout).toMatch(/^gap in 3 rows: SOURCE_UNREADABLE/m);
  }, 30_000);

  test.each([
    [["002", "--table", "IX"], /expected --table to be one of II, III, IV, V, got "IX"/],
    [["002", "--table", "II", "--figure", "3"], /expected --table or --figure, got both/],
    [["007"], /Allowed choices are 000, 001, 002, 003, 004/],
    [["002", "--backend", "gpu"], /backend/],
    [["004", "--kernels", "none.json"], /expected --kernels to be a file that can be read/],
  ])("%j is refused", async (words, message) => {
    const ran = await runInProcess(["reproduce", ...words]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toMatch(message);
  });
});
