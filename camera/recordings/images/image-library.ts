// SPDX-License-Identifier: Apache-2.0
// Loads sharp, which decodes and encodes images by libvips.
import { DepthwattError } from "../../../core/index.js";

/**
 * Loads the image library on first use: its libraries are 20 MB, and most runs read no image.
 * @throws DepthwattError IMAGE_LIBRARY_MISSING
 */
export async function loadImageLibrary() {
  try {
    return (await import("sharp")).default;
  } catch (cause) {
    const reason = (cause as Error).message.trim().split("\n")[0];
    throw new DepthwattError(
      "IMAGE_LIBRARY_MISSING",
      `expected the image library sharp to load, found: ${reason}`,
      {
        cause,
      },
    );
  }
}
