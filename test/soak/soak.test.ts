// SPDX-License-Identifier: Apache-2.0
// Runs ninety seconds of the soak (test/soak/soak.mjs): every output, consumers good and bad, live settings, faults
// from a printed seed. It checks exact counts and memory that is not returned, never speed. DEPTHWATT_SEED repeats a
// failure.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { needs } from "../doubles/needs.js";

const out = mkdtempSync(join(tmpdir(), "depthwatt-soak-report-"));
afterAll(() => rmSync(out, { recursive: true, force: true }));

interface Report {
  wrong: string[];
  accounts: { of: string; done: number; exact: boolean }[];
  faults: Record<string, { times: number }>;
}

needs("mosquitto").suite("soak", () => {
  test("90 seconds: every frame is accounted for, none is damaged, nothing grows", {
    timeout: 300_000,
  }, async () => {
    const seed = process.env.DEPTHWATT_SEED ?? String(Date.now() % 1_000_000_007);
    const words = [
      "test/soak/soak.mjs",
      "--minutes",
      "1.5",
      "--fault-seconds",
      "5",
      "--seed",
      seed,
      "--out",
      out,
    ];
    const child = spawn(process.execPath, words);
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
    });
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect(code, `seed ${seed}: ${stderr.slice(-4000)}`).toBe(0);
    const report = JSON.parse(stdout) as Report;
    expect(report.wrong).toEqual([]);
    expect(report.accounts.length).toBe(13);
    for (const { of, done } of report.accounts) expect(done, of).toBeGreaterThan(0);
    expect(Object.keys(report.faults).length).toBeGreaterThan(3);
    const written = readdirSync(out);
    for (const end of [".json", "-memory.svg", "-handles.svg", "-latency.svg"])
      expect(
        written.some((name) => name.endsWith(`soak${end}`)),
        end,
      ).toBe(true);
    for (const name of written) expect(existsSync(join(out, name))).toBe(true);
  });
});
