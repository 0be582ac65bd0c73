// SPDX-License-Identifier: Apache-2.0
// What is said of boards that nobody ran: the page follows from the committed results, the model says what it was not fitted on,
// and instructions are counted along the way that a loop takes.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { page, tested } from "../../scripts/predictions.mjs";
import { costOf, loopsOf, parseSass, slotsOf, turnOf } from "../../scripts/sass-loops.mjs";

describe("predictions of boards", () => {
  test("the page is what the result files give", () => {
    expect(
      readFileSync("docs/3-boards/predictions.md", "utf8"),
      "renew it by: node scripts/predictions.mjs",
    ).toBe(page());
  });
  test("the model says every kernel that it was not fitted on within 25 %", () => {
    const result = tested();
    expect(result.unseen.length).toBeGreaterThan(50);
    expect(result.unseen.filter((one) => Math.abs(one.error) > 0.25)).toEqual([]);
  });
  test("without rows beside a stream the page says that it is not to be relied on", () => {
    expect(tested().besideStream > 0 || page().includes("not to be relied on")).toBe(true);
  });
  test("times that are not the card's do not fit", () => {
    const times = JSON.parse(readFileSync("bench/results/h200/2026-11-22-80b690b-sgm-half2.json", "utf8"));
    for (const row of times.rows) if (row.multiprocessors === 16) row.medianMs *= 1.6;
    expect(tested(times).within).toBeLessThan(tested().within);
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
    expect(loopsOf(code)).toEqual([[1, 8]]);
  });
  test("of two ways the cheaper, unless something is looked for on the other", () => {
    const cost = (name: string) => slotsOf(name, 87);
    expect(turnOf(code, [1, 8], [], cost)).toEqual({ "SHFL.IDX": 1, BRA: 3, HADD2: 1, "STG.E.128": 1 });
    const other = turnOf(code, [1, 8], [/^HMNMX2/], cost);
    expect(other).toEqual({ "SHFL.IDX": 1, BRA: 2, HMNMX2: 1, IADD3: 1, "STG.E.128": 1 });
    expect(costOf(other, 87)).toEqual({ instructions: 6, slots: 4 + 2 + 2 + 2 + 16 });
  });
});
