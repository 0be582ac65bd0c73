// SPDX-License-Identifier: Apache-2.0
// From two raw images to depth and its encoded body, the same hashes on every instruction set. cuda-engine.test.ts asks the CUDA
// backend for them on the CPU, test/gpu/engine.mjs on a GPU.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createEngine } from "../../cuda/index.js";
import { variants } from "../doubles/stages.js";
import { computeHash, engineCases } from "./engine-cases.mjs";

const file = new URL("engine.json", import.meta.url);
const expected = JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;

test("every case has its hash and every hash its case", () => {
  expect(Object.keys(engineCases)).toEqual(Object.keys(expected));
  expect(new Set(Object.values(expected)).size).toBe(Object.keys(expected).length);
});

describe.each(variants)("golden hashes of whole engines, %s", (instructionSet) => {
  test.each(Object.entries(engineCases))("%s", async (name, engineCase) => {
    expect(await computeHash(createEngine, engineCase, { backend: "cpu", instructionSet })).toBe(
      expected[name],
    );
  });
});
