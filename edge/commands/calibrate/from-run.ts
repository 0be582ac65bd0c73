// SPDX-License-Identifier: Apache-2.0
// depthwatt calibrate --from-run: a running device keeps the rotation that it corrects, or returns to the calibration before.
import { DepthwattError, printable } from "../../../core/index.js";
import { ask, printableText } from "../../cli/ask-device.js";
import { columns, note, printJson, printLine } from "../../cli/output.js";
import type { CalibrateFlags } from "./flags.js";

interface Recalibrated {
  file: string;
  before: string;
  saved: { file: string; overridden: string[] } | null;
  corrections: { date: string; pitch: number; yaw: number; roll: number }[];
}

/** @throws DepthwattError USAGE, and of the device's refusal or of the way to it */
export async function recalibrate(flags: CalibrateFlags): Promise<void> {
  const { fromRun: device, undo = false, json } = flags;
  if (device === undefined) throw new DepthwattError("USAGE", "expected --undo with --from-run <device>");
  const answer = await ask({ ...flags, device }, "recalibrate", { undo });
  const { file, before, saved, corrections } = answer as unknown as Recalibrated;
  if (json) {
    printJson({ file, before, saved, corrections });
    return;
  }
  const history = corrections.map(({ date, pitch, yaw, roll }) => [
    printable(date.slice(0, 16)),
    `pitch ${pitch.toFixed(3)}, yaw ${yaw.toFixed(3)}, roll ${roll.toFixed(3)} degrees`,
  ]);
  const rows = [["calibration", printableText(file)], ["before", printableText(before)], ...history];
  for (const line of columns(rows)) printLine(line);
  if (saved === null)
    note(printable(`${device} has no configuration file: start it next time with calibration.file=${file}`));
  else note(printable(`saved to ${saved.file} on ${device}`));
}
