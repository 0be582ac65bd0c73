// SPDX-License-Identifier: Apache-2.0
// Lays out C++ and CUDA as .clang-format says: `node scripts/format-native.mjs` writes, `npm run check` compares. The
// formatter is a package of a fixed version: those of distributions differ from one another.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { filesIn, NATIVE_ENDINGS, readText, SOURCE_FOLDERS } from "./checks/tree.mjs";

const FOLDERS = [...SOURCE_FOLDERS, "bench", "scripts", "test"];

export function formattedSources(root) {
  return ["addon.cc", ...filesIn(root, FOLDERS, NATIVE_ENDINGS)];
}

/** Hashes of texts that were found well laid out, with the style and the formatter's version; empty if there is no record. */
function readWellFormatted(file) {
  try {
    return new Set(readFileSync(file, "utf8").split("\n"));
  } catch {
    return new Set();
  }
}

/** The files whose layout is another, each with the text that it should have. Formatting takes 5 s, so good texts are remembered. */
export async function unformatted(root) {
  const { format } = await import("@wasm-fmt/clang-format");
  const { version } = JSON.parse(
    readText(import.meta.dirname, "../node_modules/@wasm-fmt/clang-format/package.json"),
  );
  const style = readText(root, ".clang-format");
  const record = join(root, "build/well-formatted");
  const known = readWellFormatted(record);
  const good = [];
  const found = formattedSources(root).flatMap((path) => {
    const text = readText(root, path);
    const hash = createHash("sha256").update([version, style, path, text].join("\0")).digest("hex");
    // It knows CUDA by its grammar, not by the file's ending.
    const wanted = known.has(hash) ? text : format(text, path.replace(/\.cuh?$/, ".cc"), style);
    if (wanted !== text) return [{ path, wanted }];
    good.push(hash);
    return [];
  });
  mkdirSync(join(root, "build"), { recursive: true });
  writeFileSync(record, good.join("\n"));
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = join(import.meta.dirname, "..");
  const changes = await unformatted(root);
  for (const { path, wanted } of changes) writeFileSync(join(root, path), wanted);
  console.log(`${changes.length} of ${formattedSources(root).length} files of C++ and CUDA changed`);
}
