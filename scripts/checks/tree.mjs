// SPDX-License-Identifier: Apache-2.0
// Shares between checks the files of a source tree, by folder and ending, and their text.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const NOT_SOURCE = new Set(["node_modules", "build", "dist", ".git", ".vm", ".cuda", "__pycache__", "out"]);

/** Paths relative to `root`, "/"-separated and sorted, of all files below `folder` ("" = everything). */
export function filesBelow(root, folder = "") {
  const start = join(root, folder);
  if (!existsSync(start)) return [];
  const found = [];
  for (const entry of readdirSync(start, { withFileTypes: true })) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory() && !NOT_SOURCE.has(entry.name)) found.push(...filesBelow(root, path));
    else if (entry.isFile()) found.push(path);
  }
  return found.sort();
}

export function filesIn(root, folders, endings) {
  return folders
    .flatMap((folder) => filesBelow(root, folder))
    .filter((path) => endings.some((ending) => path.endsWith(ending)));
}

export function readText(root, path) {
  return readFileSync(join(root, path), "utf8");
}

/** 1-based line number of a character. */
export function lineAt(text, index) {
  return text.slice(0, index).split("\n").length;
}

/** C++ or TypeScript without its comments; lines keep their numbers. String contents stay. */
export function withoutComments(text) {
  const pattern = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
  return text.replace(pattern, (piece) => (piece.startsWith("/") ? piece.replace(/[^\n]/g, " ") : piece));
}

export const SOURCE_FOLDERS = ["core", "edge", "camera", "cuda", "power", "clients"];
export const NATIVE_ENDINGS = [".h", ".cc", ".cu", ".cuh"];

/**
 * Returns a heading's anchor, as GitHub makes it.
 * @param {string} heading
 */
export const headingAnchor = (heading) =>
  heading
    .toLowerCase()
    .replace(/[`*]/g, "")
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
