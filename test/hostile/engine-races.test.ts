// SPDX-License-Identifier: Apache-2.0
// Engines, their workers, the watch over their pairs and the threads of frames that the binding drives, under ThreadSanitizer, then under
// AddressSanitizer and UBSan: every matcher, two frames at once, and devices that fail.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { packageRoot } from "../../core/index.js";
import { nativeSources } from "../../scripts/native-sources.mjs";
import { buildProgram } from "../doubles/incremental-build.js";
import { needs } from "../doubles/needs.js";

const root = packageRoot();
const execute = promisify(execFile);

/** The engine's own sources: nothing of Node, of one instruction set, or of the plugin, which the program is in for. */
const SOURCES = nativeSources(root)
  .filter((path) => /^(core|cuda)\//.test(path))
  .filter((path) => !/napi|binding|isa_(avx|neon)|\.ref\.cc$|plugin\.cc$/.test(path))
  .concat("test/native/engine_races_main.cc");
/** Vector code takes minutes to compile for a sanitizer, and its threads are those of the scalar code. */
const FLAGS = ["-DDEPTHWATT_SCALAR_ONLY", "-std=c++17", "-O1", "-g1", "-ffp-contract=off", `-I${root}`];

/** The scalar code of all stages takes far longer to compile than any other file: it is the first, so that no CPU idles at the end. */
const SCALAR_CODE = "cuda/simd/isa_scalar.cc";
const ORDERED = [SCALAR_CODE, ...SOURCES.filter((source) => source !== SCALAR_CODE)];

/** Builds what has changed. @returns the program */
async function built(name: string, sanitizers: string): Promise<string> {
  const program = join(root, "build/engine-races", name, "engine-races");
  const sanitize = [`-fsanitize=${sanitizers}`, "-fno-sanitize-recover=all"];
  const flagsOf = (source: string) => {
    // Optimised, UBSan's checks of it take two minutes to compile and save ten seconds.
    const level = source.endsWith(SCALAR_CODE) && name === "address" ? ["-O0"] : [];
    return [...FLAGS, ...level, ...sanitize];
  };
  const paths = ORDERED.map((source) => join(root, source));
  await buildProgram(program, paths, flagsOf, { linkFlags: [...sanitize, "-pthread"] });
  return program;
}

needs("toolchain").suite("engines under sanitizers", () => {
  test.each([
    ["thread", "thread"],
    ["address and undefined behaviour", "address,undefined"],
  ])(
    "%s: no race is found, and the frame that failed is not the one computed now",
    async (name, sanitizers) => {
      const program = await built(name.split(" ")[0]!, sanitizers);
      const { stdout, stderr } = await execute(program, [], { timeout: 900_000 });
      expect(stderr).toBe("");
      const [frames, engines, asked, answered, lost, devices, ...sessions] = (stdout.match(/\d+/g) ?? []).map(
        Number,
      );
      // Six matchers with eight frames and four engines each.
      expect([frames, engines]).toEqual([48, 24]);
      expect(asked).toBeGreaterThan(6);
      // Six engines with two devices and fourteen frames each; a device that is lost takes at least one frame with it.
      expect(devices).toBe(12);
      expect(answered! + lost!).toBe(84);
      expect(lost).toBeGreaterThanOrEqual(12);
      // Twelve sessions with ten frames each, all of which come back: computed, lost with a device, or waiting at the end.
      const [done, lostWithDevice, closed] = sessions;
      expect(done! + lostWithDevice! + closed!).toBe(120);
      // Six of them on the CPU, where at most the frames of three slots wait at the end.
      expect(done).toBeGreaterThanOrEqual(42);
      console.log(`engines (${name}): ${stdout.trim().replace("\n", "; ")}`);
    },
    1_200_000,
  );
});
