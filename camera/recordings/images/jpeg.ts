// SPDX-License-Identifier: Apache-2.0
// JPEG writer for pictures that people look at. libvips packs it on its own threads.
import type { GreyImage, RgbImage } from "./image.js";
import { loadImageLibrary } from "./image-library.js";

const QUALITY = 80;

/** Encodes a JPEG file of 8 bit grey or colour. JPEG is lossy, so never use it for measurements. */
export async function encodeJpeg(image: GreyImage | RgbImage): Promise<Uint8Array> {
  const { data, width, height } = image;
  const sharp = await loadImageLibrary();
  const channels = data.length === width * height ? 1 : 3;
  return sharp(data, { raw: { width, height, channels } }).jpeg({ quality: QUALITY }).toBuffer();
}
