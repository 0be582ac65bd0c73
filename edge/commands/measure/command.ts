// SPDX-License-Identifier: Apache-2.0
// depthwatt measure: depth quality at a flat target, and the baseline's scale from its known distance.
import { type Command, InvalidArgumentError } from "commander";
import { DepthwattError } from "../../../core/index.js";
import { openEngine } from "../../../cuda/index.js";
import { wholeNumberFrom } from "../../cli/numbers.js";
import {
  type ConfigOptions,
  describeArguments,
  loadFlagConfig,
  withConfig,
  withExamples,
  withJson,
} from "../../cli/options.js";
import { columns, note, printJson, printLine } from "../../cli/output.js";
import { Progress } from "../../cli/progress.js";
import { type SettingOptions, settingFlags, withSettingFlags } from "../../cli/setting-flags.js";
import type { Config } from "../../config/index.js";
import { engineOptionsFrom } from "../../pipeline/engine-options.js";
import { configuredGeometry } from "../../pipeline/geometry.js";
import { Pipeline } from "../../pipeline/pipeline.js";
import { openSource } from "../../run/open-source.js";
import { kindOfPath } from "../../sources/section.js";
import { type Tare, tare, undoTare } from "./tare.js";
import { type Area, Target, type TargetFigures } from "./target.js";

const SETTINGS = ["calibration", "algorithm", "numDisparities", "backend"] as const;
/** Share of the width and height that is measured without a region. */
const CENTRE = 0.4;
/** The target must fill the area for a tare. */
const LEAST_FILL_PERCENT = 50;
const MAX_ANGLE_DEGREES = 10;

interface MeasureOptions extends ConfigOptions, SettingOptions<(typeof SETTINGS)[number]> {
  distance?: number;
  frames: number;
  tare?: true;
  undo?: true;
  json?: boolean;
}

function metres(text: string): number {
  const value = Number(text);
  if (value > 0 && value <= 1000) return value;
  throw new InvalidArgumentError("expected metres, above 0 and up to 1000");
}

/** The region of the settings, or the middle of the image. */
export function measuredArea({ region }: Config, width: number, height: number): Area {
  if (region.width > 0 && region.height > 0) {
    return {
      x: region.x,
      y: region.y,
      width: Math.min(region.width, width - region.x),
      height: Math.min(region.height, height - region.y),
    };
  }
  const [columns, rows] = [Math.round(CENTRE * width), Math.round(CENTRE * height)];
  return { x: (width - columns) >> 1, y: (height - rows) >> 1, width: columns, height: rows };
}

async function measureTarget(
  config: Config,
  options: MeasureOptions,
): Promise<{ area: Area; figures: TargetFigures }> {
  const { source, calibration, warnings } = await openSource(config, { colours: false });
  for (const warning of warnings) note(`warning: ${warning}`);
  let engine: Awaited<ReturnType<typeof openEngine>> | undefined;
  try {
    if (calibration === undefined)
      throw new DepthwattError("CALIBRATION_MISSING", "depth needs a calibration, and there is none");
    const geometry = configuredGeometry(config, source.description, calibration);
    const { width, height, rig } = geometry;
    engine = await openEngine(engineOptionsFrom(config, source, geometry));
    const area = measuredArea(config, width, height);
    const progress = new Progress();
    progress.show(0, options.frames, "frames");
    const target = new Target(area, geometry.depth!, rig!.rectification);
    let measured = 0;
    const pipeline = new Pipeline({
      source,
      engine,
      width,
      height,
      sinks: [],
      frames: options.frames,
      onFrame: ({ slot }) => {
        target.add(slot, width);
        progress.show(++measured, options.frames, "frames");
      },
      onWarning: note,
    });
    await pipeline.run().finally(() => progress.clear());
    const figures = target.figures(options.distance);
    if (figures === undefined) {
      throw new DepthwattError(
        "SOURCE_EMPTY",
        `expected matched pixels in ${area.width}x${area.height} at ${area.x}, ${area.y}, found too few in ${pipeline.frames} frames`,
        { hint: "Point the cameras at a textured flat target, and check match.numDisparities." },
      );
    }
    return { area, figures };
  } finally {
    engine?.close();
    await source.stop();
  }
}

/** Prints the figures for a person. */
export function print({ figures, area }: { figures: TargetFigures; area: Area }): void {
  const { error, spatialNoise, temporalNoise } = figures;
  const noise = (found: typeof temporalNoise) =>
    "available" in found
      ? `unavailable: ${found.reason}`
      : `${found.millimetres.toFixed(2)} mm, ${found.percent.toFixed(2)} %, ${found.subpixels.toFixed(3)} px`;
  const rows = [
    ["area", `${area.width}x${area.height} at ${area.x}, ${area.y}, ${figures.frames} frames`],
    ["fill rate", `${figures.fillRatePercent.toFixed(1)} % matched`],
    ["distance", `${figures.distanceMetres.toFixed(4)} m`],
    ["angle", `${figures.angleDegrees.toFixed(1)} degrees`],
    [
      "error",
      "available" in error
        ? `unavailable: ${error.reason}`
        : `${error.millimetres.toFixed(2)} mm, ${error.percent.toFixed(2)} %`,
    ],
    ["spatial noise", noise(spatialNoise)],
    ["temporal noise", noise(temporalNoise)],
  ];
  for (const line of columns(rows)) printLine(line);
}

/** The file of the settings, which --tare and --undo change. @throws DepthwattError CALIBRATION_MISSING */
function calibrationFile({ calibration }: Config): string {
  if (calibration.file === undefined)
    throw new DepthwattError(
      "CALIBRATION_MISSING",
      "--tare and --undo change a calibration file, and none is given",
    );
  return calibration.file;
}

async function tareWith(config: Config, { distance }: MeasureOptions, figures: TargetFigures): Promise<Tare> {
  const { fillRatePercent, angleDegrees, distanceMetres } = figures;
  if (fillRatePercent < LEAST_FILL_PERCENT || angleDegrees > MAX_ANGLE_DEGREES) {
    throw new DepthwattError(
      "USAGE",
      `expected a target that fills ${LEAST_FILL_PERCENT} % of the area at ${MAX_ANGLE_DEGREES} degrees or less, ` +
        `found ${fillRatePercent.toFixed(1)} % at ${angleDegrees.toFixed(1)} degrees`,
      { hint: "Face a textured flat target. The calibration file is unchanged." },
    );
  }
  const { lengthUnitMetres } = config.calibration;
  return tare(calibrationFile(config), {
    measuredMetres: distanceMetres,
    trueMetres: distance!,
    lengthUnitMetres,
  });
}

async function measure(
  left: string | undefined,
  right: string | undefined,
  options: MeasureOptions,
): Promise<void> {
  if (left !== undefined && right === undefined)
    throw new DepthwattError("USAGE", "expected LEFT and RIGHT, or neither of them, got LEFT alone");
  if (options.tare && options.distance === undefined)
    throw new DepthwattError("USAGE", "--tare needs the true distance: give --distance METRES");
  if (options.tare && options.undo) throw new DepthwattError("USAGE", "expected --tare or --undo, got both");
  const kind = left === undefined ? undefined : kindOfPath(left);
  const flags = { "source.kind": { flag: "LEFT", value: kind }, ...settingFlags(options) };
  const { config } = loadFlagConfig(options, flags, {
    left: { flag: "LEFT", value: left },
    right: { flag: "RIGHT", value: right },
    rateHz: { flag: "LEFT", value: kind === "replay" ? "max" : undefined },
  });
  if (options.undo) {
    const file = calibrationFile(config);
    const baseline = await undoTare(file);
    if (options.json) printJson({ undone: { file, baselineMetres: baseline } });
    else printLine(`${file}: restored, baseline ${(1000 * baseline).toFixed(3)} mm`);
    return;
  }
  if (options.tare) calibrationFile(config);
  const measured = await measureTarget(config, options);
  if (!options.json) print(measured);
  const tared = options.tare ? await tareWith(config, options, measured.figures) : undefined;
  if (options.json) {
    const { area, figures } = measured;
    printJson({ ...figures, area, trueMetres: options.distance ?? null, tare: tared ?? null });
  } else if (tared !== undefined) {
    const { before, after } = tared.baselineMetres;
    printLine(
      `${tared.file}: baseline ${(1000 * before).toFixed(3)} mm -> ${(1000 * after).toFixed(3)} mm ` +
        `(x ${tared.scale.toFixed(5)}); --undo restores ${tared.kept}`,
    );
  }
}

export function define(command: Command): void {
  describeArguments(command, {
    left: "left images: an image, a folder or a device (default: the configured source)",
    right: "right images",
  });
  withSettingFlags(command, ...SETTINGS)
    .option(
      "--distance <metres>",
      "true distance from the left camera to the target, along the optical axis",
      metres,
    )
    .option("--frames <n>", "frames that are measured", wholeNumberFrom(1), 30)
    .option("--tare", "scale the baseline in the calibration file so that the target is at --distance")
    .option("--undo", "restore the calibration file from before the last --tare");
  withExamples(
    withJson(withConfig(command), "print one JSON object"),
    "depthwatt measure --calibration calibration.json --distance 1.5",
    "depthwatt measure shots/left shots/right --calibration calibration.json --distance 1.5 --tare",
    "depthwatt measure --calibration calibration.json --undo",
  ).action(measure);
}
