// SPDX-License-Identifier: Apache-2.0
// Describes where the frame of a stereo camera has its two images.
import { DepthwattError } from "../../core/index.js";

/** The first name is the left camera's place. `interleaved`: every pixel has a sample of each image (Y8I, Y12I). */
export const PAIR_LAYOUTS = ["leftRight", "rightLeft", "topBottom", "bottomTop", "interleaved"] as const;
export type PairLayout = (typeof PAIR_LAYOUTS)[number];

export const LAYOUT_TITLES: Record<PairLayout, string> = {
  leftRight: "side by side",
  rightLeft: "side by side, right image first",
  topBottom: "left image above the right one",
  bottomTop: "right image above the left one",
  interleaved: "both images in every pixel",
};

/** Formats under which drivers also list interleaved pairs of 8 bits, as the MYNT S does. */
export const isPairOfBytes = (format: string) => format === "YUYV" || format === "Y16";

export const isStacked = (layout: PairLayout) => layout === "topBottom" || layout === "bottomTop";

/** Returns whether this side's image comes second in the frame. */
export const isSecond = (layout: PairLayout, side: "left" | "right") =>
  side === "right"
    ? layout === "leftRight" || layout === "topBottom"
    : layout === "rightLeft" || layout === "bottomTop";

/** Pixels of a frame around its two images. */
export interface Margins {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export const NO_MARGINS: Margins = { left: 0, top: 0, right: 0, bottom: 0 };

/** Parses "left,top,right,bottom". @throws DepthwattError CONFIG_INVALID, also if left or top is odd */
export function parseMargins(text: string): Margins {
  const found = /^(\d{1,5}),(\d{1,5}),(\d{1,5}),(\d{1,5})$/.exec(text)?.slice(1).map(Number);
  const [left = 1, top = 1, right = 0, bottom = 0] = found ?? [];
  // An odd offset would begin in the middle of a colour filter's pattern.
  if (left % 2 === 0 && top % 2 === 0) return { left, top, right, bottom };
  throw new DepthwattError(
    "CONFIG_INVALID",
    `Expected source.v4l2.margins as left,top,right,bottom with even left and top, such as 48,0,840,8, got ${text}.`,
  );
}

/** Returns the size of the frame, pixels, from the size of one image. */
export function frameSize(
  { width, height }: { width: number; height: number },
  layout: PairLayout,
  { left, top, right, bottom } = NO_MARGINS,
) {
  const across = layout === "interleaved" || isStacked(layout) ? 1 : 2;
  const down = isStacked(layout) ? 2 : 1;
  return { width: left + across * width + right, height: top + down * height + bottom };
}

/** Returns the sizes for a source's title: of each of two frames, or of one frame and its images. @param frame undefined: two */
export const titleSize = (
  image: { width: number; height: number },
  frame: { width: number; height: number } | undefined,
): string => (frame ? sizeWords(frame, image) : `${image.width}x${image.height} each`);

/** Returns the size of a frame for messages, with that of its images if it has both. */
export function sizeWords(
  frame: { width: number; height: number },
  image: { width: number; height: number },
): string {
  const words = `${frame.width}x${frame.height}`;
  const isOne = frame.width === image.width && frame.height === image.height;
  return isOne ? words : `${words} (two images of ${image.width}x${image.height})`;
}
