// SPDX-License-Identifier: Apache-2.0
// depthwatt's own calibration file: versioned JSON, metres, every number of a StereoCalibration.
import { z } from "zod";
import type { CameraCalibration, StereoCalibration } from "./calibration.js";
import {
  type CalibrationDraft,
  type CameraDraft,
  describe,
  type Located,
  type ParsedFile,
  refusal,
} from "./draft.js";

export const CALIBRATION_FORMAT = "depthwatt-calibration";
export const CALIBRATION_VERSION = 1;

const numbers = (count: number) => z.array(z.number()).length(count);
const camera = z.strictObject({
  name: z.string(),
  cameraMatrix: numbers(9),
  distortion: z.strictObject({
    model: z.enum(["none", "plumb_bob", "rational_polynomial", "thin_prism", "equidistant"]),
    coefficients: z.array(z.number()),
  }),
});
const schema = z.strictObject({
  format: z.literal(CALIBRATION_FORMAT),
  version: z.literal(CALIBRATION_VERSION),
  imageSize: z.strictObject({ width: z.int().positive(), height: z.int().positive() }),
  left: camera,
  right: camera,
  /** x_right = rotation x_left + translationMetres. */
  rotation: numbers(9),
  translationMetres: numbers(3),
  rectification: z
    .strictObject({ R1: numbers(9), R2: numbers(9), P1: numbers(12), P2: numbers(12) })
    .optional(),
  /** Cameras next to the pair: x_camera = rotation x_left + translationMetres. */
  otherCameras: z
    .array(
      camera.extend({
        imageSize: z.strictObject({ width: z.int().positive(), height: z.int().positive() }),
        rotation: numbers(9),
        translationMetres: numbers(3),
      }),
    )
    .max(16)
    .optional(),
  corrections: z
    .array(
      z.strictObject({
        date: z.string(),
        from: z.string(),
        pitch: z.number(),
        yaw: z.number(),
        roll: z.number(),
      }),
    )
    .optional(),
});

export function isOwnJson({ root }: ParsedFile): boolean {
  return root.format === CALIBRATION_FORMAT;
}

/** Returns the first problem that zod found, in the words of the other errors. */
function firstProblem(error: z.ZodError, root: unknown): { key: string; expected: string; found: string } {
  const issue = error.issues[0]!;
  const value = issue.path.reduce<unknown>((node, part) => Object(node)[part], root);
  const key = issue.path.join(".") || "(top)";
  if (issue.code === "unrecognized_keys")
    return {
      key,
      expected: "only keys of this format",
      found: issue.keys.map((name) => `"${name}"`).join(", "),
    };
  const expected =
    issue.code === "too_small" && Array.isArray(value)
      ? `${issue.minimum} numbers`
      : issue.code === "too_big" && Array.isArray(value)
        ? `${issue.maximum} numbers`
        : issue.code === "too_small"
          ? `a whole number above ${issue.minimum}`
          : issue.code === "invalid_value"
            ? issue.values.map((one) => JSON.stringify(one)).join(" or ")
            : issue.code === "invalid_type"
              ? (TYPE_WORDS[issue.expected] ?? issue.expected)
              : issue.message;
  return { key, expected, found: describe(value) };
}

const TYPE_WORDS: Record<string, string> = {
  array: "a list of numbers",
  number: "a number",
  int: "a whole number",
  string: "text",
  object: "a mapping",
};

export function readOwnJson({ file, root }: ParsedFile): CalibrationDraft {
  const result = schema.safeParse(root);
  if (!result.success) throw refusal({ file, ...firstProblem(result.error, root) });
  const content = result.data;
  const at = <T>(key: string, value: T): Located<T> => ({ file, key, value });
  const draftOf = (
    key: string,
    { name, cameraMatrix, distortion }: z.infer<typeof camera>,
    size: Located<[number, number]>,
  ): CameraDraft => ({
    name,
    file,
    K: at(`${key}.cameraMatrix`, cameraMatrix),
    model: at(`${key}.distortion.model`, distortion.model),
    coefficients: at(`${key}.distortion.coefficients`, distortion.coefficients),
    size,
  });
  const readCamera = (side: "left" | "right"): CameraDraft =>
    draftOf(side, content[side], at("imageSize", [content.imageSize.width, content.imageSize.height]));
  const given = content.rectification;
  return {
    format: "depthwatt JSON",
    left: readCamera("left"),
    right: readCamera("right"),
    R: at("rotation", content.rotation),
    T: at("translationMetres", content.translationMetres),
    given: given && {
      R1: at("rectification.R1", given.R1),
      R2: at("rectification.R2", given.R2),
      P1: at("rectification.P1", given.P1),
      P2: at("rectification.P2", given.P2),
    },
    others: content.otherCameras?.map((other, i) => {
      const key = `otherCameras[${i}]`;
      const { width, height } = other.imageSize;
      return {
        camera: draftOf(key, other, at(`${key}.imageSize`, [width, height])),
        R: at(`${key}.rotation`, other.rotation),
        T: at(`${key}.translationMetres`, other.translationMetres),
      };
    }),
    corrections: content.corrections,
    swapHint: "Exchange 'left' and 'right', and invert rotation and translationMetres.",
  };
}

/** The text of depthwatt's own calibration file; loadStereoCalibration reads back the same hash. */
export function stringifyCalibration(calibration: StereoCalibration): string {
  const written = ({ name, K, distortion }: CameraCalibration) => ({ name, cameraMatrix: K, distortion });
  const { imageSize, left, right, R, T, given, others, corrections } = calibration;
  const content = {
    format: CALIBRATION_FORMAT,
    version: CALIBRATION_VERSION,
    imageSize,
    left: written(left),
    right: written(right),
    rotation: R,
    translationMetres: T,
    ...(given ? { rectification: given } : {}),
    ...(others && {
      otherCameras: others.map((other) => ({
        ...written(other),
        imageSize: other.imageSize,
        rotation: other.R,
        translationMetres: other.T,
      })),
    }),
    ...(corrections ? { corrections } : {}),
  };
  return `${JSON.stringify(content, undefined, 2)}\n`;
}
