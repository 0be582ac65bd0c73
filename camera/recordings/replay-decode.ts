// SPDX-License-Identifier: Apache-2.0
// Decodes a recording's steps ahead of their turn on libvips' threads, and remembers what a loop will ask for again.
import { DepthwattError, isDepthwattError } from "../../core/index.js";
import type { PixelFormat } from "../frame.js";
import { type EnginePicture, readEnginePicture, readStereoSideBySide } from "./images/index.js";
import type { ReplayStep } from "./replay-plan.js";

/** Why an image of a step did not become half of a pair. */
export type ReplayDrop = "unmatched" | "unreadable" | "wrongSize" | "partnerLost";

/** A pair of pictures, or per side the reason why its picture is lost (undefined: that side has none in this step). */
export type DecodedStep =
  | { left: EnginePicture; right: EnginePicture }
  | { dropLeft: ReplayDrop | undefined; dropRight: ReplayDrop | undefined; error: Error | undefined };

/** The shape that every later image must have. */
export interface ReplayShape {
  width: number;
  height: number;
  leftFormat: PixelFormat;
  rightFormat: PixelFormat;
}

const describeFormat = (format: PixelFormat) =>
  format === "RGB8" ? "in colours" : `with ${format === "Y16" ? 16 : 8} bits`;

function wrongShape(image: EnginePicture, file: string, shape: ReplayShape, format: PixelFormat) {
  if (image.width === shape.width && image.height === shape.height && image.format === format)
    return undefined;
  return new DepthwattError(
    "IMAGE_SIZE_MISMATCH",
    `${file}: expected ${shape.width}x${shape.height} ${describeFormat(format)} like the first pair, ` +
      `found ${image.width}x${image.height} ${describeFormat(image.format)}`,
    { context: { file, width: image.width, height: image.height } },
  );
}

export class StepDecoder {
  readonly #remembered = new Map<number, { left: EnginePicture; right: EnginePicture }>();
  #budgetBytes: number;
  /** Set once the first pair is known; until then every picture is welcome. */
  shape: ReplayShape | undefined;

  /**
   * @param rememberBytes pictures kept for the next lap, at most; 0 = none
   * @param colours RGB8 of pictures that have colours, else grey
   */
  constructor(
    readonly steps: readonly ReplayStep[],
    readonly sideBySide: boolean,
    rememberBytes: number,
    readonly colours = false,
  ) {
    this.#budgetBytes = rememberBytes;
  }

  /** Decodes a step. Never rejects: errors of a file are part of the answer. */
  async decode(index: number): Promise<DecodedStep> {
    const { left, right } = this.steps[index]!;
    if (left === undefined || right === undefined) {
      return { dropLeft: left && "unmatched", dropRight: right && "unmatched", error: undefined };
    }
    const known = this.#remembered.get(index);
    if (known) return known;
    const pictures = this.sideBySide
      ? await readStereoSideBySide(left.file, this.colours).then(
          (both) => [both.left, both.right] as const,
          (error: Error) => [error, error] as const,
        )
      : await Promise.all(
          [left, right].map((one) =>
            readEnginePicture(one.file, this.colours).catch((error: Error) => error),
          ),
        );
    const [first, second] = this.#checked(pictures[0]!, pictures[1]!, left.file, right.file);
    if (first instanceof Error || second instanceof Error) {
      const cause = (one: EnginePicture | Error): ReplayDrop =>
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

  #checked(left: EnginePicture | Error, right: EnginePicture | Error, leftFile: string, rightFile: string) {
    const { shape } = this;
    const check = (image: EnginePicture | Error, file: string, format: PixelFormat | undefined) =>
      image instanceof Error || !shape || !format ? image : (wrongShape(image, file, shape, format) ?? image);
    return [check(left, leftFile, shape?.leftFormat), check(right, rightFile, shape?.rightFormat)] as const;
  }
}
