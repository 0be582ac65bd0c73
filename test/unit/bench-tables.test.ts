// SPDX-License-Identifier: Apache-2.0
// The tables that `npm run bench` prints, and what a script says to a word that it does not know.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { tableLines } from "../../bench/shared/tables.mjs";

const SCRIPT = fileURLToPath(new URL("../../bench/run/speed.mjs", import.meta.url));
const said = (...words: string[]) => spawnSync(process.execPath, [SCRIPT, ...words], { encoding: "utf8" });

describe("the tables of npm run bench", () => {
  test("round, align to the right, and leave out columns that no row has", () => {
    const reason = "no power sensor";
    const rows = [
      { what: "depthwatt", paths: 4, medianMs: 12.198_585, joulesPerFrame: { available: false, reason } },
      { what: "depthwatt", paths: 8, medianMs: 9.4, joulesPerFrame: { available: false, reason } },
    ];
    expect(tableLines(rows)).toEqual(["paths  median ms", "    4      12.20", "    8       9.40"]);
  });

  test("have joules where they were measured", () => {
    expect(tableLines([{ joulesPerFrame: 0.123_45 }])).toEqual(["J a frame", "   0.1235"]);
  });
});

describe("the words of a script", () => {
  test("an unknown one is a line and a hint, without a stack", () => {
    const { status, stderr } = said("--foo");
    expect(status).toBe(2);
    expect(stderr).toMatch(/^error: .*--foo.*\nhint: .*--help.*\n$/);
  });

  test("--help says what the script does and takes", () => {
    const { status, stdout } = said("--help");
    expect(status).toBe(0);
    expect(stdout).toContain("npm run bench -- [--rounds N]");
    expect(stdout).not.toContain("SPDX");
  });
});
