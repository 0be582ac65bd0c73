// SPDX-License-Identifier: Apache-2.0
// Engines, their workers, the watch over their pairs and the threads of frames that the binding drives, under ThreadSanitizer, then under
// AddressSanitizer and UBSan: every matcher, two frames at once, and devices that fail.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { packageRoot } from "../../core/index.js";
import { nativeSources } from "../../scripts/native-sources.mjs";
import { needs } from "../doubles/needs.js";

const root = packageRoot();
const execute = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "depthwatt-engine-races-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The engine's own sources: nothing of Node, of one instruction set, or of the plugin, which the program is in for. */
const SOURCES = nativeSources(root)
  .filter((path) => /^(core|cuda)\//.test(path))
  .filter((path) => !/napi|binding|isa_(avx|neon)|\.ref\.cc$|plugin\.cc$/.test(path))
  .concat("test/native/engine_races_main.cc");
/** Vector code takes minutes to compile for a sanitizer, and its threads are those of the scalar code. */
const FLAGS = ["-DDEPTHWATT_SCALAR_ONLY", "-std=c++17", "-O1", "-g1", "-ffp-contract=off", "-I."];

/** The scalar code of all stages takes far longer to compile than any other file. */
const SCALAR_CODE = "cuda/simd/isa_scalar.cc";

/** As many compilers at a time as there are CPUs. @returns the program */
async function built(name: string, sanitize: readonly string[]): Promise<string> {
  // First, so that no CPU idles at the end.
  const ordered = [SCALAR_CODE, ...SOURCES.filter((source) => source !== SCALAR_CODE)];
  // Optimised, UBSan's checks of it take two minutes to compile and save ten seconds.
  const level = (source: string) => (source === SCALAR_CODE && name === "address" ? ["-O0"] : []);
  const waiting = ordered.map((source) => ({
    source,
    object: join(folder, `${name}_${source.replaceAll("/", "_")}.o`),
  }));
  const objects = waiting.map(({ object }) => object);
  const work = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift())
      await execute(
        "g++",
        [...FLAGS, ...level(one.source), ...sanitize, "-c", one.source, "-o", one.object],
        { cwd: root },
      );
  };
  await Promise.all(cpus().map(work));
  const program = join(folder, name);
  await execute("g++", [...sanitize, ...objects, "-o", program, "-pthread", "-ldl"]);
  return program;
}

needs("toolchain").suite("engines under sanitizers", () => {
  test.each([
    ["thread", ["-fsanitize=thread"]],
    ["address and undefined behaviour", ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]],
  ])(
    "%s: no race is found, and the frame that failed is not the one computed now",
    async (name, sanitize) => {
      const program = await built(name.split(" ")[0]!, sanitize);
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
