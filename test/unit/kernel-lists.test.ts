// SPDX-License-Identifier: Apache-2.0
// The build script and the GPU check find the kernels by the same rule, each in its own language.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { KERNELS } from "../../scripts/build-cuda.mjs";

const script = readFileSync("cuda/check/check.sh", "utf8");

/** The shell's value of that variable of check.sh. */
function evaluateList(variable: string): string[] {
  const rule = new RegExp(`^${variable}=\\$\\(.+\\)$`, "m").exec(script)![0];
  const said = execFileSync("bash", ["-c", `${rule}; printf '%s\\n' $${variable}`], { encoding: "utf8" });
  return said.trim().split("\n").sort();
}

test("check.sh compiles the kernels of build-cuda.mjs, less the backend", () => {
  const kernels = evaluateList("kernels");
  expect(kernels.length).toBeGreaterThan(8);
  expect(kernels).toEqual(
    KERNELS.filter((path) => !path.startsWith("cuda/gpu/") && !path.endsWith(".stage.cu")),
  );
});

test("names of kernels and of references differ, for their objects share a folder", () => {
  const kernels = KERNELS.map((path) => basename(path));
  expect(new Set(kernels).size).toBe(kernels.length);
  const references = evaluateList("references").map((path) => basename(path));
  expect(references.length).toBeGreaterThan(8);
  expect(new Set(references).size).toBe(references.length);
});

test("every program that check.sh names is a file of cuda/check", () => {
  const programs = /^programs="([^"]+)"/m.exec(script)![1]!.split(" ");
  const there = readdirSync("cuda/check").filter((name) => name.endsWith(".cu"));
  for (const program of programs) expect(there).toContain(`${program}.cu`);
});
