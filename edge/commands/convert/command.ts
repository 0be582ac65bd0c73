// SPDX-License-Identifier: Apache-2.0
// depthwatt convert: recordings into files of other programs, and folders of images into recordings.
import { existsSync, lstatSync, statSync } from "node:fs";
import { extname } from "node:path";
import { type Command, Option } from "commander";
import { DepthwattError } from "../../../core/index.js";
import { numberBetween } from "../../cli/numbers.js";
import { describeArguments, withExamples, withJson } from "../../cli/options.js";
import { note, printJson, printLine } from "../../cli/output.js";
import { Progress } from "../../cli/progress.js";
import { EXIT_SKIPPED, noteSkipped } from "../../cli/skipped.js";
import type { Conversion, ConversionEvents } from "./conversion.js";

const FORMATS = ["folder", "euroc", "ply", "csv", "webp", "strip", "mcap"] as const;
type Format = (typeof FORMATS)[number];

const MAX_SKIPPED_NOTES = 5;
const RATE_HZ = "30";

interface ConvertOptions {
  to?: Format;
  calibration?: string;
  rate?: string;
  json?: boolean;
}

const BY_ENDING: Record<string, Format> = {
  ".mcap": "mcap",
  ".csv": "csv",
  ".webp": "webp",
  ".png": "strip",
};

function chooseFormat(from: string, out: string, named: Format | undefined): Format {
  const isFolder = statSync(from, { throwIfNoEntry: false })?.isDirectory() === true;
  if (named === undefined && !isFolder && extname(out).toLowerCase() === ".ply")
    throw new DepthwattError("USAGE", `expected --to ply and a folder, got a single file, ${out}`, {
      hint: "Each frame becomes a separate file: depthwatt convert IN.mcap FOLDER --to ply.",
    });
  const format = named ?? BY_ENDING[extname(out).toLowerCase()] ?? "folder";
  if (isFolder === (format === "mcap")) return format;
  const text = isFolder
    ? "a folder is converted to a recording"
    : "a recording is converted to something else";
  throw new DepthwattError("USAGE", `expected --to to fit: ${text}, got --to ${format}`);
}

/** By a file, or by a link that leads nowhere yet, which the new file would take the place of. */
function isTaken(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false; // writing says it better
  }
}

async function fromRecording(
  from: string,
  out: string,
  format: Format,
  events: ConversionEvents,
): Promise<Conversion> {
  const { openRecording } = await import("../../mcap/recording.js");
  const recording = await openRecording(from);
  try {
    switch (format) {
      case "folder":
      case "euroc":
        return await (await import("./to-folders.js")).toFolders(recording, out, format, events);
      case "ply":
        return await (await import("./ply.js")).toPly(recording, out, events);
      case "csv":
        return await (await import("./csv.js")).toCsv(recording, out, events);
      default:
        return await (await import("./preview.js")).toPreview(
          recording,
          out,
          format as "webp" | "strip",
          events,
        );
    }
  } finally {
    await recording.close();
  }
}

async function run(from: string, out: string, options: ConvertOptions): Promise<void> {
  if (out === "") throw new DepthwattError("USAGE", "expected a folder or file to write, got an empty name");
  const rateHz = numberBetween("--rate", options.rate ?? RATE_HZ, 0.01, 1000);
  if (!existsSync(from))
    throw new DepthwattError(
      "SOURCE_UNREADABLE",
      `expected a recording or a folder at ${from}, found nothing`,
    );
  const format = chooseFormat(from, out, options.to);
  for (const name of ["rate", "calibration"] as const)
    if (format !== "mcap" && options[name] !== undefined)
      throw new DepthwattError("USAGE", `expected --${name} only with --to mcap, got it with --to ${format}`);
  const isFile = ["csv", "webp", "strip", "mcap"].includes(format);
  if (isFile && isTaken(out)) {
    const hint = "Give another name, or remove it.";
    throw new DepthwattError("USAGE", `expected a new file to write, and ${out} is there already`, { hint });
  }
  const progress = new Progress();
  const events: ConversionEvents = {
    onProgress: (done, total) => progress.show(done, total),
    onSkip: noteSkipped(progress, MAX_SKIPPED_NOTES),
    onWarning: (text) => {
      progress.clear();
      note(`warning: ${text}`);
    },
  };
  const began = performance.now();
  const convert = async () => {
    if (format !== "mcap") return fromRecording(from, out, format, events);
    const { toRecording } = await import("./to-recording.js");
    return toRecording(from, out, { calibration: options.calibration, rateHz }, events);
  };
  const { written, kept, skipped } = await convert()
    .catch((cause: NodeJS.ErrnoException) => {
      if (cause.syscall === undefined || cause instanceof DepthwattError) throw cause;
      throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write to ${out}: ${cause.message}`, { cause });
    })
    .finally(() => progress.clear());
  const seconds = (performance.now() - began) / 1000;
  const lost = Object.values(skipped).reduce((sum, count) => sum + count, 0);
  if (options.json) printJson({ format, written, kept, skipped, seconds });
  else {
    const causes = Object.entries(skipped).map(([cause, count]) => `${count} ${cause}`);
    printLine(
      `${out}: ${written} written, ${kept} there already, ${causes.length === 0 ? "none skipped" : `skipped: ${causes.join(", ")}`}, ${seconds.toFixed(1)} s`,
    );
  }
  if (lost > 0) process.exitCode = EXIT_SKIPPED;
}

export function define(command: Command): void {
  describeArguments(command, {
    in: "recording (MCAP), or folder with left/ and right/ or mav0/",
    out: "folder or file to write",
  });
  command
    .addOption(
      new Option("--to <format>", "what to write (default: by the ending of <out>, else folder)").choices(
        FORMATS,
      ),
    )
    .option(
      "--calibration <file>",
      "to mcap: calibration to attach (default: calibration.json in the folder)",
    )
    .option("--rate <hz>", `to mcap: pairs per second, if image names are not times (default: ${RATE_HZ})`);
  withExamples(
    withJson(command, "print counts as JSON"),
    "depthwatt convert walk.mcap walk",
    "depthwatt convert walk.mcap walk-euroc --to euroc",
    "depthwatt convert walk.mcap clouds --to ply",
    "depthwatt convert walk.mcap walk.webp",
    "depthwatt convert recording-folder walk.mcap --calibration calibration.json",
  ).action(run);
}
