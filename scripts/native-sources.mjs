// SPDX-License-Identifier: Apache-2.0
// Prints the addon's C++ sources for binding.gyp: every .cc below the native folders, so that a new room needs no list.
import { readdirSync } from "node:fs";
import { join } from "node:path";

const NATIVE_FOLDERS = ["cuda", "camera", "power"];

/** Everything that belongs to another program: the CUDA plugin and stand-alone test programs. */
const isElsewhere = (path) => path.startsWith(join("cuda", "gpu")) || path.endsWith("_main.cc");

export function nativeSources(root = ".") {
  const found = NATIVE_FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .map((name) => join(folder, name))
      .filter((path) => path.endsWith(".cc") && !path.includes("node_modules") && !isElsewhere(path))
      .sort(),
  );
  // What takes longest comes first, so that no processor idles beside it at the end.
  const isLong = (path) => path.includes("isa_");
  return [...found.filter(isLong), ...found.filter((path) => !isLong(path))];
}

if (import.meta.url === `file://${process.argv[1]}`) console.log(nativeSources().join("\n"));
