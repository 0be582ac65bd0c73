// SPDX-License-Identifier: Apache-2.0
// The papers' tables: what they declare, how gaps are reported, and the program on a small data set with a broken scene.
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
    const text = await runProgram(words);
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
    const ran = await runProgram(["reproduce", ...words]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toMatch(message);
  });
});
