// SPDX-License-Identifier: Apache-2.0
// depthwatt capture: still pairs from the cameras as files that `depthwatt run` and a calibration can read, or a test of their
// synchronisation, or their defective pixels.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import {
  DefectFinder,
  type DefectivePixels,
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
import { lookAtPairs, type PairCount } from "./look-at-pairs.js";
import { screenPage } from "./screen-page.js";
import { measureSync, printSync, type SyncSign, syncSignFrom } from "./sync-test.js";

interface SaveOptions extends PairCount {
  save: string;
  raw?: boolean;
  color?: boolean;
}

interface CaptureOptions extends ConfigOptions, PlaceOptions, Omit<SaveOptions, "save"> {
  save?: string;
  syncTest?: SyncSign;
  screenPage?: string;
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

type RunOptions = Omit<CaptureOptions, "frames"> & { frames?: number };

async function run({ frames, screenPage: page, ...options }: RunOptions): Promise<void> {
  const { save: folder, syncTest: sign, findDefects: file, ...rest } = options;
  if ([folder, sign, file, page].filter((value) => value !== undefined).length !== 1)
    throw new DepthwattError(
      "USAGE",
      "expected one of --save, --sync-test, --screen-page and --find-defects",
    );
  if (page !== undefined) {
    await writeBeside(page, screenPage());
    printLine(`open ${page} in a browser, full screen`);
    return;
  }
  if (frames === undefined) throw new DepthwattError("USAGE", "expected --frames with the number of pairs");
  const counted = { ...rest, frames };
  if (folder !== undefined) await capture({ ...counted, save: folder });
  else if (sign !== undefined) await syncTest(counted, sign);
  else await findDefects(counted, file!);
}

/** Finds the defective pixels of both images. @throws DepthwattError of the source, DEVICE_UNSUITABLE */
export async function measureDefects(
  source: Pick<PairSource, "start">,
  options: PairCount,
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

async function syncTest(options: Omit<CaptureOptions, "save">, sign: SyncSign): Promise<void> {
  const source = await openCameras(options, false);
  const found = await measureSync(source, options, sign).finally(() => source.stop());
  if (options.json) printJson(found);
  else printSync(found);
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
    .option("--frames <n>", "pairs to save or measure", wholeNumberFrom(1))
    .option("--save <folder>", "folder for left/ and right/; files are named by capture time in ns")
    .option(
      "--sync-test <hz|screen>",
      "instead of saving: measure when the cameras expose, from a light that blinks at this frequency or the screen page",
      syncSignFrom,
    )
    .option("--screen-page <file>", "instead of saving: write the page whose bars --sync-test screen reads")
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
    "depthwatt capture --screen-page counter.html",
    "depthwatt capture --left /dev/video0 --right /dev/video2 --frames 200 --sync-test screen",
    "depthwatt capture --left /dev/video0 --right /dev/video2 --frames 30 --find-defects defects.json",
  ).action(run);
}
