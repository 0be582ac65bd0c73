// SPDX-License-Identifier: Apache-2.0
// depthwatt capture: still pairs from the cameras as files that `depthwatt run` and a calibration can read.
import { writeFile } from "node:fs/promises";
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
import { DepthwattError, hasColours } from "../../../core/index.js";
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
import { openSource } from "../../run/open-source.js";

interface CaptureOptions extends ConfigOptions, PlaceOptions {
  frames: number;
  save: string;
  skip: number;
  raw?: boolean;
  color?: boolean;
  json?: boolean;
}

/** Writes one pair; the images are copied out of the cameras' buffers at once, so that these go round. */
function save({ save: folder, raw, color }: CaptureOptions, pair: FramePair): Promise<void> {
  const write = async (side: "left" | "right", image: RawImage) => {
    const name = join(folder, side, String(image.timestampNs));
    // Both copy before they wait: afterwards the buffer is the camera's again.
    const picture = () => (color && hasColours(image.format) ? toRgb(image) : toGrey(image));
    if (raw) await writeFile(`${name}.raw`, Buffer.from(image.data));
    else await writeFile(`${name}.png`, await encodePng(picture()));
  };
  const written = [write("left", pair.left), write("right", pair.right)];
  pair.release();
  return Promise.all(written).then(() => {});
}

function take(source: PairSource, options: CaptureOptions): Promise<void> {
  const writing: Promise<void>[] = [];
  let seen = 0;
  return new Promise((resolve, reject) => {
    source.start({
      onPair: (pair) => {
        const wanted = seen >= options.skip && seen < options.skip + options.frames;
        seen++;
        if (wanted) writing.push(save(options, pair));
        else pair.release();
        if (seen === options.skip + options.frames) Promise.all(writing).then(() => resolve(), reject);
      },
      onDegraded: (reason) => reason !== undefined && note(`note: ${reason}`),
      onWarning: (message) => note(`note: ${message}`),
      onEnd: resolve,
      onError: reject,
    });
  });
}

async function run(options: CaptureOptions): Promise<void> {
  const kind = { flag: "capture", value: "v4l2" };
  const { config } = loadFlagConfig(options, { "source.kind": kind }, placeFlags(options));
  const { source, warnings } = await openSource(config, { colours: options.color === true });
  for (const warning of warnings) note(`note: ${warning}`);
  try {
    for (const side of ["left", "right"]) makeFolder(join(options.save, side));
    if (!options.json) printLine(`source    ${source.description.title}`);
    await take(source, options);
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
  if (options.json) printJson({ saved: options.frames, folder: options.save, pairs, ...counters });
  else
    printLine(`${options.frames} pairs in ${join(options.save, "left")} and ${join(options.save, "right")}`);
}

export function define(command: Command): void {
  withPlaces(command, "camera")
    .requiredOption("--frames <n>", "pairs to save", wholeNumberFrom(1))
    .requiredOption("--save <folder>", "where: left/ and right/ below it, files named by capture time in ns")
    .option("--skip <n>", "pairs to let pass first, while exposure settles", wholeNumberFrom(0), 15)
    .option("--raw", "the camera's own bytes instead of PNG")
    .option("--color", "PNG in colours instead of grey, where the camera has them");
  withExamples(
    withJson(withConfig(command), "print counts as JSON"),
    "depthwatt capture --left /dev/video0 --right /dev/video2 --frames 10 --save stills",
  ).action(run);
}
