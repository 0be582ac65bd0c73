// SPDX-License-Identifier: Apache-2.0
// Measures the garbage of a frame on JavaScript's heap, in a process whose young generation is never collected.
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { fakeVideoModule } from "./fake-video/fake-video.js";

/** V8 optimises at once, on the thread that runs: a busy machine has the same garbage as an idle one. */
const FLAGS = [
  "--expose-gc",
  "--max-semi-space-size=256",
  "--min-semi-space-size=256",
  "--no-concurrent-recompilation",
];

describe("garbage of a frame", () => {
  // Measured: 77 to 201, 587 to 642 and 1186 to 1198 bytes, of which Node itself makes 50 to call a function, and V8 200 to
  // await. A busy machine awaits more often, which costs up to twice as much. V8 keeps the code that it compiles: ten times
  // as many frames leave no more.
  test.each([
    ["function", 700],
    ["loop", 2000],
    ["pair", 4000],
  ])("read by a %s: less than %i bytes, and nothing stays", { timeout: 120_000 }, (how, maxBytes) => {
    const reader = new URL("garbage-reader.mjs", import.meta.url).pathname;
    const printed = execFileSync(process.execPath, [...FLAGS, reader, fakeVideoModule(), how], {
      encoding: "utf8",
    });
    const { bytesPerFrame, bytesKept } = JSON.parse(printed);
    expect(bytesPerFrame, printed).toBeLessThan(maxBytes);
    expect(bytesKept, printed).toBeLessThan(2000 * 400);
  });
});
