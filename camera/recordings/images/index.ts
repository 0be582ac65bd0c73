// SPDX-License-Identifier: Apache-2.0
// Pictures and disparity maps on disk.
export { colourDisparity, DISPARITY_COLOURS, shownRange } from "./colour-map.js";
export {
  decodeEnginePicture,
  decodeGreyImage,
  type EnginePicture,
  pictureFromSamples,
  readEnginePicture,
  readGreyImage,
  readImageBytes,
  readPfm,
  readRgbImage,
  readStereoSideBySide,
  splitSideBySide,
} from "./decode.js";
export {
  checkColourName,
  checkDisparityName,
  disparityFromQ4,
  disparityToPng16,
  readDisparity,
  writeDisparity,
  writeImage,
} from "./disparity-files.js";
export { makeFolder } from "./folder.js";
export type { FloatImage, GreyImage, RgbImage } from "./image.js";
export { cropColumns, greyFromSamples } from "./image.js";
export { encodeJpeg } from "./jpeg.js";
export { decodePfm, decodePgm, decodePpm, encodePfm, encodePgm } from "./netpbm.js";
export { encodePng } from "./png.js";
