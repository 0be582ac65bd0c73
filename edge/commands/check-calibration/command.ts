// SPDX-License-Identifier: Apache-2.0
// depthwatt check-calibration: whether the cameras still match their calibration, from a few pairs.
import type { Command } from "commander";
import type { FramePair, PairSource } from "../../../camera/index.js";
import { DepthwattError, ERROR_CATALOGUE } from "../../../core/index.js";
import { wholeNumberFrom } from "../../cli/numbers.js";
import {
  type ConfigOptions,
  describeArguments,
  loadFlagConfig,
  withConfig,
  withExamples,
  withJson,
} from "../../cli/options.js";
import { note, printJson, printLine } from "../../cli/output.js";
import { Progress } from "../../cli/progress.js";
import { type SettingOptions, settingFlags, withSettingFlags } from "../../cli/setting-flags.js";
import type { Unavailable } from "../../contracts/availability.js";
import { configuredGeometry } from "../../pipeline/geometry.js";
import {
  type AlignmentFigures,
  type Examination,
  Examiner,
  lookGeometryFrom,
} from "../../rig/health/index.js";
import { openSource } from "../../run/open-source.js";
import { kindOfPath } from "../../sources/section.js";

interface CheckOptions extends ConfigOptions, SettingOptions<"calibration"> {
  pairs: number;
  json?: boolean;
}

/** Ends after so many pairs, or with the source. */
export function take(source: PairSource, pairs: number, look: (pair: FramePair) => void): Promise<void> {
  const progress = new Progress();
  progress.show(0, pairs, "pairs");
  let seen = 0;
  return new Promise<void>((resolve, reject) => {
    source.start({
      onPair: (pair) => {
        try {
          if (seen++ < pairs) look(pair);
          progress.show(Math.min(seen, pairs), pairs, "pairs");
        } catch (error) {
          reject(error as Error);
        } finally {
          pair.release();
        }
        if (seen >= pairs) resolve();
      },
      onDegraded: (reason) => reason !== undefined && note(`warning: ${reason}`),
      onWarning: note,
      onEnd: resolve,
      onError: reject,
    });
  }).finally(() => progress.clear());
}

function lines({
  rows,
  rotationDegrees: turned,
  deviationDegrees: sure,
  ...figures
}: AlignmentFigures): string[] {
  const fixed = (value: number, digits: number) => (Number(value.toFixed(digits)) + 0).toFixed(digits);
  const reported = (value: number | Unavailable, unit: string, digits: number) =>
    typeof value === "number" ? `${fixed(value, digits)} ${unit}` : `unavailable: ${value.reason}`;
  const angle = (name: "pitch" | "yaw" | "roll") => {
    const [value, deviation] = [turned[name], sure[name]];
    const chance =
      typeof value === "number" && typeof deviation === "number" ? ` +- ${deviation.toFixed(3)}` : "";
    return `${name.padEnd(6)} ${reported(value, "degrees", 3)}${chance}`;
  };
  return [
    `rows   ${fixed(rows.mean, 2)} in the mean, 95 % within ${fixed(rows.p95, 2)}; over the width ${fixed(rows.overWidth, 2)}, over the height ${fixed(rows.overHeight, 2)}`,
    angle("pitch"),
    angle("yaw"),
    angle("roll"),
    `scale  ${fixed(figures.scalePercent, 3)} %, focal lengths differ by ${reported(figures.focalPixels, "px", 1)}`,
    `from   ${figures.features} features, ${figures.residualRows.toFixed(2)} rows about the fit`,
  ];
}

/** Prints the alignment and the verdict. @param calibrated whether a calibration was given */
export function print({ pairs, figures, problem }: Examination, calibrated: boolean): void {
  if (figures !== undefined) for (const line of lines(figures)) printLine(line);
  const against = calibrated ? "as the calibration says" : "as rectified images should";
  const fits = `the images lie ${against} (${pairs} pair${pairs === 1 ? "" : "s"})`;
  printLine(problem === undefined ? `ok     ${fits}` : `BAD    ${problem.code}: ${problem.text}`);
  if (problem !== undefined) printLine(`hint   ${problem.hint}`);
}

async function check(
  left: string | undefined,
  right: string | undefined,
  options: CheckOptions,
): Promise<void> {
  if (left !== undefined && right === undefined) {
    throw new DepthwattError("USAGE", "expected LEFT and RIGHT, or neither of them, got LEFT alone", {
      hint: "Give the right images too, or none for the source of the configuration.",
    });
  }
  const named = left !== undefined;
  const flags = {
    "source.kind": { flag: "LEFT", value: named ? kindOfPath(left) : undefined },
    ...settingFlags(options),
  };
  const fastest = named && kindOfPath(left) === "replay" ? "max" : undefined;
  const { config } = loadFlagConfig(options, flags, {
    left: { flag: "LEFT", value: left },
    right: { flag: "RIGHT", value: right },
    rateHz: { flag: "LEFT", value: fastest },
  });
  const { source, calibration, warnings } = await openSource(config, { colours: false });
  let examined: Examination;
  try {
    for (const warning of warnings) note(`warning: ${warning}`);
    const geometry = configuredGeometry(config, source.description, calibration);
    const examiner = new Examiner(source.description, lookGeometryFrom(geometry));
    await take(source, options.pairs, (pair) =>
      examiner.add({ left: pair.left.data, right: pair.right.data }),
    );
    if (examiner.pairs === 0)
      throw new DepthwattError("SOURCE_EMPTY", `expected a pair of ${source.description.title}, got none`);
    examined = examiner.finish(config.health);
  } finally {
    await source.stop();
  }
  const { pairs, figures, problem } = examined;
  if (problem !== undefined) process.exitCode = ERROR_CATALOGUE[problem.code].exitCode;
  if (!options.json) return print(examined, calibration !== undefined);
  printJson({
    fits: problem === undefined,
    calibrated: calibration !== undefined,
    pairs,
    problem: problem ?? null,
    alignment: figures ?? { available: false, reason: problem?.text },
  });
}

export function define(command: Command): void {
  describeArguments(command, {
    left: "left images: an image, a folder or a device (default: the configured source)",
    right: "right images",
  });
  withSettingFlags(command, "calibration").option(
    "--pairs <n>",
    "pairs that are compared",
    wholeNumberFrom(1),
    20,
  );
  withExamples(
    withJson(withConfig(command), "print one JSON object"),
    "depthwatt check-calibration left.png right.png",
    "depthwatt check-calibration shots/left shots/right --calibration calibration.json --json",
  ).action(check);
}
