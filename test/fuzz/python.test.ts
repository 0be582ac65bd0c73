// SPDX-License-Identifier: Apache-2.0
// The fuzz target of the Python reader, with its C helper and with numpy alone. FUZZ_SECONDS: for how long each. DEPTHWATT_SEED repeats a
// failure.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { reportFuzz } from "../doubles/fuzz-report.js";
import { needs, PYTHON } from "../doubles/needs.js";

const seconds = Number(process.env.FUZZ_SECONDS ?? 10);
const seed = Number(process.env.DEPTHWATT_SEED ?? Date.now() % 1_000_000_007);
const cache = mkdtempSync(join(tmpdir(), "depthwatt-fuzz-python-"));
afterAll(() => rmSync(cache, { recursive: true, force: true }));

needs("numpy").suite("frames in Python", () => {
  test.each(["c", "numpy"])(
    "RVL by %s: nothing but a FrameError, and both decoders agree",
    (decoder) => {
      const corpus = join(import.meta.dirname, "corpus/frame");
      const good = readdirSync(corpus).map((name) => join(corpus, name));
      const words = [join(import.meta.dirname, "fuzz_frames.py"), String(seconds / 2), String(seed), ...good];
      const env = {
        ...process.env,
        XDG_CACHE_HOME: cache,
        ...(decoder === "numpy" && { DEPTHWATT_RVL: "numpy" }),
      };
      const ran = spawnSync(PYTHON, words, { encoding: "utf8", env });
      expect(ran.status, `seed ${seed}: ${ran.stderr.slice(-4000)}`).toBe(0);
      const did = JSON.parse(ran.stdout) as {
        answered: number;
        refused: number;
        linesReached: string;
        decoder: string;
      };
      expect(did.decoder).toBe(decoder);
      expect(Math.min(did.answered, did.refused)).toBeGreaterThan(50);
      const coverage = `${did.linesReached} lines of the reader`;
      reportFuzz("frames in Python", { executions: did.answered + did.refused, ...did, coverage, seed });
    },
    60_000 + 3000 * seconds,
  );
});
