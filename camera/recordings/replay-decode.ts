// SPDX-License-Identifier: Apache-2.0
// Decodes a recording's steps ahead of their turn on libvips' threads, and remembers what a loop will ask for again.
import { DepthwattError, isDepthwattError } from "../../core/index.js";
import type { PixelFormat } from "../frame.js";
import { type GreyImage, readGreyImage, readStereoSideBySide } from "./images/index.js";
import type { ReplayStep } from "./replay-plan.js";

/** Why an image of a step did not become half of a pair. */
export type ReplayDrop = "unmatched" | "unreadable" | "wrongSize" | "partnerLost";

/** A pair of pictures, or per eye the reason why it is lost (undefined = the eye has no image in this step). */
export type DecodedStep =
  | { left: GreyImage; right: GreyImage }
  | { dropLeft: ReplayDrop | undefined; dropRight: ReplayDrop | undefined; error: Error | undefined };

/** What every later picture must be like. */
export interface ReplayShape {
  width: number;
  height: number;
  leftFormat: PixelFormat;
  rightFormat: PixelFormat;
}

export const formatOf = (image: GreyImage): PixelFormat =>
  image.data instanceof Uint16Array ? "Y16" : "GREY";

function wrongShape(image: GreyImage, file: string, shape: ReplayShape, format: PixelFormat) {
  if (image.width === shape.width && image.height === shape.height && formatOf(image) === format)
    return undefined;
  const bits = (name: PixelFormat) => (name === "Y16" ? 16 : 8);
  return new DepthwattError(
    "IMAGE_SIZE_MISMATCH",
    `${file}: expected ${shape.width}x${shape.height} with ${bits(format)} bits like the first pair, ` +
      `found ${image.width}x${image.height} with ${bits(formatOf(image))} bits`,
    { context: { file, width: image.width, height: image.height } },
  );
}

export class StepDecoder {
  readonly #remembered = new Map<number, { left: GreyImage; right: GreyImage }>();
  #budgetBytes: number;
  /** Set once the first pair is known; until then every picture is welcome. */
  shape: ReplayShape | undefined;

  /** @param rememberBytes pictures kept for the next lap, at most; 0 = none */
  constructor(
    readonly steps: readonly ReplayStep[],
    readonly sideBySide: boolean,
    rememberBytes: number,
  ) {
    this.#budgetBytes = rememberBytes;
  }

  /** Never rejects: what is wrong with a file is part of the answer. */
  async decode(index: number): Promise<DecodedStep> {
    const { left, right } = this.steps[index]!;
    if (left === undefined || right === undefined) {
      return { dropLeft: left && "unmatched", dropRight: right && "unmatched", error: undefined };
    }
    const known = this.#remembered.get(index);
    if (known) return known;
    const pictures = this.sideBySide
      ? await readStereoSideBySide(left.file).then(
          (both) => [both.left, both.right] as const,
          (error: Error) => [error, error] as const,
        )
      : await Promise.all([left, right].map((one) => readGreyImage(one.file).catch((error: Error) => error)));
    const [first, second] = this.#checked(pictures[0]!, pictures[1]!, left.file, right.file);
    if (first instanceof Error || second instanceof Error) {
      const cause = (one: GreyImage | Error): ReplayDrop =>
        !(one instanceof Error)
          ? "partnerLost"
          : isDepthwattError(one) && one.code === "IMAGE_SIZE_MISMATCH"
            ? "wrongSize"
            : "unreadable";
      const error = first instanceof Error ? first : (second as Error);
      return { dropLeft: cause(first), dropRight: cause(second), error };
    }
    const pair = { left: first, right: second };
    const bytes = first.data.byteLength + second.data.byteLength;
    if (bytes <= this.#budgetBytes) {
      this.#budgetBytes -= bytes;
      this.#remembered.set(index, pair);
    }
    return pair;
  }

  #checked(left: GreyImage | Error, right: GreyImage | Error, leftFile: string, rightFile: string) {
    const { shape } = this;
    const check = (image: GreyImage | Error, file: string, format: PixelFormat | undefined) =>
      image instanceof Error || !shape || !format ? image : (wrongShape(image, file, shape, format) ?? image);
    return [check(left, leftFile, shape?.leftFormat), check(right, rightFile, shape?.rightFormat)] as const;
  }
}
