// SPDX-License-Identifier: Apache-2.0
// Two cameras next to the rendered pair, and errors of depth in their images. Plain JavaScript, because the benchmark imports it too.
import {
  rectify,
  registrationView,
  rotationMatrix,
  SceneRenderer,
  sceneCalibration,
  withHash,
} from "../../dist/camera/index.js";
import { loadNative } from "../../dist/edge/contracts/native.js";

const FRAME = 3;
const OPTIONS = /** @type {const} */ ({ width: 640, height: 480, view: "rectified" });

/**
 * 3 cm above and 5 cm next to the left camera, turned by degrees, with a lens that bends.
 * @type {import("../../dist/camera/index.js").OtherCamera}
 */
export const RGB = {
  name: "rgb",
  imageSize: { width: 400, height: 300 },
  K: [310, 0, 203, 0, 308, 147, 0, 0, 1],
  distortion: { model: "plumb_bob", coefficients: [-0.21, 0.06, 0.0008, -0.0006, 0] },
  R: rotationMatrix([0.02, -0.035, 0.012]),
  T: [-0.05, 0.03, 0.01],
};
/** @type {import("../../dist/camera/index.js").OtherCamera} */
export const FISHEYE = {
  ...RGB,
  name: "fisheye",
  K: [190, 0, 199, 0, 190, 151, 0, 0, 1],
  distortion: { model: "equidistant", coefficients: [0.03, -0.01, 0.002, 0] },
};

/**
 * Registers a disparity map of the scene and compares the result with the exact depth in the other camera's image.
 * @param {import("../../dist/camera/index.js").OtherCamera} camera
 * @param {(pair: {left: Uint8Array | Uint16Array, right: Uint8Array | Uint16Array}) => Promise<{disparityQ4: Int16Array, confidence: Uint8Array}>} [match]
 * matches the rectified pair; without it the exact disparity is taken, rounded to 1/16 px
 * @returns share of the image's pixels that have depth, and of these the median relative error and the share that is off by
 * more than 5 %
 */
export async function registrationErrors(camera, match) {
  const calibration = withHash({ ...sceneCalibration(OPTIONS), others: [camera] });
  const rectification = rectify(calibration);
  const renderer = new SceneRenderer(loadNative(), OPTIONS);
  try {
    const { width, height, focalPixels, cx, cy, baselineMetres, disparityOffsetPixels } = rectification;
    const truth = renderer.depthOf(FRAME, camera);
    let disparityQ4;
    let confidence;
    if (match === undefined) {
      const { disparity } = renderer.truth(FRAME, "left", { width, height, focalPixels, cx, cy });
      disparityQ4 = Int16Array.from(disparity.data, (value) => Math.round(16 * value));
      confidence = new Uint8Array(width * height).fill(255);
    } else {
      const { left, right } = await renderer.frame(FRAME);
      ({ disparityQ4, confidence } = await match({ left: left.data, right: right.data }));
    }
    const view = registrationView(calibration, rectification, camera.name);
    const millimetres = new Uint16Array(view.width * view.height);
    const registeredConfidence = new Uint8Array(view.width * view.height);
    const stage = /** @type {(call: object, camera: object) => string} */ (
      /** @type {unknown} */ (loadNative().stages.registration)
    );
    stage(
      {
        variant: "reference",
        width,
        height,
        focalPixels,
        baselineMetres,
        disparityOffsetPixels,
        disparityQ4,
        confidence,
        fill: false,
        millimetres,
        registeredConfidence,
      },
      view,
    );
    const errors = [];
    millimetres.forEach((value, at) => {
      if (value !== 0) errors.push(Math.abs(value / 1000 / truth.data[at] - 1));
    });
    errors.sort((a, b) => a - b);
    return {
      share: errors.length / millimetres.length,
      median: errors[errors.length >> 1] ?? Number.NaN,
      wrong: errors.filter((error) => error > 0.05).length / errors.length,
    };
  } finally {
    renderer.close();
  }
}
