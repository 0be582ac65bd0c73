// SPDX-License-Identifier: Apache-2.0
// The file of the energy log: each line reaches the disk before the next one is taken, older files are moved aside.
import { createReadStream, createWriteStream } from "node:fs";
import { open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { EnergyRecord } from "../../contracts/energy.js";
import { csvHead, csvRow, jsonLine } from "./lines.js";
import type { EnergySettings } from "./settings.js";

const HEAD_BYTES = 4096;
const HOUR_MS = 3_600_000;

/** Matches "energy-20261126T101500123Z.jsonl" and the same with ".gz", for the file "energy.jsonl". */
export function isOlderFile(name: string, file: string): boolean {
  const ending = extname(file);
  const stem = basename(file, ending);
  const rest = name.startsWith(`${stem}-`) ? name.slice(stem.length + 1) : "";
  return /^\d{8}T\d{9}Z$/.test(rest.replace(/\.gz$/, "").slice(0, -ending.length)) && rest.includes(ending);
}

export class EnergyFile {
  readonly #path: string;
  readonly #settings: EnergySettings;
  readonly #isCsv: boolean;
  /** The head line of a CSV file, from its first record on. */
  #head: string | undefined;
  #bytes = 0;
  #firstMs: number | undefined;

  constructor(path: string, settings: EnergySettings) {
    this.#path = path;
    this.#settings = settings;
    this.#isCsv = extname(path) === ".csv";
  }

  /** Continues a file that is there. A line that a power cut left unfinished gets its end, so that only it is lost. */
  async open(): Promise<void> {
    const file = await open(this.#path, "a+");
    try {
      const { size } = await file.stat();
      const head = Buffer.alloc(Math.min(size, HEAD_BYTES));
      await file.read(head, 0, head.length, 0);
      const last = Buffer.alloc(1);
      if (size > 0) await file.read(last, 0, 1, size - 1);
      if (size > 0 && last[0] !== 0x0a) await file.appendFile("\n");
      const lines = head.toString("utf8").split("\n");
      if (this.#isCsv && lines.length > 1) this.#head = lines[0];
      this.#bytes = size;
      this.#firstMs = firstTime(lines[this.#isCsv ? 1 : 0] ?? "");
    } finally {
      await file.close();
    }
  }

  /** Adds one line and waits until the disk has it. @returns its bytes */
  async write(record: EnergyRecord): Promise<number> {
    if (this.#isDue(record)) await this.#moveAside(record);
    const isNew = this.#isCsv && this.#head === undefined;
    const head = isNew ? csvHead(record) : (this.#head ?? "");
    const line = this.#isCsv ? csvRow(record, head) : jsonLine(record);
    const text = isNew ? head + line : line;
    const file = await open(this.#path, "a");
    try {
      await file.appendFile(text);
      await file.datasync();
    } finally {
      await file.close();
    }
    if (this.#isCsv) this.#head = head;
    this.#bytes += Buffer.byteLength(text);
    this.#firstMs ??= Date.parse(record.time);
    return Buffer.byteLength(text);
  }

  #isDue(record: EnergyRecord): boolean {
    const { rotateMegabytes, rotateHours } = this.#settings;
    const ageMs = Date.parse(record.time) - (this.#firstMs ?? Date.parse(record.time));
    return (
      (rotateMegabytes > 0 && this.#bytes >= rotateMegabytes * 1e6) ||
      (rotateHours > 0 && ageMs >= rotateHours * HOUR_MS)
    );
  }

  async #moveAside({ time }: EnergyRecord): Promise<void> {
    const ending = extname(this.#path);
    const stamp = time.replace(/[-:.]/g, "");
    const older = join(dirname(this.#path), `${basename(this.#path, ending)}-${stamp}${ending}`);
    await rename(this.#path, older);
    this.#bytes = 0;
    this.#firstMs = undefined;
    this.#head = undefined;
    if (this.#settings.compress) await compress(older);
    await this.#deleteOldest();
  }

  async #deleteOldest(): Promise<void> {
    const folder = dirname(this.#path);
    const older = (await readdir(folder)).filter((name) => isOlderFile(name, this.#path)).sort();
    for (const name of older.slice(0, -this.#settings.keepFiles)) await rm(join(folder, name));
  }
}

/** Time of a line's record, milliseconds since 1970; both formats have it in their first field. */
function firstTime(line: string): number | undefined {
  const ms = Date.parse(/\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(line)?.[0] ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}

/** A crash leaves the plain file, or both: readers take the plain one. */
async function compress(path: string): Promise<void> {
  const packed = `${path}.gz`;
  try {
    await pipeline(createReadStream(path), createGzip(), createWriteStream(packed));
  } catch (error) {
    await rm(packed, { force: true });
    throw error;
  }
  await rm(path);
}
