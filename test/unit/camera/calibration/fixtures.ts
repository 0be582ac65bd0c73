// SPDX-License-Identifier: Apache-2.0
// Constructed rigs, and the same rig written in every format that depthwatt reads.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { type Distortion, type StereoCalibration, withHash } from "../../../../camera/calibration/index.js";
import {
  apply,
  type Matrix3,
  rotationMatrix,
  scale,
  type Vector3,
} from "../../../../camera/calibration/matrix.js";

interface RigParameters {
  size: [number, number];
  left: [fx: number, fy: number, cx: number, cy: number];
  right: [fx: number, fy: number, cx: number, cy: number];
  distortion: [left: Distortion, right: Distortion];
  /** Rotation vector of R, radians. */
  turn: Vector3;
  /** The right camera's place in the left camera's frame, metres. */
  centre: Vector3;
}

const cameraMatrix = ([fx, fy, cx, cy]: RigParameters["left"]): Matrix3 => [fx, 0, cx, 0, fy, cy, 0, 0, 1];

export function rig({ size, left, right, distortion, turn, centre }: RigParameters): StereoCalibration {
  const R = rotationMatrix(turn);
  return withHash({
    imageSize: { width: size[0], height: size[1] },
    left: { name: "left", K: cameraMatrix(left), distortion: distortion[0] },
    right: { name: "right", K: cameraMatrix(right), distortion: distortion[1] },
    R,
    T: scale(apply(R, centre), -1),
    files: [],
  });
}

export const plumbBob = (...coefficients: number[]): Distortion => ({ model: "plumb_bob", coefficients });

/** A narrow barrel lens at VGA, 60 mm baseline: the common case. */
export const barrel = rig({
  size: [640, 480],
  left: [520.3, 519.1, 322.7, 236.2],
  right: [523.9, 522.6, 315.4, 244.8],
  distortion: [plumbBob(-0.31, 0.12, 0.0008, -0.0005, -0.02), plumbBob(-0.3, 0.11, -0.0004, 0.0007, -0.015)],
  turn: [0.012, -0.021, 0.008],
  centre: [0.06, 0.0011, -0.0007],
});

/** Both cameras turned inwards by some degrees, an odd size, pincushion lenses. */
export const convergent = rig({
  size: [641, 363],
  left: [700.5, 702.2, 330.1, 177.3],
  right: [698.1, 699.6, 311.9, 190.4],
  distortion: [plumbBob(0.08, -0.05, 0.002, 0.001, 0.01), plumbBob(0.07, -0.04, -0.001, 0.002, 0.008)],
  turn: [-0.01, 0.14, 0.02],
  centre: [0.25, -0.004, 0.01],
});

/** Wide lenses that need the rational model. */
export const rational = rig({
  size: [1280, 720],
  left: [640.2, 641.5, 645.1, 352.8],
  right: [638.7, 640.3, 632.4, 366.6],
  distortion: [
    { model: "rational_polynomial", coefficients: [0.42, -0.11, 0.0002, -0.0003, 0.004, 0.73, -0.02, -0.01] },
    { model: "rational_polynomial", coefficients: [0.4, -0.1, -0.0004, 0.0001, 0.005, 0.71, -0.01, -0.012] },
  ],
  turn: [0.004, 0.013, -0.006],
  centre: [0.12, 0.0003, 0.0011],
});

/** The rational model with thin-prism terms. */
export const thinPrism = rig({
  size: [800, 600],
  left: [610.4, 611.9, 402.2, 297.1],
  right: [612.2, 613.1, 395.5, 303.3],
  distortion: [
    {
      model: "thin_prism",
      coefficients: [-0.2, 0.05, 0.001, 0.0005, 0.002, 0.05, 0.01, 0.001, 0.002, -0.001, 0.0015, 0.0007],
    },
    {
      model: "thin_prism",
      coefficients: [-0.19, 0.04, -0.0006, 0.001, 0.003, 0.04, 0.02, 0.002, -0.0012, 0.0009, 0.0004, -0.0011],
    },
  ],
  turn: [0.006, -0.009, 0.015],
  centre: [0.095, 0.002, 0.0005],
});

/** Equidistant lenses of unequal fx and fy at an odd size. */
export const fisheye = rig({
  size: [849, 801],
  left: [401.2, 397.4, 421.7, 405.2],
  right: [399.6, 396.1, 430.3, 393.9],
  distortion: [
    { model: "equidistant", coefficients: [-0.012, 0.008, -0.006, 0.001] },
    { model: "equidistant", coefficients: [-0.01, 0.006, -0.005, 0.0009] },
  ],
  turn: [0.008, 0.011, -0.013],
  centre: [0.1, -0.0016, 0.002],
});

/** Fisheye lenses of 136 degrees across: the corners of the images are seen at 90 degrees off the axis and more. */
export const wideFisheye = rig({
  size: [400, 300],
  left: [168, 167.7, 202.8, 147],
  right: [169, 168.6, 196.8, 153.9],
  distortion: [
    { model: "equidistant", coefficients: [-0.02, 0.006, -0.002, 0.0003] },
    { model: "equidistant", coefficients: [-0.018, 0.004, -0.001, 0.0001] },
  ],
  turn: [0.004, -0.006, 0.003],
  centre: [0.12, 0.0013, -0.0009],
});

export const rigs = { barrel, convergent, rational, thinPrism, fisheye };

/** Its own folder for each test file, gone at the end. Returns a writer that answers with the path. */
export function temporaryFiles(): (name: string, text: string) => string {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-calibration-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  return (name, text) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
}

const list = (values: readonly number[]): string => `[${values.join(", ")}]`;

export function openCvMatrix(name: string, rows: number, values: readonly number[]): string {
  // Wrapped over lines as OpenCV does it.
  const lines: string[] = [];
  for (let i = 0; i < values.length; i += 4) lines.push(values.slice(i, i + 4).join(", "));
  const data = lines.join(",\n       ");
  return `${name}: !!opencv-matrix\n   rows: ${rows}\n   cols: ${values.length / rows}\n   dt: d\n   data: [ ${data} ]\n`;
}

export function openCvIntrinsics({ left, right, imageSize }: StereoCalibration, withSize = true): string {
  return [
    "%YAML:1.0\n---\n",
    withSize ? `image_width: ${imageSize.width}\nimage_height: ${imageSize.height}\n` : "",
    openCvMatrix("M1", 3, left.K),
    openCvMatrix("D1", 1, left.distortion.coefficients),
    openCvMatrix("M2", 3, right.K),
    openCvMatrix("D2", 1, right.distortion.coefficients),
  ].join("");
}

export function openCvExtrinsics({ R, T }: StereoCalibration): string {
  return `%YAML:1.0\n---\n${openCvMatrix("R", 3, R)}${openCvMatrix("T", 3, T)}`;
}

export function openCvXml({ left, right, imageSize, R, T }: StereoCalibration): string {
  const matrix = (name: string, rows: number, values: readonly number[]): string =>
    `<${name} type_id="opencv-matrix"><rows>${rows}</rows><cols>${values.length / rows}</cols><dt>d</dt>` +
    `<data>\n    ${values.join(" ")}</data></${name}>\n`;
  return [
    '<?xml version="1.0"?>\n<!-- a <comment> -->\n<opencv_storage>\n',
    `<image_size>${imageSize.width} ${imageSize.height}</image_size>\n`,
    matrix("cameraMatrix1", 3, left.K),
    matrix("distCoeffs1", 1, left.distortion.coefficients),
    matrix("cameraMatrix2", 3, right.K),
    matrix("distCoeffs2", 1, right.distortion.coefficients),
    matrix("R", 3, R),
    matrix("T", 3, T),
    "</opencv_storage>\n",
  ].join("");
}

interface RosParts {
  R: Matrix3;
  P: readonly number[];
}

export function rosCameraInfo(
  { left, right, imageSize }: StereoCalibration,
  side: "left" | "right",
  { R, P }: RosParts,
): string {
  const { K, distortion } = side === "left" ? left : right;
  const matrix = (name: string, rows: number, values: readonly number[]): string =>
    `${name}:\n  rows: ${rows}\n  cols: ${values.length / rows}\n  data: ${list(values)}\n`;
  return [
    `image_width: ${imageSize.width}\nimage_height: ${imageSize.height}\ncamera_name: stereo/${side}\n`,
    matrix("camera_matrix", 3, K),
    `distortion_model: ${distortion.model}\n`,
    matrix("distortion_coefficients", 1, distortion.coefficients),
    matrix("rectification_matrix", 3, R),
    matrix("projection_matrix", 3, P),
  ].join("");
}

export function kalibrCamchain(
  { left, right, imageSize, R, T }: StereoCalibration,
  style: "nested" | "flow" = "nested",
  header = "",
): string {
  const rows = [
    [R[0], R[1], R[2], T[0]],
    [R[3], R[4], R[5], T[1]],
    [R[6], R[7], R[8], T[2]],
    [0, 0, 0, 1],
  ];
  const transform =
    style === "nested"
      ? rows.map((row) => `  - ${list(row)}`).join("\n")
      : `    [${rows.map((row) => row.join(",   ")).join(",\n     ")}]`;
  const camera = ({ K, distortion }: StereoCalibration["left"]): string =>
    [
      "  camera_model: pinhole",
      `  intrinsics: ${list([K[0], K[4], K[2], K[5]])}`,
      `  distortion_model: ${distortion.model === "plumb_bob" ? "radtan" : distortion.model}`,
      `  distortion_coeffs: ${list(distortion.coefficients.slice(0, 4))}`,
      `  resolution: ${list([imageSize.width, imageSize.height])}`,
      "  rostopic: /cam/image_raw",
    ].join("\n");
  return `${header}cam0:\n${camera(left)}\ncam1:\n  T_cn_cnm1:\n${transform}\n${camera(right)}\n`;
}
