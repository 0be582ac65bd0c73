// SPDX-License-Identifier: Apache-2.0
// Which images a recording holds and when each was taken: a folder, a name with `*`, a list file or one image a side.
import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, extname, isAbsolute, join } from "node:path";
import {
  DepthwattError,
  isDepthwattError,
  MAX_TEXT_BYTES,
  readRegularFileAsync,
  withFileTimeout,
} from "../../core/index.js";

/** auto: from names where every name is a time in ns, else counted from the rate. */
export type TimestampSource = "auto" | "names" | "rate";

/** One image of one camera. */
export interface ReplayEntry {
  file: string;
  timestampNs: bigint;
  /** Place in the recording; a number missing from the file names leaves a gap. */
  sequence: number;
}

/** One camera's images in order of time, before their times are settled. */
export interface Listing {
  /** The path that the user named, for messages. */
  path: string;
  files: string[];
  /** From names or list lines, ns; undefined when at least one image has none. */
  stampsNs: bigint[] | undefined;
  /** Last number in each name (`left07.png` -> 7); undefined unless every image has its own. */
  numbers: number[] | undefined;
}

const IMAGE_ENDINGS = new Set([".png", ".jpg", ".jpeg", ".pgm", ".ppm"]);
/** A name of fewer digits is a frame number: 13 digits of nanoseconds are 16 minutes after boot. */
const LEAST_STAMP_DIGITS = 13;

const isImageName = (name: string) => IMAGE_ENDINGS.has(extname(name).toLowerCase());
const stem = (file: string) => basename(file, extname(file));

async function pathKind(path: string): Promise<"folder" | "file" | undefined> {
  try {
    return (await withFileTimeout(stat(path))).isDirectory() ? "folder" : "file";
  } catch {
    return undefined;
  }
}

/** Node puts U+FFFD where a name is not UTF-8, and then nothing of that name can be opened. */
function checkName(folder: string, name: string): void {
  if (!name.includes("\ufffd")) return;
  throw new DepthwattError(
    "SOURCE_UNREADABLE",
    `${folder}: expected file names in UTF-8, found ${JSON.stringify(name)}`,
    { hint: "Rename the file, with convmv for instance.", context: { file: folder } },
  );
}

async function filesOfFolder(folder: string, accepts: (name: string) => boolean): Promise<string[]> {
  try {
    // Reading a pipe would wait for its writer; a link is followed when it is opened.
    const entries = await withFileTimeout(readdir(folder, { withFileTypes: true }));
    const names = entries
      .filter((entry) => entry.isFile() || entry.isSymbolicLink())
      .map(({ name }) => name)
      .filter((name) => isImageName(name) && accepts(name));
    for (const name of names) checkName(folder, name);
    return names.map((name) => join(folder, name));
  } catch (cause) {
    if (isDepthwattError(cause)) throw cause;
    throw new DepthwattError(
      "SOURCE_UNREADABLE",
      `expected a readable folder of images at ${folder}, found: ${(cause as Error).message}`,
      { cause, context: { file: folder } },
    );
  }
}

async function textOfList(list: string): Promise<string> {
  let found: string;
  try {
    const text = (await readRegularFileAsync(list, MAX_TEXT_BYTES)).toString();
    // A file that is not text has a NUL, or bytes that are not UTF-8, which Node replaces by U+FFFD.
    if (!/[\0\ufffd]/.test(text)) return text;
    found = "other bytes than UTF-8 text";
  } catch (cause) {
    found = (cause as Error).message;
  }
  throw new DepthwattError(
    "SOURCE_UNREADABLE",
    `expected images or a list of them at ${list}, found ${found}`,
    { context: { file: list } },
  );
}

/** Lines of `path`, or `ns path`, or `ns,path`; `#` begins a comment; paths are relative to the list or to data/ next to it. */
async function filesOfList(list: string): Promise<{ files: string[]; stamps: (bigint | undefined)[] }> {
  const files: string[] = [];
  const stamps: (bigint | undefined)[] = [];
  for (const line of (await textOfList(list)).split(/\r?\n/)) {
    const text = line.replace(/#.*$/, "").trim();
    if (text === "") continue;
    const [, stamp, name] = /^(?:(\d+)\s*[,\s]\s*)?(.+)$/s.exec(text)!;
    const folder = isAbsolute(name!) ? "" : dirname(list);
    const inFolder = join(folder, name!);
    const below = join(folder, "data", name!);
    files.push(folder !== "" && !existsSync(inFolder) && existsSync(below) ? below : inFolder);
    const time = stamp === undefined ? undefined : parseStamp(stamp);
    if (stamp !== undefined && time === undefined) {
      const found = stamp.length > 40 ? `a number of ${stamp.length} digits` : stamp;
      throw new DepthwattError(
        "SOURCE_UNREADABLE",
        `${list}: expected times in ns below 2^63, found ${found}`,
        { context: { file: list } },
      );
    }
    stamps.push(time);
  }
  return { files, stamps };
}

/**
 * Returns whether the name matches the pattern. Each star matches as little as it can, and the text after the last star
 * must be the end: no backtracking, so that a pattern of many stars takes no longer than its length times the name's.
 */
export function matchesPattern(name: string, pattern: string): boolean {
  const parts = pattern.split("*");
  const first = parts.shift()!;
  if (parts.length === 0) return name === first;
  const last = parts.pop()!;
  if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last))
    return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const part of parts) {
    at = name.indexOf(part, at);
    if (at < 0 || at + part.length > end) return false;
    at += part.length;
  }
  return true;
}

/** The last number in a name: "left07b" has 7; NaN where it has none. By hand: an expression restarts at each digit. */
function lastNumber(name: string): number {
  const isDigit = (at: number) => name.charCodeAt(at) >= 48 && name.charCodeAt(at) <= 57;
  let end = name.length;
  while (end > 0 && !isDigit(end - 1)) end--;
  let begin = end;
  while (begin > 0 && isDigit(begin - 1)) begin--;
  return begin === end ? Number.NaN : Number(name.slice(begin, end));
}

/** A capture time travels in 64 bits, with a sign: a larger number is no time, and modulo 2^64 it would be a wrong one. */
function parseStamp(digits: string): bigint | undefined {
  if (!/^\d{1,19}$/.test(digits)) return undefined;
  const stamp = BigInt(digits);
  return stamp < 2n ** 63n ? stamp : undefined;
}

/**
 * Finds one camera's images.
 * @throws DepthwattError SOURCE_UNREADABLE (no such path), SOURCE_EMPTY (no image there)
 */
export async function listImages(path: string): Promise<Listing> {
  const kind = await pathKind(path);
  let files: string[];
  let stamps: (bigint | undefined)[] = [];
  if (kind === "folder") {
    files = await filesOfFolder(path, () => true);
  } else if (kind === "file") {
    if (isImageName(path)) files = [path];
    else ({ files, stamps } = await filesOfList(path));
  } else if (basename(path).includes("*")) {
    files = await filesOfFolder(dirname(path), (name) => matchesPattern(name, basename(path)));
  } else {
    throw new DepthwattError("SOURCE_UNREADABLE", `expected images at ${path}, found nothing of that name`, {
      context: { file: path },
    });
  }
  if (files.length === 0) {
    throw new DepthwattError("SOURCE_EMPTY", `expected PNG, JPEG, PGM or PPM images in ${path}, found none`, {
      context: { file: path },
    });
  }
  return arrange(path, files, stamps);
}

function arrange(path: string, files: string[], stamps: (bigint | undefined)[]): Listing {
  const rows = files.map((file, i) => ({
    file,
    stamp: stamps[i] ?? parseStamp(stem(file)),
    isTime: stamps[i] !== undefined || stem(file).length >= LEAST_STAMP_DIGITS,
    number: lastNumber(stem(file)),
  }));
  const stamped = rows.every((row) => row.stamp !== undefined && row.isTime);
  const numbered =
    rows.every((row) => Number.isSafeInteger(row.number)) &&
    new Set(rows.map((row) => row.number)).size === rows.length;
  // A list without times keeps the order of its lines.
  if (stamped) rows.sort((a, b) => (a.stamp! < b.stamp! ? -1 : a.stamp! > b.stamp! ? 1 : 0));
  else if (stamps.length === 0 && numbered) rows.sort((a, b) => a.number - b.number);
  else if (stamps.length === 0) rows.sort((a, b) => (a.file < b.file ? -1 : 1));
  const twin = stamped ? rows.findIndex((row, i) => i > 0 && row.stamp === rows[i - 1]!.stamp) : -1;
  if (twin > 0) {
    throw new DepthwattError(
      "SOURCE_UNREADABLE",
      `${path}: expected every image to have its own time, found ${rows[twin]!.stamp} ns for both ${rows[twin - 1]!.file} and ${rows[twin]!.file}`,
      { context: { file: path } },
    );
  }
  return {
    path,
    files: rows.map((row) => row.file),
    stampsNs: stamped ? rows.map((row) => row.stamp!) : undefined,
    numbers: numbered && stamps.length === 0 ? rows.map((row) => row.number) : undefined,
  };
}

/**
 * Gives every image of both sides its time and its place. Times come from the names of both sides or of neither.
 * @param periodNs between two images if the names have no times
 * @throws DepthwattError SOURCE_UNREADABLE when "names" is requested and a name is no time
 */
export function settleTimes(listings: Listing[], source: TimestampSource, periodNs: bigint): ReplayEntry[][] {
  const stamped = listings.every((listing) => listing.stampsNs !== undefined);
  if (source === "names" && !stamped) {
    const listing = listings.find((one) => one.stampsNs === undefined)!;
    throw new DepthwattError(
      "SOURCE_UNREADABLE",
      `${listing.path}: expected file names that are times in ns, such as 1403636579763555584.png, found ${basename(listing.files[0]!)}`,
      {
        hint: "Use source.replay.timestamps: rate, or a list file whose lines are 'ns,path'.",
        context: { file: listing.path },
      },
    );
  }
  if (stamped && source !== "rate") {
    return listings.map((listing) =>
      listing.files.map((file, i) => ({ file, timestampNs: listing.stampsNs![i]!, sequence: i })),
    );
  }
  const numbered = listings.every((listing) => listing.numbers !== undefined) && !stamped;
  const first = numbered ? Math.min(...listings.map((listing) => listing.numbers![0]!)) : 0;
  return listings.map((listing) =>
    listing.files.map((file, i) => {
      const sequence = numbered ? listing.numbers![i]! - first : i;
      return { file, timestampNs: BigInt(sequence) * periodNs, sequence };
    }),
  );
}
