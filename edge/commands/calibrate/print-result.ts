// SPDX-License-Identifier: Apache-2.0
// A calibration in words: what depthwatt calibrate prints.
import { boardWords, type CalibrationResult } from "../../../camera/index.js";
import { columns, note, paint, printLine } from "../../cli/output.js";
import { lengthWords } from "../../rig/calibrate/index.js";

const percent = (share: number) => `${(100 * share).toFixed(2)} %`;

/** Prints the summary for a person. */
export function printResult(result: CalibrationResult, files: readonly string[]): void {
  const { calibration, deviations } = result;
  for (const pair of result.pairs.filter((one) => !one.used))
    printLine(`left out  ${pair.name}: ${pair.reason}`);
  const rows = [
    ["pairs", `${result.pairsUsed} of ${result.pairs.length} used, board ${boardWords(result.board)}`],
    [
      "error",
      `${result.rmsPixels.toFixed(3)} px rms (left ${result.leftRmsPixels.toFixed(3)}, right ${result.rightRmsPixels.toFixed(3)}), ` +
        `rows ${result.epipolarRmsPixels?.toFixed(3) ?? "unknown"} px apart`,
    ],
    ...(["left", "right"] as const).map((side) => {
      const [fx, , cx, , fy, cy] = calibration[side].K;
      const deviation = deviations?.[side === "left" ? "leftFocalPixels" : "rightFocalPixels"];
      const known =
        deviation === undefined ? "" : ` +- ${deviation.toFixed(2)} px (${percent(deviation / fx)})`;
      return [
        side,
        `focal length ${fx.toFixed(2)} x ${fy.toFixed(2)}${known}, centre ${cx.toFixed(1)} ${cy.toFixed(1)}`,
      ];
    }),
    [
      "rig",
      `baseline ${lengthWords(result.baselineMetres)}` +
        (deviations === undefined
          ? ""
          : ` +- ${lengthWords(deviations.baselineMetres)}, rotation +- ${deviations.rotationDegrees.toFixed(4)} degrees`),
    ],
    ...result.others.map(({ name, images, rmsPixels, deviations: own }) => [
      name,
      `${rmsPixels.toFixed(3)} px rms in ${images} images` +
        (own === undefined
          ? ""
          : `, position +- ${lengthWords(own.positionMetres)}, rotation +- ${own.rotationDegrees.toFixed(4)} degrees`),
    ]),
    [
      "depth",
      `expected error ${result.depthErrors
        .map(({ depthMetres, totalMetres }) => `${lengthWords(totalMetres)} at ${depthMetres} m`)
        .join(", ")} (matching ${result.matchingErrorPixels} px)`,
    ],
    ...files.map((file, at) => [at === 0 ? "written" : "", file]),
  ];
  for (const line of columns(rows)) printLine(line);
  for (const warning of result.warnings) note(`${paint("yellow", "warning:", process.stderr)} ${warning}`);
}
