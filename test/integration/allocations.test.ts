// SPDX-License-Identifier: Apache-2.0
// After open, a frame costs no heap allocation on any native thread: counted over 100 frames by a preloaded library.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { needs, needsOwnMalloc } from "../doubles/needs.js";

const FRAMES = 100;

const gate = needsOwnMalloc().met ? needs("toolchain") : needsOwnMalloc();
gate.suite("allocations", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-allocations-"));
  const library = join(folder, "count_allocations.so");
  execFileSync("gcc", ["-O1", "-shared", "-fPIC", "-o", library, "test/native/count_allocations.c", "-ldl"]);

  /** Runs frames in a fresh process: allocations seen when warm, and after 100 frames more. */
  function countedFrames(): { before: number; after: number } {
    const script = `
      import { readFileSync } from "node:fs";
      import { createEngine } from ${JSON.stringify(join(process.cwd(), "dist/cuda/index.js"))};
      const [width, height] = [320, 200];
      const options = {
        inputWidth: width, inputHeight: height, width, height, leftFormat: "YUYV", rightFormat: "YUYV",
        leftStrideBytes: 2 * width, rightStrideBytes: 2 * width,
        match: { algorithm: "sgm", halfResolution: false, minDisparity: 0, numDisparities: 64,
                 parameters: { paths: 8, p1: 10, p2: 60, adaptiveP2: 16, uniqueness: 5 } },
        refine: { leftRight: true, speckleSize: 50, speckleRange: 1, fill: "background", fillThreshold: 8, boundary: true, median: true },
        geometry: { focalPixels: 300, baselineMetres: 0.1, disparityOffsetPixels: 0 },
        encodeDepth: "rvl", encodeDisparity: "rvl", backend: "cpu", threads: 2, slots: 3,
      };
      const left = new Uint8Array(2 * width * height).map((_, i) => (i * 2654435761) >>> 24);
      const right = new Uint8Array(left.length);
      right.set(left.subarray(10));
      const count = () => Number(readFileSync(process.env.ALLOCATION_COUNT_FILE).readBigUInt64LE(0));
      const engine = createEngine(options);
      const frame = (slot) => new Promise((done, failed) =>
        engine.submit(slot, left, right, (error) => (error ? failed(error) : done())));
      for (let i = 0; i < 5; ++i) await frame(i % 3);
      const before = count();
      for (let i = 0; i < ${FRAMES}; ++i) await frame(i % 3);
      const after = count();
      engine.close();
      console.log(JSON.stringify({ before, after }));
    `;
    const output = counted("frames", process.execPath, ["--input-type=module", "-e", script]);
    return JSON.parse(output.trim().split("\n").at(-1) as string);
  }

  function counted(name: string, program: string, words: string[]): string {
    const counter = join(folder, `${name}.count`);
    const env = { ...process.env, LD_PRELOAD: library, ALLOCATION_COUNT_FILE: counter };
    return execFileSync(program, words, { env, encoding: "utf8" });
  }

  test("the counter sees what a native thread of ours allocates, and nothing else", () => {
    const source = join(folder, "seven.c");
    writeFileSync(
      source,
      `#include <stdlib.h>
       #include <sys/prctl.h>
       static void* volatile kept;
       int main(void) {
         for (int i = 0; i < 5; ++i) kept = malloc(10);
         prctl(PR_SET_NAME, "dw-test");
         for (int i = 0; i < 6; ++i) kept = malloc(10);
         kept = calloc(3, 4);
         prctl(PR_SET_NAME, "other");
         kept = malloc(10);
         return 0;
       }`,
    );
    const program = join(folder, "seven");
    execFileSync("gcc", ["-O0", "-o", program, source]);
    counted("seven", program, []);
    expect(Number(readFileSync(join(folder, "seven.count")).readBigUInt64LE(0))).toBe(7);
  });

  test("100 frames allocate nothing on native threads", () => {
    const { before, after } = countedFrames();
    expect(after - before).toBe(0);
  });
});
