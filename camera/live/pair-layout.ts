// SPDX-License-Identifier: Apache-2.0
// Describes where the frame of a stereo camera has its two images.

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

/** Returns the size of the frame, pixels, from the size of one image. */
export function frameSize({ width, height }: { width: number; height: number }, layout: PairLayout) {
  if (layout === "interleaved") return { width, height };
  return isStacked(layout) ? { width, height: 2 * height } : { width: 2 * width, height };
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
