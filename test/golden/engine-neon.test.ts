// SPDX-License-Identifier: Apache-2.0
// The golden hashes of whole engines in NEON, under emulation: every matcher, from two raw images to depth and its body.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ParameterValue } from "../../cuda/index.js";
import { nativeSources } from "../../scripts/native-sources.mjs";
import { buildArm64Program } from "../doubles/arm64-program.js";
import { needs } from "../doubles/needs.js";
import { type EngineCase, engineCases } from "./engine-cases.mjs";

const root = new URL("../../", import.meta.url).pathname;
const expected = JSON.parse(readFileSync(new URL("engine.json", import.meta.url), "utf8")) as Record<
  string,
  string
>;

/** The engine's own sources: nothing of Node, of other folders, or of x86. */
const SOURCES = nativeSources(root)
  .filter((path) => /^(core|cuda)\//.test(path) && !/napi|binding|isa_avx|\.ref\.cc$|notify/.test(path))
  .concat("test/native/engine_golden_main.cc");

const valueKind = (value: ParameterValue) =>
  typeof value === "number" ? "number" : typeof value === "string" ? "word" : "flag";
const reported = (value: ParameterValue) => (typeof value === "boolean" ? Number(value) : value);

/** The case as engine_golden_main.cc reads it; images and maps are separate files. */
function caseText(folder: string, name: string, index: number, { options, pair }: EngineCase): string {
  const file = (kind: string, data: Uint8Array | Int32Array) => {
    const path = join(folder, `${index}.${kind}`);
    writeFileSync(path, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    return path;
  };
  const { match, refine, region, geometry, verticalOffset, blackLevel, denoise } = options;
  const lines = [
    `case ${name}`,
    `size ${options.inputWidth} ${options.inputHeight} ${options.width} ${options.height}`,
    `formats ${options.leftFormat} ${options.rightFormat}`,
    `strides ${options.leftStrideBytes} ${options.rightStrideBytes}`,
    `images ${file("left", pair.left)} ${file("right", pair.right)}`,
    `matcher ${match.algorithm} ${Number(match.halfResolution)}`,
    `search ${match.minDisparity} ${match.numDisparities}`,
    ...Object.entries(match.parameters ?? {}).map(
      ([key, value]) => `parameter ${key} ${valueKind(value)} ${reported(value)}`,
    ),
    ...Object.entries(refine).map(
      ([name, value]) => `setting refine.${name} ${valueKind(value)} ${reported(value)}`,
    ),
  ];
  if (options.leftMap && options.rightMap)
    lines.push(`maps ${file("leftmap", options.leftMap)} ${file("rightmap", options.rightMap)}`);
  if (region) lines.push(`region ${region.x} ${region.y} ${region.width} ${region.height}`);
  if (geometry)
    lines.push(
      `geometry ${geometry.focalPixels} ${geometry.baselineMetres} ${geometry.disparityOffsetPixels}`,
    );
  if (verticalOffset === "auto") lines.push("watchesRows 1");
  else if (verticalOffset !== undefined) lines.push(`quarterRows ${4 * verticalOffset}`);
  if (blackLevel !== undefined) lines.push(`setting rectify.blackLevel number ${blackLevel}`);
  if (denoise !== undefined) lines.push(`denoise ${denoise}`);
  return `${lines.join("\n")}\nrun\n`;
}

needs("aarch64").suite("golden hashes of whole engines, under emulation", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-golden-"));
  let program: string;
  const cases = join(folder, "cases");
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  beforeAll(async () => {
    const all = Object.entries(engineCases);
    const texts = all.map(([name, one], i) => caseText(folder, name, i, one));
    writeFileSync(cases, texts.join(""));
    program = await buildArm64Program("engine_golden", SOURCES);
  }, 300_000);

  test.each(["neon", "scalar"])(
    "%s",
    (isa) => {
      const ran = spawnSync("qemu-aarch64-static", [program, isa, cases], {
        encoding: "utf8",
        timeout: 280_000,
      });
      expect(ran.stderr + (ran.error?.message ?? "")).toBe("");
      const got = ran.stdout
        .trimEnd()
        .split("\n")
        .map((line) => [line.slice(9), line.slice(0, 8)]);
      expect(Object.fromEntries(got)).toEqual(expected);
    },
    300_000,
  );
});
