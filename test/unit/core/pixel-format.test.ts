// SPDX-License-Identifier: Apache-2.0
// Which pixel formats have colours.
import { expect, test } from "vitest";
import { hasColours, type PixelFormat } from "../../../core/pixel-format.js";

test.each<[PixelFormat, boolean]>([
  ["GREY", false],
  ["GREY_DISPARITY", false],
  ["Y10", false],
  ["Y12I_LEFT", false],
  ["Y8I_RIGHT", false],
  ["YUYV", true],
  ["UYVY", true],
  ["NV12", true],
  ["RGB8", true],
  ["BAYER_GRBG10P", true],
])("%s has colours: %s", (format, expected) => expect(hasColours(format)).toBe(expected));
