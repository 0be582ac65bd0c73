// SPDX-License-Identifier: Apache-2.0
// Lists the addon's C++ sources for binding.gyp: every .cc file of the native folders. Writes the files in build/generated, which
// include the vector code and the test bindings of every stage. So a new stage needs no line in these lists.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";

const NATIVE_FOLDERS = ["core", "cuda", "camera", "power"];

/** Folders of other programs: the CUDA plugin, the v4l2-camera package and stand-alone test programs. */
const ELSEWHERE = [join("cuda", "gpu"), join("cuda", "check"), join("camera", "v4l2")];
const isElsewhere = (path) =>
  ELSEWHERE.some((folder) => path.startsWith(folder)) || path.endsWith("_main.cc");

/** Everything that includes napi.h, compiled as one file. */
const TOGETHER = "addon.cc";

/** Returns the sources that another source includes. */
function includedBy(root, path) {
  const text = readFileSync(join(root, path), "utf8");
  return [...text.matchAll(/^#include "(.+\.cc)"$/gm)].map((match) => join(path, "..", match[1]));
}

/** Lists the files below a native folder whose names have this ending, as paths from the root. */
function filesBelow(root, folder, ending) {
  return readdirSync(join(root, folder), { recursive: true })
    .map((name) => join(folder, name))
    .filter((path) => path.endsWith(ending) && !path.includes("node_modules"))
    .sort();
}

/** Returns the engine's C++ sources, after writing the headers that they include from build/generated. */
export function nativeSources(root = ".") {
  writeGeneratedHeaders(root);
  const included = new Set(includedBy(root, TOGETHER));
  const found = NATIVE_FOLDERS.flatMap((folder) =>
    filesBelow(root, folder, ".cc").filter((path) => !isElsewhere(path) && !included.has(path)),
  );
  return [TOGETHER, ...found];
}

/** A source that holds the vector code of all stages for one instruction set. */
const ALL_VECTOR_CODE = /^cuda\/simd\/(isa_\w+)\.cc$/;

/**
 * Returns what the addon's build compiles: the sources, but the vector code in a unit per group of stages. A change of one stage
 * compiles its group again, which takes 3 seconds instead of 30.
 */
export function addonUnits(root = ".") {
  const sources = nativeSources(root);
  const groups = [...groupVectorCode(vectorCode(root)).keys()];
  const units = sources.flatMap((path) => {
    const isa = ALL_VECTOR_CODE.exec(path)?.[1];
    return isa === undefined ? [path] : groups.map((group) => `build/generated/${isa}_${group}.cc`);
  });
  // The slowest files first, so that no CPU idles at the end of a build.
  const isLong = (path) => path.endsWith("_sgm.cc") || path === TOGETHER;
  return [...units.filter(isLong), ...units.filter((path) => !isLong(path))];
}

/** The last line of a stage's vector code, x.inl.h (cuda/simd/kernels.h). */
const VECTOR_CODE = /^DEPTHWATT_VECTOR_CODE\(/m;

/** Lists the files with the vector code of a stage. */
const vectorCode = (root) =>
  filesBelow(root, "cuda", ".inl.h").filter((path) =>
    VECTOR_CODE.test(readFileSync(join(root, path), "utf8")),
  );

/**
 * Groups vector code by the folder below cuda/. Both searches of sgm take most of a build and are separate groups; each further
 * group costs a build the time to read the compiler's headers, a second per instruction set.
 */
function groupVectorCode(code) {
  const groups = new Map();
  for (const path of code) {
    const group = path.startsWith("cuda/match/sgm/") ? posix.basename(path, ".inl.h") : path.split("/")[1];
    groups.set(group, [...(groups.get(group) ?? []), path]);
  }
  return groups;
}

/** Returns what a file includes as it appears in an #include: "<cstring>", or a path from the root. Follows x.inl.h files. */
function listHeaders(root, path) {
  const text = readFileSync(join(root, path), "utf8");
  return [...text.matchAll(/^#include (?:(<.+>)|"(.+)")$/gm)].flatMap(([, system, written]) => {
    if (system !== undefined) return [system];
    const target = posix.join(posix.dirname(path), written);
    return target.endsWith(".inl.h") ? listHeaders(root, target) : [target];
  });
}

/** Returns the function that x_y.node.inl.h defines: addXY. */
function adderName(path) {
  const words = posix.basename(path, ".node.inl.h").split("_");
  return `add${words.map((word) => word[0].toUpperCase() + word.slice(1)).join("")}`;
}

/**
 * Writes files to build/generated. Rewrites a file only if its content changes, so that nothing is compiled without need.
 * - vector_code.inl.h includes the vector code of every stage, GROUP.inl.h that of a group.
 * - vector_code.h and GROUP.h include the headers of that code: isa_*.cc includes them before it chooses an instruction set.
 * - isa_SET_GROUP.cc is the unit of a group and an instruction set.
 * - stage_bindings.inl.h includes every x.node.inl.h and calls its addX.
 * @param root folder of the sources
 */
export function writeGeneratedHeaders(root = ".") {
  const folder = join(root, "build/generated");
  const code = vectorCode(root);
  const bindings = filesBelow(root, "cuda", ".node.inl.h");
  const include = (path) => `#include ${path.startsWith("<") ? path : `"../../${path}"`}`;
  const codeLists = (name, paths) => {
    const headers = [...new Set(paths.flatMap((path) => listHeaders(root, path)))].sort();
    return {
      [`${name}.h`]: ["#pragma once", ...headers.map(include)],
      [`${name}.inl.h`]: paths.map(include),
    };
  };
  const groups = groupVectorCode(code);
  const sets = readdirSync(join(root, "cuda/simd")).flatMap(
    (name) => ALL_VECTOR_CODE.exec(`cuda/simd/${name}`)?.[1] ?? [],
  );
  const units = [...groups.keys()].flatMap((group) =>
    sets.map((isa) => [
      `${isa}_${group}.cc`,
      [
        `#define DEPTHWATT_CODE "../../build/generated/${group}.inl.h"`,
        `#define DEPTHWATT_CODE_HEADERS "../../build/generated/${group}.h"`,
        `#include "../../cuda/simd/${isa}.cc"`,
      ],
    ]),
  );
  const lists = {
    ...codeLists("vector_code", code),
    ...Object.assign({}, ...[...groups].map(([group, paths]) => codeLists(group, paths))),
    ...Object.fromEntries(units),
    "stage_bindings.inl.h": [
      ...bindings.map(include),
      "namespace depthwatt {",
      "inline void addStageBindings(Napi::Env env, Napi::Object stages) {",
      ...bindings.map((path) => `  ${adderName(path)}(env, stages);`),
      "}",
      "}  // namespace depthwatt",
    ],
  };
  mkdirSync(folder, { recursive: true });
  for (const [name, lines] of Object.entries(lists)) {
    const path = join(folder, name);
    const text = `// Generated by scripts/native-sources.mjs.\n${lines.join("\n")}\n`;
    if (readContent(path) !== text) writeFileSync(path, text);
  }
}

function readContent(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

if (import.meta.url === `file://${process.argv[1]}`) console.log(addonUnits().join("\n"));
