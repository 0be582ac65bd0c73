// SPDX-License-Identifier: Apache-2.0
// The instruction sets that are taken on this CPU and where QEMU translates the program, whose AVX2 is not used.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadNative } from "../../edge/contracts/native.js";
import { needs } from "../doubles/needs.js";

const root = new URL("../../", import.meta.url).pathname;
const MAIN = `#include <cstdio>
#include "cuda/simd/instruction_set.h"
int main() {
  for (auto set : depthwatt::availableInstructionSets()) std::puts(depthwatt::instructionSetName(set));
}`;

needs("aarch64").suite("instruction sets", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-sets-"));
  const program = join(folder, "sets");
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const run = (command: string, words: string[] = [], input = "") => {
    const { stdout, stderr, status, error } = spawnSync(command, words, {
      cwd: root,
      encoding: "utf8",
      input,
    });
    expect({ stderr, status, error }).toEqual({ stderr: "", status: 0, error: undefined });
    return stdout.split("\n").filter((line) => line !== "");
  };

  beforeAll(() => {
    const sources = ["cuda/simd/instruction_set.cc", "-x", "c++", "-"];
    run("g++", ["-std=c++17", "-static", "-I.", ...sources, "-o", program], MAIN);
  });

  test("this CPU's, best first", () => {
    expect(run(program)).toEqual(loadNative().cpuFeatures().available);
  });

  test.runIf(process.arch === "x64")(
    "scalar alone under QEMU, which lists AVX2 and runs its gathers wrongly",
    () => {
      expect(run("qemu-x86_64-static", ["-cpu", "max", program])).toEqual(["scalar"]);
    },
  );
});
