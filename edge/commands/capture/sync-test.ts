// SPDX-License-Identifier: Apache-2.0
// Measures when the cameras really expose, from a blinking light or a counter on a screen.
import { InvalidArgumentError } from "commander";
import { BlinkPhase, type ExposureSkew, type PairSource, ScreenCounter } from "../../../camera/index.js";
import { columns, printLine } from "../../cli/output.js";
import { lookAtPairs, type PairCount } from "./look-at-pairs.js";

/** Both cameras see a light that blinks at this frequency, Hz, or the page of screen-page.ts. */
export type SyncSign = number | "screen";

/** Blinks are at least two rows and at most half a second long. */
export function syncSignFrom(text: string): SyncSign {
  if (text === "screen") return text;
  const hertz = Number(text);
  if (hertz >= 1 && hertz <= 20_000) return hertz;
  throw new InvalidArgumentError("expected Hz, from 1 to 20000, or screen");
}

/** Shows the pairs that the options ask for to the test. @throws DepthwattError of the source, SYNC_UNMEASURED */
export async function measureSync(
  source: Pick<PairSource, "start">,
  options: PairCount,
  sign: SyncSign,
): Promise<ExposureSkew> {
  const test = sign === "screen" ? new ScreenCounter() : new BlinkPhase(sign);
  await lookAtPairs(source, options, (pair) => test.add(pair));
  return test.result();
}

export function printSync({ offsetUs, periodUs, statedUs, lineTimeUs, frames }: ExposureSkew): void {
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
