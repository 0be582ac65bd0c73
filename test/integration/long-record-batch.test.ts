// SPDX-License-Identifier: Apache-2.0
// Every scene of the research data: a batch gives what match gives, byte for byte.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { listArchive } from "../../edge/commands/batch/archive.js";
import { needsData } from "../doubles/needs.js";
import { lastJson, runProgram } from "../doubles/program.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-batch-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

needsData("midd_v2/dataset.json").suite("the shared scenes", (file) => {
  test("each result is that of match, byte for byte", { timeout: 600_000 }, async () => {
    const data = join(file, "../..");
    const { pairs } = await listArchive(data);
    expect(pairs.length).toBeGreaterThanOrEqual(14);
    const words = ["--num-disparities", "64", "--set", "board=none"];
    const ran = await runProgram(["batch", data, join(folder, "maps"), "--json", ...words]);
    expect(ran.code, ran.stderr).toBe(0);
    expect(lastJson(ran)).toMatchObject({ pairs: pairs.length, written: pairs.length, kept: 0, skipped: {} });
    for (const { name, left, right } of pairs) {
      const out = join(folder, "one.pfm");
      expect(
        (await runProgram(["match", join(data, left), join(data, right), "-o", out, ...words])).code,
      ).toBe(0);
      expect(readFileSync(join(folder, "maps", `${name}.pfm`)).equals(readFileSync(out)), name).toBe(true);
    }
  });
});
