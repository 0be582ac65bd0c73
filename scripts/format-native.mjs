// SPDX-License-Identifier: Apache-2.0
// Lays out C++ and CUDA as .clang-format says: `node scripts/format-native.mjs` writes, `npm run check` compares. The
// formatter is a package of a fixed version: those of distributions differ from one another.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { filesIn, NATIVE_ENDINGS, readText, SOURCE_FOLDERS } from "./checks/tree.mjs";

const FOLDERS = [...SOURCE_FOLDERS, "bench", "scripts", "test"];

export function formattedSources(root) {
  return ["addon.cc", ...filesIn(root, FOLDERS, NATIVE_ENDINGS)];
}

/** The files whose layout is another, each with the text that it should have. */
export async function unformatted(root) {
  const { format } = await import("@wasm-fmt/clang-format");
  const style = readText(root, ".clang-format");
  return formattedSources(root).flatMap((path) => {
    const text = readText(root, path);
    // It knows CUDA by its grammar, not by the file's ending.
    const wanted = format(text, path.replace(/\.cuh?$/, ".cc"), style);
    return wanted === text ? [] : [{ path, wanted }];
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = join(import.meta.dirname, "..");
  const changes = await unformatted(root);
  for (const { path, wanted } of changes) writeFileSync(join(root, path), wanted);
  console.log(`${changes.length} of ${formattedSources(root).length} files of C++ and CUDA changed`);
}
