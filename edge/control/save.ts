// SPDX-License-Identifier: Apache-2.0
// Values into a configuration file, with everything else in it as it was: comments, order, blank lines.
import { readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { Document } from "yaml";
import { DepthwattError, yaml } from "../../core/index.js";
import { type Config, type SettingsChange, valueAt } from "../config/index.js";

export interface SavedSettings {
  file: string;
  /** Keys that a flag or a variable sets otherwise at the next start. */
  overridden: string[];
}

const unwritable = (file: string, why: string, cause?: unknown) =>
  new DepthwattError(
    "OUTPUT_UNWRITABLE",
    `the settings hold in the running program, but could not be saved to ${file}: ${why}`,
    { hint: "Write them into the file by hand, or fix what the message names and set them again.", cause },
  );

/** Returns the rest of a file as one text, to check that nothing else changed. */
function others(value: unknown, paths: readonly string[][]): string {
  // Not structuredClone: groups that an anchor shares would stay one, and be removed from together.
  const copy = JSON.parse(JSON.stringify(value ?? {})) as Record<string, unknown>;
  for (const path of paths) remove(copy, path);
  return JSON.stringify(copy);
}

function remove(node: Record<string, unknown>, [name, ...rest]: readonly string[]): void {
  if (name === undefined || !Object.hasOwn(node, name)) return;
  const child = node[name];
  if (rest.length > 0 && typeof child === "object" && child !== null) {
    remove(child as Record<string, unknown>, rest);
    if (Object.keys(child).length > 0) return;
  }
  // Groups that are empty, or were, say nothing.
  if (rest.length === 0 || child === null || typeof child === "object") delete node[name];
}

function assign(document: Document, path: readonly string[], value: unknown): void {
  for (let depth = 1; depth < path.length; depth++) {
    const group = path.slice(0, depth);
    const node = document.getIn(group, true);
    if (yaml().isAlias(node))
      throw new Error(`${group.join(".")} is an alias, which stands for other groups too`);
    // "match:" with nothing behind it.
    if (node !== undefined && !yaml().isMap(node)) document.deleteIn(group);
  }
  if (value === undefined || value === null) document.deleteIn(path);
  else document.setIn(path, value);
}

/**
 * The text of a configuration file with these values in it.
 * @param group the group that they are in, such as ["rigs", "front"]; default: the top level
 * @throws Error saying why that cannot be done
 */
export function withSettings(text: string, change: SettingsChange, group: readonly string[] = []): string {
  const document = yaml().parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) throw new Error(error.message.split("\n")[0]);
  const before = document.toJS();
  const keys = Object.keys(change);
  const paths = keys.map((key) => [...group, ...key.split(".")]);
  for (const [index, key] of keys.entries()) assign(document, paths[index]!, change[key]);
  const after = document.toString({ lineWidth: 0 });
  if (others(yaml().parseDocument(after).toJS(), paths) !== others(before, paths))
    throw new Error("other settings of the file share what would be changed, by an anchor");
  return after;
}

/**
 * Replaces the file at once, or not at all; its mode stays.
 * @param load the configuration that the next start would have with another file in place of this one
 * @param group as withSettings() has it
 * @throws DepthwattError OUTPUT_UNWRITABLE
 */
export function saveSettings(
  file: string,
  change: SettingsChange,
  load: (candidate: string) => Config,
  group: readonly string[] = [],
): SavedSettings {
  let temporary: string | undefined;
  try {
    const place = realpathSync(file);
    const after = withSettings(readFileSync(place, "utf8"), change, group);
    temporary = `${place}.${process.pid}.new`;
    writeFileSync(temporary, after, { mode: statSync(place).mode & 0o7777, flush: true });
    const next = load(temporary);
    renameSync(temporary, place);
    const overridden = Object.keys(change).filter((key) => valueAt(next, key) !== (change[key] ?? undefined));
    return { file, overridden };
  } catch (cause) {
    if (temporary !== undefined) rmSync(temporary, { force: true });
    throw unwritable(file, (cause as Error).message, cause);
  }
}
