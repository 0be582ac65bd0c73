// SPDX-License-Identifier: Apache-2.0
// Works through pairs: while one is matched, the next ones are read and decoded and their engines opened, each on
// separate threads.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { forEachLimited, isDepthwattError } from "../../../core/index.js";
import type { Config } from "../../config/index.js";
import { computePair, type Note, openPair, readPair } from "../../match/match-pair.js";
import type { ArchivePair } from "./archive.js";
import { encodeResult, type ResultFormat, unwritable, writeResult } from "./results.js";
import { type BatchStage, Occupancy } from "./stages.js";

export interface BatchCounts {
  pairs: number;
  written: number;
  /** Results that were there already. */
  kept: number;
  /** Pairs without a result, by the code of the error. */
  skipped: Record<string, number>;
}

export interface BatchOptions {
  config: Config;
  input: string;
  output: string;
  format: ResultFormat;
  /** Pairs in work at a time, in any stage. */
  ahead: number;
  onProgress(counts: BatchCounts, occupancy: Record<BatchStage, number>): void;
  onSkip(text: string): void;
  note: Note;
}

/** One lock: engines share the cores, so that two at once would only be in each other's way. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<T>(work: () => Promise<T>): Promise<T> {
    const own = this.#last.then(work, work);
    this.#last = own.catch(() => {});
    return own;
  }
}

export interface PairFiles {
  name: string;
  left: string;
  right: string;
}

/** From two files to the bytes of a result. @throws DepthwattError of the pair, such as SOURCE_UNREADABLE */
export async function matchFiles(
  pair: PairFiles,
  { config, format, note }: Pick<BatchOptions, "config" | "format" | "note">,
  occupancy: Occupancy,
  turns: Turns,
): Promise<Uint8Array> {
  const pictures = await occupancy.during("decode", () =>
    readPair(pair.left, pair.right, config.match.algorithm, note),
  );
  const opened = await occupancy.during("open", () => openPair(config, pictures, note));
  const matched = await turns.take(() => occupancy.during("match", () => computePair(opened)));
  return occupancy.during("write", () => encodeResult(matched, format, pair.name));
}

/** Error codes that cost only the pair. */
export const SKIPPED_CODES: ReadonlySet<string> = new Set([
  "SOURCE_UNREADABLE",
  "IMAGE_UNSUPPORTED",
  "IMAGE_SIZE_MISMATCH",
  "CALIBRATION_SIZE_MISMATCH",
]);

export async function runBatch(
  pairs: readonly ArchivePair[],
  options: BatchOptions,
): Promise<{ counts: BatchCounts; occupancy: Record<BatchStage, number> }> {
  const { input, output, format, ahead, onProgress, onSkip } = options;
  const counts: BatchCounts = { pairs: pairs.length, written: 0, kept: 0, skipped: {} };
  const occupancy = new Occupancy();
  const turns = new Turns();
  async function* each() {
    yield* pairs;
  }
  await forEachLimited(ahead, each(), async ({ name, left, right }) => {
    const path = join(output, `${name}.${format}`);
    if (existsSync(path)) counts.kept++;
    else {
      try {
        const files = { name, left: join(input, left), right: join(input, right) };
        const bytes = await matchFiles(files, options, occupancy, turns);
        await occupancy
          .during("write", () => writeResult(path, bytes))
          .catch((cause: Error) => {
            throw unwritable(path, cause);
          });
        counts.written++;
      } catch (error) {
        if (!isDepthwattError(error) || !SKIPPED_CODES.has(error.code)) throw error;
        counts.skipped[error.code] = (counts.skipped[error.code] ?? 0) + 1;
        onSkip(`${name}: ${error.message}`);
      }
    }
    onProgress(counts, occupancy.percent);
  });
  return { counts, occupancy: occupancy.percent };
}
