// SPDX-License-Identifier: Apache-2.0
// Builds programs of the engine's sources for 64-bit ARM, which run under emulation. Programs share their objects: the vector code
// of all stages takes half a minute to compile.
import { join } from "node:path";
import { writeGeneratedHeaders } from "../../scripts/native-sources.mjs";
import { buildProgram } from "./incremental-build.js";

const root = new URL("../../", import.meta.url).pathname;
const KEPT = join(root, "build/arm64");
const FLAGS = [
  ...["-std=c++17", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"],
  `-I${root}`,
];

/**
 * Builds a program that needs no library of the emulated machine.
 * @param name of its folder and its file in build/arm64
 * @param sources paths from the root
 * @returns the program's path
 * @throws Error with the compiler's messages; a warning is an error
 */
export async function buildArm64Program(name: string, sources: readonly string[]): Promise<string> {
  writeGeneratedHeaders(root);
  const program = join(KEPT, name, name);
  await buildProgram(
    program,
    sources.map((path) => join(root, path)),
    FLAGS,
    {
      compiler: "aarch64-linux-gnu-g++",
      linkFlags: ["-pthread", "-static"],
      shared: join(KEPT, "objects"),
    },
  );
  return program;
}
