// SPDX-License-Identifier: Apache-2.0
// depthwatt capture: still pairs from the cameras as files that `depthwatt run` and a calibration can read, or a test of their
// synchronisation, or their defective pixels.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import {
  BlinkPhase,
  DefectFinder,
  type DefectivePixels,
  type ExposureSkew,
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
import { columns, note, printJson, printLine } from "../../cli/output.js";
import { Progress } from "../../cli/progress.js";
import { openSource } from "../../run/open-source.js";

interface SaveOptions {
  frames: number;
  save: string;
  skip: number;
  raw?: boolean;
  color?: boolean;
}

interface CaptureOptions extends ConfigOptions, PlaceOptions, Omit<SaveOptions, "save"> {
  save?: string;
  syncTest?: number;
  findDefects?: string;
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
  const { save: folder, syncTest: blinkHz, findDefects: file, ...rest } = options;
  if ([folder, blinkHz, file].filter((value) => value !== undefined).length !== 1)
    throw new DepthwattError("USAGE", "expected one of --save, --sync-test and --find-defects");
  if (folder !== undefined) await capture({ ...rest, save: folder });
  else if (blinkHz !== undefined) await syncTest(rest, blinkHz);
  else await findDefects(rest, file!);
}

/** Blinks are at least two rows and at most half a second long. */
function blinkFrequency(text: string): number {
  const hertz = Number(text);
  if (hertz >= 1 && hertz <= 20_000) return hertz;
  throw new InvalidArgumentError("expected Hz, from 1 to 20000");
}

/** Calls `look` with the pairs that the options ask for. @throws DepthwattError of the source */
async function lookAtPairs(
  source: Pick<PairSource, "start">,
  { frames, skip }: Pick<SaveOptions, "frames" | "skip">,
  look: (pair: FramePair) => void,
): Promise<void> {
  let seen = 0;
  await new Promise<void>((resolve, reject) => {
    source.start({
      onPair: (pair) => {
        if (seen >= skip && seen < skip + frames) look(pair);
        pair.release();
        if (++seen === skip + frames) resolve();
      },
      onDegraded: (reason) => reason !== undefined && note(`note: ${reason}`),
      onWarning: (message) => note(`note: ${message}`),
      onEnd: resolve,
      onError: reject,
    });
  });
}

/** Shows the pairs that the options ask for to the test. @throws DepthwattError of the source, SYNC_UNMEASURED */
export async function measureSync(
  source: Pick<PairSource, "start">,
  options: Pick<SaveOptions, "frames" | "skip">,
  blinkHz: number,
): Promise<ExposureSkew> {
  const phase = new BlinkPhase(blinkHz);
  await lookAtPairs(source, options, (pair) => phase.add(pair));
  return phase.result();
}

/** Finds the defective pixels of both images. @throws DepthwattError of the source, DEVICE_UNSUITABLE */
export async function measureDefects(
  source: Pick<PairSource, "start">,
  options: Pick<SaveOptions, "frames" | "skip">,
): Promise<DefectivePixels> {
  const finders = { left: new DefectFinder(), right: new DefectFinder() };
  await lookAtPairs(source, options, ({ left, right }) => {
    finders.left.add(left);
    finders.right.add(right);
  });
  return { left: finders.left.result(), right: finders.right.result() };
}

async function openCameras(
  options: ConfigOptions & PlaceOptions,
  colours: boolean,
  findsDefects = false,
): Promise<PairSource> {
  const kind = { flag: "capture", value: "v4l2" };
  const { config } = loadFlagConfig(options, { "source.kind": kind }, placeFlags(options));
  // Known defects are found again, so that the new file has all of them.
  const { defects: _, ...v4l2 } = config.source.v4l2;
  const asCaptured = { ...config, source: { ...config.source, v4l2 } };
  const { source, warnings } = await openSource(findsDefects ? asCaptured : config, { colours });
  for (const warning of warnings) note(`note: ${warning}`);
  return source;
}

async function syncTest(options: Omit<CaptureOptions, "save">, blinkHz: number): Promise<void> {
  const source = await openCameras(options, false);
  const found = await measureSync(source, options, blinkHz).finally(() => source.stop());
  if (options.json) {
    printJson(found);
    return;
  }
  const { offsetUs, periodUs, statedUs, lineTimeUs, frames } = found;
  const shown = ({ value, uncertainty }: ExposureSkew["offsetUs"], digits: number) =>
    `${value.toFixed(digits)} +- ${uncertainty.toFixed(digits)} us`;
  const rows = [
    ["right after left", `${shown(offsetUs, 1)}, or any multiple of ${periodUs.toFixed(1)} us more`],
    ["time stamps say", `${statedUs.toFixed(1)} us`],
    ["row after row", `left ${shown(lineTimeUs.left, 3)}, right ${shown(lineTimeUs.right, 3)}`],
    ["pairs", `${frames}`],
  ];
  for (const line of columns(rows)) printLine(line);
}

async function findDefects(options: Omit<CaptureOptions, "save">, file: string): Promise<void> {
  const source = await openCameras(options, false, true);
  const found = await measureDefects(source, options).finally(() => source.stop());
  await writeBeside(file, `${JSON.stringify(found)}\n`);
  const counts = { left: found.left.length, right: found.right.length };
  if (options.json) printJson({ file, ...counts });
  else
    printLine(
      `${counts.left} defective pixels of the left image and ${counts.right} of the right one in ${file}`,
    );
}

async function capture(options: Omit<CaptureOptions, "save"> & SaveOptions): Promise<void> {
  const source = await openCameras(options, options.color === true);
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
    .requiredOption("--frames <n>", "pairs to save or measure", wholeNumberFrom(1))
    .option("--save <folder>", "folder for left/ and right/; files are named by capture time in ns")
    .option(
      "--sync-test <hz>",
      "instead of saving: measure when the cameras expose, from a light that blinks at this frequency",
      blinkFrequency,
    )
    .option(
      "--find-defects <file>",
      "instead of saving: write the pixels that differ from their neighbours in every image; cover the lenses first",
    )
    .option("--skip <n>", "pairs to skip first, while the exposure settles", wholeNumberFrom(0), 15)
    .option("--raw", "save the camera's bytes instead of PNG")
    .option("--color", "save colour PNG if the camera delivers colours");
  withExamples(
    withJson(withConfig(command), "print counts as JSON"),
    "depthwatt capture --left /dev/video0 --right /dev/video2 --frames 10 --save stills",
    "depthwatt capture --left /dev/video0 --right /dev/video2 --frames 200 --sync-test 173",
    "depthwatt capture --left /dev/video0 --right /dev/video2 --frames 30 --find-defects defects.json",
  ).action(run);
}
