// SPDX-License-Identifier: Apache-2.0
// Reads board configs: a file may build on another by "extends", and says only what differs.
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { DepthwattError, MAX_TEXT_BYTES, readRegularFile, yaml } from "../../core/index.js";
import { type BoardFile, boardFileSchema } from "./schema.js";

/** Shipped board configs, at the same place in the source tree and in dist. */
export const SHIPPED_BOARDS = fileURLToPath(new URL("../../board-configs/", import.meta.url));

type Tree = Record<string, unknown>;

const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A fact is replaced whole, so that a new value never keeps an old source. */
const isWhole = (value: Tree): boolean => "value" in value || "unknown" in value;

function merge(base: Tree, over: Tree): Tree {
  const result = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = result[key];
    result[key] =
      isTree(value) && isTree(below) && !isWhole(value) && !isWhole(below) ? merge(below, value) : value;
  }
  return result;
}

/** JSON is YAML; a user's own board config may be either. All shipped ones are JSON, which is read in a hundredth of the time. */
function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return yaml().parse(text);
  }
}

function readTree(file: string): Tree {
  let text: string;
  try {
    text = readRegularFile(file, MAX_TEXT_BYTES).toString();
  } catch (cause) {
    const found = (cause as Error).message;
    throw new DepthwattError("CONFIG_UNREADABLE", `the board config ${file} cannot be read: ${found}`, {
      cause,
    });
  }
  try {
    const tree: unknown = parseText(text);
    if (isTree(tree)) return tree;
  } catch (cause) {
    const [found] = (cause as Error).message.split("\n");
    throw new DepthwattError(
      "CONFIG_UNREADABLE",
      `${file}: expected a board config in JSON or YAML, found: ${found}`,
      { cause },
    );
  }
  throw new DepthwattError(
    "CONFIG_INVALID",
    `${file}: expected a board config (keys and values), found a list, a text or nothing`,
    { hint: "board-configs/README.md says what a board config holds." },
  );
}

/** "orin-nx-16gb" among the shipped ones, "families/orin.json" or any path next to the file that names it. */
function baseFile(reference: string, from: string): string {
  const neighbour = resolve(dirname(from), reference);
  if (existsSync(neighbour)) return neighbour;
  return join(SHIPPED_BOARDS, reference.endsWith(".json") ? reference : `${reference}.json`);
}

function resolveTree(file: string, seen: readonly string[]): Tree {
  if (seen.includes(file)) {
    const chain = [...seen, file].join(" -> ");
    throw new DepthwattError("CONFIG_INVALID", `${file}: "extends" goes round in a circle: ${chain}`);
  }
  const { extends: base, $schema, ...tree } = readTree(file);
  if (base === undefined) return tree;
  if (typeof base !== "string") {
    throw new DepthwattError("CONFIG_INVALID", `${file}: expected a name or file for "extends"`);
  }
  return merge(resolveTree(baseFile(base, file), [...seen, file]), tree);
}

/**
 * A board config with everything it builds on.
 * @throws DepthwattError CONFIG_UNREADABLE, CONFIG_INVALID with file and key
 */
export function loadBoardFile(file: string): BoardFile {
  const parsed = boardFileSchema.safeParse(resolveTree(file, []));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const key = issue!.path.join(".") || "(whole file)";
  throw new DepthwattError("CONFIG_INVALID", `${file}: ${key}: ${issue!.message}`, {
    hint: "board-configs/README.md says what a board config holds.",
    context: { file, key },
  });
}

/** Names of the board configs in a folder, sorted. */
export function listBoards(folder = SHIPPED_BOARDS): string[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((file) => file.endsWith(".json"));
  return files.map((file) => file.slice(0, -".json".length)).sort();
}

let shipped: readonly BoardFile[] | undefined;

/** Returns the board configs of a folder. The shipped ones are read once in a process, and frozen. */
export function loadBoards(folder = SHIPPED_BOARDS): readonly BoardFile[] {
  if (folder === SHIPPED_BOARDS && shipped !== undefined) return shipped;
  const boards = listBoards(folder).map((name) => loadBoardFile(join(folder, `${name}.json`)));
  if (folder === SHIPPED_BOARDS) shipped = freezeDeep(boards);
  return boards;
}

function freezeDeep<T>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(freezeDeep);
  return value;
}
