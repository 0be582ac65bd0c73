// SPDX-License-Identifier: Apache-2.0
// Opens a recording: lists its images, settles their times, pairs them and looks at the first pair.
import { DepthwattError } from "../../core/index.js";
import { type ReplayOptions, ReplaySource } from "./replay.js";
import { StepDecoder } from "./replay-decode.js";
import { type Listing, listImages, settleTimes } from "./replay-listing.js";
import { medianPeriodNs, planSteps, type ReplayStep } from "./replay-plan.js";

const COUNTED_RATE_HZ = 30;

/**
 * Lists a recording, pairs its images and decodes the first pair.
 * @throws DepthwattError SOURCE_UNREADABLE, SOURCE_EMPTY, IMAGE_UNSUPPORTED, IMAGE_SIZE_MISMATCH, CONFIG_INVALID
 */
export async function openReplaySource(options: ReplayOptions): Promise<ReplaySource> {
  const { left, right, sideBySide, rateHz } = options;
  if (
    sideBySide === undefined
      ? left === undefined || right === undefined
      : left !== undefined || right !== undefined
  ) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `expected source.replay.left and source.replay.right, or source.replay.sideBySide alone, found ${JSON.stringify({ left, right, sideBySide })}`,
    );
  }
  if (rateHz !== "max" && !(rateHz > 0)) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `expected source.replay.rateHz above 0 or "max", found ${rateHz}`,
    );
  }
  const countedNs = BigInt(Math.round(1e9 / (rateHz === "max" ? COUNTED_RATE_HZ : rateHz)));
  const paths = sideBySide === undefined ? [left!, right!] : [sideBySide];
  // One after the other: where both sides are wrong, the error names the left one every time.
  const listings: Listing[] = [];
  for (const path of paths) listings.push(await listImages(path));
  const sides = settleTimes(listings, options.timestamps ?? "auto", countedNs);
  const periodNs = medianPeriodNs(sides[0]!) ?? countedNs;
  const steps: ReplayStep[] =
    sideBySide === undefined
      ? planSteps(sides[0]!, sides[1]!, periodNs / 2n)
      : sides[0]!.map((entry) => ({ left: entry, right: entry }));
  if (!steps.some((step) => step.left && step.right)) {
    throw new DepthwattError(
      "SOURCE_EMPTY",
      `${paths.join(" and ")}: expected images taken within ${Number(periodNs) / 2e6} ms of each other, found no such pair`,
      {
        hint: "Check that both folders are of one recording, or count times with source.replay.timestamps: rate.",
      },
    );
  }
  const decoder = new StepDecoder(
    steps,
    sideBySide !== undefined,
    options.loop ? (options.rememberBytes ?? 256 << 20) : 0,
    options.colours ?? false,
  );
  const first = await firstPair(decoder, options.onBadFile ?? "skip");
  if (first.left.width !== first.right.width || first.left.height !== first.right.height) {
    throw new DepthwattError(
      "IMAGE_SIZE_MISMATCH",
      `${paths.join(" and ")}: expected left and right images of one size, found ` +
        `${first.left.width}x${first.left.height} and ${first.right.width}x${first.right.height}`,
    );
  }
  decoder.shape = {
    width: first.left.width,
    height: first.left.height,
    leftFormat: first.left.format,
    rightFormat: first.right.format,
  };
  return new ReplaySource(options, decoder, paths.join(" and "), periodNs);
}

async function firstPair(decoder: StepDecoder, onBadFile: "skip" | "stop") {
  let error: Error | undefined;
  for (let i = 0; i < decoder.steps.length; i++) {
    const step = await decoder.decode(i);
    if ("left" in step) return step;
    error ??= step.error;
    if (error && onBadFile === "stop") break;
  }
  throw error!;
}
