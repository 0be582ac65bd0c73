// SPDX-License-Identifier: Apache-2.0
// Where results go: each is written whole and once, and a folder holds those of one choice of settings.
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  disparityFromQ4,
  disparityToPng16,
  encodePfm,
  encodePng,
  makeFolder,
} from "../../../camera/index.js";
import { DepthwattError, hasCode, writeBeside } from "../../../core/index.js";
import { matcherParameters } from "../../../cuda/index.js";
import type { Config } from "../../config/index.js";
import { VERSION } from "../../contracts/version.js";
import type { Matched } from "../../match/match-pair.js";
import { matchParameters } from "../../pipeline/parameters.js";

export type ResultFormat = "pfm" | "png";

/** All that a result depends on next to its pictures. */
export function resultSettings(config: Config, format: ResultFormat): object {
  const { match, refine, rectify, region, depth, calibration } = config;
  const { file, ...how } = calibration;
  const files = file?.split(",").map((path) => readText(path.trim()));
  const used = matchParameters(match);
  const { parameters: _, ...shared } = used;
  return {
    version: VERSION,
    format,
    match: { ...shared, ...matcherParameters(used), denoise: match.denoise, average: match.average },
    refine,
    rectify,
    region,
    depth,
    calibration: { ...how, files },
  };
}

/** A file that cannot be read is represented by its name; loading it reports the error. */
function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return path;
  }
}

export const hashParts = (...parts: readonly (string | Uint8Array)[]): string => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
};

/**
 * Refuses a folder that holds a file named like a result and no note: such a file counts as done, but may be an image
 * of the archive.
 * @param names of the results in the folder
 * @throws DepthwattError USAGE
 */
export function checkFree(folder: string, names: readonly string[]): void {
  if (!existsSync(folder) || existsSync(join(folder, NOTE))) return;
  const found = names.find((name) => existsSync(join(folder, name)));
  // Asked again: the note is written before any result, also where another machine has just begun.
  if (found !== undefined && !existsSync(join(folder, NOTE)))
    throw others(folder, `${found} without ${NOTE}`);
}

const NOTE = "batch.json";

/**
 * The folder's own note of what its results were made with. Made where there is none.
 * @returns the hash of the choice
 * @throws DepthwattError USAGE: results of other settings are there; OUTPUT_UNWRITABLE
 */
export async function claimFolder(folder: string, choice: object): Promise<string> {
  const text = JSON.stringify(choice);
  const key = hashParts(text);
  const note = join(folder, NOTE);
  try {
    makeFolder(folder);
    if (!existsSync(note)) await writeOnce(note, `${JSON.stringify({ key, choice }, undefined, 1)}\n`);
    const found = (JSON.parse(await readFile(note, "utf8")) as { key?: unknown }).key;
    if (found === key) return key;
  } catch (cause) {
    if (cause instanceof SyntaxError) throw others(folder, "a batch.json of another program");
    throw unwritable(folder, cause as Error);
  }
  throw others(folder, "results of other settings or another version");
}

const others = (folder: string, found: string) =>
  new DepthwattError(
    "USAGE",
    `${folder}: expected a new folder or one with results of these settings, found ${found}`,
    {
      hint: "Give another folder. Its batch.json has the settings of its results.",
    },
  );

export const unwritable = (path: string, cause: Error) =>
  new DepthwattError("OUTPUT_UNWRITABLE", `cannot write to ${path}: ${cause.message}`, { cause });

/** @throws DepthwattError IMAGE_UNSUPPORTED: disparities that a PNG does not hold */
export async function encodeResult(
  { disparityQ4, width, height }: Matched,
  format: ResultFormat,
  name: string,
): Promise<Uint8Array> {
  const disparity = disparityFromQ4(disparityQ4, width, height);
  return format === "pfm" ? encodePfm(disparity) : encodePng(disparityToPng16(disparity, name));
}

/** Replaces an existing result, which can only be the same. @throws Node's error */
export async function writeResult(path: string, bytes: Uint8Array): Promise<void> {
  makeFolder(dirname(path));
  await writeBeside(path, bytes);
}

let count = 0;

/**
 * Writes a file once, even if several processes write the name at once, on one machine or on many. @returns whether
 * this process wrote it
 */
export async function writeOnce(path: string, bytes: Uint8Array | string): Promise<boolean> {
  makeFolder(dirname(path));
  const temporary = `${path}.${process.pid}-${Math.floor(Math.random() * 2 ** 32)}-${count++}.part`;
  try {
    await writeFile(temporary, bytes, { flag: "wx" });
    await link(temporary, path);
    return true;
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
    return false;
  } finally {
    await rm(temporary, { force: true });
  }
}
