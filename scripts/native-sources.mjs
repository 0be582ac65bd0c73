// SPDX-License-Identifier: Apache-2.0
// Prints the addon's C++ sources for binding.gyp: every .cc below the native folders, so that a new room needs no list.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const NATIVE_FOLDERS = ["core", "cuda", "camera", "power"];

/** Everything that belongs to another program: the CUDA plugin, the package of cameras and stand-alone test programs. */
const ELSEWHERE = [join("cuda", "gpu"), join("cuda", "check"), join("camera", "v4l2")];
const isElsewhere = (path) =>
  ELSEWHERE.some((folder) => path.startsWith(folder)) || path.endsWith("_main.cc");

/** What reads napi.h, in one file. */
const TOGETHER = "addon.cc";

/** The sources that another one includes. */
function includedBy(root, path) {
  const text = readFileSync(join(root, path), "utf8");
  return [...text.matchAll(/^#include "(.+\.cc)"$/gm)].map((match) => join(path, "..", match[1]));
}

export function nativeSources(root = ".") {
  const included = new Set(includedBy(root, TOGETHER));
  const found = NATIVE_FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .map((name) => join(folder, name))
      .filter(
        (path) =>
          path.endsWith(".cc") && !path.includes("node_modules") && !isElsewhere(path) && !included.has(path),
      )
      .sort(),
  );
  // What takes longest comes first, so that no CPU idles beside it at the end.
  const isLong = (path) => path.includes("isa_avx") || path === TOGETHER;
  const all = [TOGETHER, ...found];
  return [...all.filter(isLong), ...all.filter((path) => !isLong(path))];
}

if (import.meta.url === `file://${process.argv[1]}`) console.log(nativeSources().join("\n"));
