// SPDX-License-Identifier: Apache-2.0
// Memory that is freed between used blocks goes back to the system; by default the C library keeps it.
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { packageRoot } from "../../core/index.js";
import { needsOwnMalloc } from "../doubles/needs.js";

/** Megabytes that the system has back when every other one of 60 buffers of 2 MB is gone. */
function givenBack(asked: boolean): number {
  const program = `
    const { loadAddon } = await import("./dist/core/index.js");
    const { readFileSync } = await import("node:fs");
    if (${asked} && !loadAddon().giveMemoryBack()) throw new Error("refused");
    const resident = () => Number(/VmRSS:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) / 1000;
    const block = (bytes) => new Uint8Array(bytes).fill(1);
    const collect = async () => {
      // Buffers are freed by another thread.
      for (let i = 0; i < 10; i++) {
        gc();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    // A large block that is freed is what teaches the C library to keep them.
    for (let i = 0; i < 8; i++) block(16e6);
    await collect();
    const held = Array.from({ length: 60 }, () => block(2e6));
    const before = resident();
    for (let i = 0; i < held.length; i += 2) held[i] = undefined;
    await collect();
    console.log(before - resident());
  `;
  const words = ["--expose-gc", "--input-type=module", "--eval", program];
  return Number(execFileSync(process.execPath, words, { cwd: packageRoot(), encoding: "utf8" }));
}

needsOwnMalloc().suite("freed blocks between others", () => {
  test("are the system's again once the program has asked for it", () => {
    expect(givenBack(true)).toBeGreaterThan(40);
    // Were it so without the call, the call could go.
    expect(givenBack(false)).toBeLessThan(40);
  });
});
