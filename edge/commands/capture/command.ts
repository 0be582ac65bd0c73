// SPDX-License-Identifier: Apache-2.0
// depthwatt capture: still pairs from the cameras as files that `depthwatt run` and a calibration can read.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import {
  encodePng,
  type FramePair,
  makeFolder,
  type PairSource,
  type RawImage,
  toGrey,
  toRgb,
} from "../../../camera/index.js";
import { DepthwattError, hasColours, writeBeside } from "../../../core/index.js";
import { wholeNumberFrom } from "../../cli/numbers.js";
import {
  type ConfigOptions,
  loadFlagConfig,
  type PlaceOptions,
  placeFlags,
  withConfig,
  withExamples,
  withJson,
  withPlaces,
} from "../../cli/options.js";
import { note, printJson, printLine } from "../../cli/output.js";
import { Progress } from "../../cli/progress.js";
import { openSource } from "../../run/open-source.js";

interface SaveOptions {
  frames: number;
  save: string;
  skip: number;
  raw?: boolean;
  color?: boolean;
}

interface CaptureOptions extends ConfigOptions, PlaceOptions, SaveOptions {
  json?: boolean;
}

/** Writes both images of a pair, or neither. Copies them out of the cameras' buffers before it returns. */
async function save({ save: folder, raw, color }: SaveOptions, pair: FramePair): Promise<void> {
  const files = (["left", "right"] as const).map((side) =>
    join(folder, side, `${pair[side].timestampNs}.${raw ? "raw" : "png"}`),
  );
  const encode = (image: RawImage) =>
    raw
      ? Buffer.from(image.data)
      : encodePng(color && hasColours(image.format) ? toRgb(image) : toGrey(image));
  const encoded = [encode(pair.left), encode(pair.right)];
  pair.release();
  try {
    for (const [at, bytes] of encoded.entries()) await writeBeside(files[at]!, await bytes);
  } catch (error) {
    for (const file of files) await rm(file, { force: true });
    throw error;
  }
}

/** Saves the pairs that the options ask for. @returns how many were saved before the source ended */
export function savePairs(source: Pick<PairSource, "start">, options: SaveOptions): Promise<number> {
  const writing: Promise<void>[] = [];
  const progress = new Progress();
  const last = options.skip + options.frames;
  let seen = 0;
  return new Promise<number>((resolve, reject) => {
    const finish = () => Promise.all(writing).then(({ length }) => resolve(length), reject);
    source.start({
      onPair: (pair) => {
        const wanted = seen >= options.skip && seen < last;
        seen++;
        progress.show(Math.min(seen, last), last, wanted ? "saving pairs" : "waiting for exposure");
        if (wanted) {
          const saving = save(options, pair);
          saving.catch(reject);
          writing.push(saving);
        } else pair.release();
        if (seen === last) finish();
      },
      onDegraded: (reason) => reason !== undefined && note(`note: ${reason}`),
      onWarning: (message) => note(`note: ${message}`),
      onEnd: finish,
      onError: reject,
    });
  }).finally(() => progress.clear());
}

async function run(options: CaptureOptions): Promise<void> {
  const kind = { flag: "capture", value: "v4l2" };
  const { config } = loadFlagConfig(options, { "source.kind": kind }, placeFlags(options));
  const { source, warnings } = await openSource(config, { colours: options.color === true });
  for (const warning of warnings) note(`note: ${warning}`);
  let saved: number;
  try {
    for (const side of ["left", "right"]) makeFolder(join(options.save, side));
    if (!options.json) printLine(`source    ${source.description.title}`);
    saved = await savePairs(source, options);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).syscall === undefined) throw cause;
    throw new DepthwattError(
      "OUTPUT_UNWRITABLE",
      `Expected to write below ${options.save}: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  } finally {
    await source.stop();
  }
  const { pairs, ...counters } = source.counters();
  if (options.json) printJson({ saved, folder: options.save, pairs, ...counters });
  else printLine(`${saved} pairs in ${join(options.save, "left")} and ${join(options.save, "right")}`);
}

export function define(command: Command): void {
  withPlaces(command, "camera")
    .requiredOption("--frames <n>", "pairs to save", wholeNumberFrom(1))
    .requiredOption("--save <folder>", "folder for left/ and right/; files are named by capture time in ns")
    .option("--skip <n>", "pairs to skip first, while the exposure settles", wholeNumberFrom(0), 15)
    .option("--raw", "save the camera's bytes instead of PNG")
    .option("--color", "save colour PNG if the camera delivers colours");
  withExamples(
    withJson(withConfig(command), "print counts as JSON"),
    "depthwatt capture --left /dev/video0 --right /dev/video2 --frames 10 --save stills",
  ).action(run);
}
