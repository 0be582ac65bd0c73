// SPDX-License-Identifier: Apache-2.0
// Tests predictions for boards that were never run: the page and its verdict follow from the committed results, the
// model predicts held-out rows, and instructions are counted along the path of a loop.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { residentWarps } from "../../bench/model/cuda-table.mjs";
import { isFitted, modelJob } from "../../bench/model/gpu-fit.mjs";
import { frameMs, WALKS, walkMs } from "../../bench/model/gpu-model.mjs";
import { bothPredictions, load, page, predictions, tested } from "../../bench/model/predictions.mjs";
import { countCost, findIteration, findLoops, issueSlots, parseSass } from "../../bench/model/sass-loops.mjs";
import { firstTurn, lineTurn, tileTurn } from "../../bench/model/sass-turns.mjs";
import { levelsOf } from "../../bench/model/search-model.mjs";
import { PREDICTED_SPEED_PATH, predictedSpeedText } from "../../bench/model/search-predictions.mjs";

const results = () => structuredClone(load());
/** The same results, and what one partition took in the rows that `where` picks, times a factor. */
function slower(where: (row: { what: string; multiprocessors: number }) => boolean, factor: number) {
  const changed = results();
  for (const file of changed.times) for (const row of file.rows) if (where(row)) row.medianMs *= factor;
  return changed;
}

describe("predictions of boards", () => {
  test("the page is what the result files give that it names", () => {
    expect(
      readFileSync("docs/internals/predictions.md", "utf8"),
      "renew it by: node bench/model/predictions.mjs",
    ).toBe(page());
  });
  test("both searches of every board are printed as the model gives them, and it predicts times that it was not fitted on", () => {
    const both = bothPredictions();
    expect(readFileSync(PREDICTED_SPEED_PATH, "utf8")).toBe(predictedSpeedText(both));
    const known = predictions().boards.filter(({ machine }) => machine !== undefined);
    expect(both.rows.map(({ name }) => name)).toEqual(known.map((board) => board.name));
    expect(both.unseen).toBeGreaterThan(0);
    expect(both.worst).toBeLessThan(0.25);
  });
  test("coarse-to-fine search works on 32 cells of a pixel, and on 64 of the coarsest level's", () => {
    const cells = (numDisparities: number) =>
      levelsOf({ width: 640, height: 480, numDisparities }).reduce(
        (sum, level) => sum + (level.width * level.height * level.cells) / (640 * 480),
        0,
      );
    expect([64, 128, 256].map(cells)).toEqual([64, 32 + 64 / 4, 32 + 32 / 4 + 64 / 16]);
  });
  test("nothing that tests the model was seen by the fit", () => {
    const { unseen, fittedRows } = tested();
    expect(unseen.length).toBeGreaterThan(fittedRows);
    expect(unseen.filter((one) => isFitted(one.row))).toEqual([]);
    expect(unseen.some((one) => one.row.multiprocessors === 16 && one.row.streamGigabytesPerSecond > 0)).toBe(
      true,
    );
    expect(unseen.filter((one) => one.job.family === "frames").length).toBeGreaterThan(50);
  });
  test("the verdict follows from the rows: a partition that takes 1.6 times as long has not been predicted", () => {
    const before = tested();
    const after = tested(slower((row) => row.what.startsWith("kernel") && row.multiprocessors === 16, 1.6));
    expect(after.missed.length).toBeGreaterThan(before.missed.length + 50);
    expect(after.passed).toBe(false);
    expect(page(slower((row) => row.multiprocessors === 16 && row.what !== "copy", 1.6))).toContain(
      "**not passed**",
    );
    expect(page().includes("**passed**")).toBe(before.passed);
  });
  test("without rows next to a stream the test is not passed, also if all other rows pass", () => {
    const alone = results();
    for (const file of alone.times)
      file.rows = file.rows.filter((row) => !(row.streamGigabytesPerSecond > 0));
    expect(tested(alone).passed).toBe(false);
  });
  test("more memory, a higher clock or more multiprocessors never make a board slower", () => {
    const loaded = load();
    const { parameters } = tested(loaded);
    const machine = predictions(loaded).boards.find((one) => one.machine?.architecture === 87)!.machine!;
    const frame = { width: 640, height: 480, numDisparities: 128 };
    const base = frameMs(frame, machine, parameters);
    for (const better of [
      { copyGigabytesPerSecond: 1e3, memoryGigabytesPerSecond: 1e3 },
      { megahertz: 2 * machine.megahertz },
      {
        multiprocessors: 2 * machine.multiprocessors,
        copyGigabytesPerSecond: 2 * machine.copyGigabytesPerSecond,
      },
    ]) {
      expect(frameMs(frame, { ...machine, ...better }, parameters)).toBeLessThanOrEqual(base);
    }
    expect(frameMs({ ...frame, half: true }, machine, parameters)).toBeLessThan(base / 3);
  });
  test("where memory is all that counts, time is its bytes over its rate", () => {
    const machine = {
      multiprocessors: 8,
      megahertz: 1e6,
      copyGigabytesPerSecond: 1e6,
      memoryGigabytesPerSecond: 100,
      cacheBytes: 0,
      streaming: false,
      startMs: 0,
      counts: () => ({ boundSlotsPerCell: 1e-9, instructionsPerCell: 1e-9, residentWarps: 64 }),
    };
    const p = { issue: 1, memory: 1, cache: 1, chain: 0, exponent: 3, start: 0, latency: 0 };
    const job = { kernel: "columns", width: 1000, height: 100, numDisparities: 128, lanes: 8 };
    expect(walkMs(job, machine, p).total).toBeCloseTo((1000 * 100 * 128 * 6) / 100e6, 6);
  });
  test("a frame takes one kernel for costs and the first half of the rows where that is counted", () => {
    const count = { boundSlotsPerCell: 10, instructionsPerCell: 10, residentWarps: 24 };
    const loaded = load();
    const { parameters } = tested(loaded);
    const machine = predictions(loaded).boards.find((one) => one.machine?.architecture === 87)!.machine!;
    const without = { ...machine, counts: (shape: string) => (shape === "first" ? undefined : count) };
    const frame = { width: 640, height: 160, numDisparities: 128 }; // so few rows that 32 lanes walk each
    const time = (kernel: string) =>
      walkMs({ ...frame, kernel, lanes: 32 }, { ...machine, counts: () => count }, parameters.walks).total;
    expect(
      frameMs(frame, without as typeof machine, parameters) -
        frameMs(frame, { ...machine, counts: () => count }, parameters),
    ).toBeCloseTo(time("costs") + time("rows") - time("first"), 6);
  });
  test("the lanes that the model gives a line are those that sgm.cu chooses", () => {
    const source = readFileSync("cuda/match/sgm/sgm.cu", "utf8");
    const rule = /set == kRows \|\| padded > 128 \? (\d+) : parallel \? [\d.]+ : (\d+)/.exec(source);
    expect(rule?.slice(1).map(Number)).toEqual([WALKS.rows?.many, WALKS.columns?.many]);
  });
  test("a kernel that is timed once more with other lanes counts once", () => {
    const row = { what: "kernel selection", width: 640, height: 480, numDisparities: 128, lanes: 32 };
    expect(modelJob(row)?.family).toBe("walks");
    expect(modelJob({ ...row, lanes: 8 })).toBeUndefined();
    expect(modelJob({ ...row, what: "copy" })).toBeUndefined();
  });
});

describe("instructions of a loop", () => {
  const code = parseSass(`
		Function : walk
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/                   SHFL.IDX PT, R2, R1, 0x1, 0x1f ;
        /*0020*/              @!P0 BRA 0x50 ;
        /*0030*/                   HADD2 R3, R2, R2 ;
        /*0040*/                   BRA 0x70 ;
        /*0050*/                   HMNMX2 R3, R2, R4, PT ;
        /*0060*/                   IADD3 R3, R3, 0x1, RZ ;
        /*0070*/                   STG.E.128 [R4.64], R8 ;
        /*0080*/               @P1 BRA 0x10 ;
        /*0090*/                   EXIT ;
`).get("walk")!;
  test("the loop is what a branch back leads to", () => {
    expect(findLoops(code)).toEqual([[1, 8]]);
  });
  test("of two ways the cheaper, unless something is looked for on the other", () => {
    const cost = (name: string) => issueSlots(name, 87);
    expect(findIteration(code, [1, 8], [], cost)).toEqual({
      "SHFL.IDX": 1,
      BRA: 3,
      HADD2: 1,
      "STG.E.128": 1,
    });
    const other = findIteration(code, [1, 8], [/^HMNMX2/], cost);
    expect(other).toEqual({ "SHFL.IDX": 1, BRA: 2, HMNMX2: 1, IADD3: 1, "STG.E.128": 1 });
    expect(countCost(other, 87)).toEqual({
      instructions: 6,
      slots: 4 + 2 + 2 + 2 + 16,
      clocks: 20,
      binds: "load and store",
    });
  });
  test("pipes work next to each other: the fullest binds, and on Maxwell multiplications share the arithmetic", () => {
    expect(countCost({ IADD3: 10, IMAD: 8 }, 87)).toEqual({
      instructions: 18,
      slots: 36,
      clocks: 20,
      binds: "arithmetic",
    });
    expect(countCost({ IADD: 10, XMAD: 8, SHL: 1 }, 53)).toMatchObject({
      slots: 20,
      clocks: 20,
      binds: "arithmetic",
    });
    expect(countCost({ HADD2: 12, IADD3: 2 }, 90)).toMatchObject({ clocks: 14, binds: "schedulers" });
  });
  test("two warps to a walk: a tile of 32 pixels is walked and, in two halves, selected from", () => {
    const line = (address: number, text: string) =>
      `        /*${address.toString(16).padStart(4, "0")}*/                   ${text} ;\n`;
    const text = [
      "SHFL.BFLY PT, R1, R1, 0x1, 0x1f", // 0: the warp that selects
      ...Array.from({ length: 16 }, () => "SHFL.UP PT, R1, R1, 0x1, RZ"),
      "@P0 BRA 0x130", // 17: only one half of a tile is followed by a store
      "STG.E [R2], R1",
      "@P1 BRA 0x0", // 19
      "LDGSTS.E.128 [R3], [R4]", // 20: the warp that walks
      "SHFL.IDX PT, R1, R1, 0x1, 0x1f", // 21: one step a turn
      "SHFL.IDX PT, R1, R1, 0x1, 0x1f",
      "STS [R5], R1",
      "@P2 BRA 0x150",
      "@P3 BRA 0x140", // 25
      "EXIT",
    ];
    const select = parseSass(
      `\t\tFunction : select\n${text.map((one, i) => line(16 * i, one)).join("")}`,
    ).get("select")!;
    const { counts, cells } = tileTurn(select, 128, (name) => issueSlots(name, 87), 32);
    expect(cells).toBe(32 * 4);
    expect(counts).toMatchObject({
      "SHFL.IDX": 64,
      STS: 32,
      "SHFL.UP": 32,
      "SHFL.BFLY": 2,
      "STG.E": 1,
      "LDGSTS.E.128": 1,
    });
  });
  test("a warp that computes costs next to one that walks: as many cells of each", () => {
    const both = parseSass(`
		Function : first
        /*0000*/                   POPC R1, R2 ;
        /*0010*/                   POPC R1, R3 ;
        /*0020*/               @P0 BRA 0x0 ;
        /*0030*/                   SHFL.IDX PT, R2, R1, 0x1, 0x1f ;
        /*0040*/                   SHFL.IDX PT, R2, R1, 0x1, 0x1f ;
        /*0050*/                   STG.E [R4], R8 ;
        /*0060*/               @P1 BRA 0x30 ;
`).get("first")!;
    const cost = (name: string) => issueSlots(name, 87);
    expect(lineTurn(both, 128, cost, 32).cells).toBe(4);
    const { counts, cells } = firstTurn(both, 128, cost, 32);
    expect(cells).toBe(2);
    expect(counts).toEqual({ POPC: 2, BRA: 1.5, "SHFL.IDX": 1, "STG.E": 0.5 });
  });
  test("Maxwell's pairs, hints between instructions, and branches to what was announced", () => {
    const maxwell = parseSass(`
		Function : old
        /*0008*/                   SSY 0x40 ;
        /*0010*/         {         MOV R1, c[0x0][0x20] ;
        /*0018*/               @P0 SYNC         }
        /*0028*/                   IMNMX.U32 R3, R2, R4, PT ;
        /*0030*/                   SYNC ;
        /*0048*/                   STG.E [R4], R8 ;
        /*0050*/               @P1 BRA 0x0 ;
        /*0058*/                   EXIT ;
`).get("old")!;
    expect(maxwell.map((one) => one.name)).toContain("MOV");
    expect(findLoops(maxwell)).toEqual([[0, 6]]);
    expect(findIteration(maxwell, [0, 6], [], (name) => issueSlots(name, 53))).toEqual({
      SSY: 1,
      MOV: 1,
      SYNC: 1,
      "STG.E": 1,
      BRA: 1,
    });
  });
});

describe("resident warps", () => {
  test("registers, shared memory and blocks each can be what limits", () => {
    expect(residentWarps(87, { registers: 128, sharedBytes: 0, threads: 128, dynamic: 0 })).toBe(16);
    expect(residentWarps(87, { registers: 32, sharedBytes: 0, threads: 128, dynamic: 32768 })).toBe(16);
    expect(residentWarps(53, { registers: 16, sharedBytes: 0, threads: 32, dynamic: 0 })).toBe(32);
    expect(residentWarps(110, { registers: 16, sharedBytes: 0, threads: 32, dynamic: 0 })).toBeUndefined();
  });
});
