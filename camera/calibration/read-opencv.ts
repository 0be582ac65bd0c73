// SPDX-License-Identifier: Apache-2.0
// OpenCV FileStorage: intrinsics and extrinsics, in one file or several, under the key names people use.
import {
  type CalibrationDraft,
  type CameraDraft,
  isRecord,
  type Located,
  type OtherDraft,
  type ParsedFile,
  readNumbers,
  readSize,
  refusal,
} from "./draft.js";

/** "camera_matrix_left", "leftCameraMatrix" and "LEFT.K" all become their letters and digits in lower case. */
const canonical = (key: string): string => key.toLowerCase().replace(/[^a-z0-9]/g, "");

const CAMERA_WORDS = ["m", "k", "cameramatrix", "intrinsicmatrix", "intrinsics", "intrinsic"];
const DISTORTION_WORDS = ["d", "distcoeffs", "distcoeff", "distortion", "distortioncoefficients", "dist"];
const LEFT_WORDS = ["1", "left", "l"];
const RIGHT_WORDS = ["2", "right", "r"];
const ROTATION_WORDS = ["r", "rotation", "rotationmatrix", "rstereo", "rlr", "r12"];
const TRANSLATION_WORDS = ["t", "translation", "translationvector", "trans", "tstereo", "tlr", "t12"];
/** The largest number of a camera in keys such as cameraMatrix3. */
const LAST_CAMERA = 18;

/** Every spelling of a word with a side, before or behind it. */
function sided(words: readonly string[], sides: readonly string[]): string[] {
  return sides.flatMap((side) =>
    words.flatMap((word) => (/^\d/.test(side) ? [word + side] : [word + side, side + word])),
  );
}

interface Found {
  file: string;
  key: string;
  value: unknown;
}

function find(files: readonly ParsedFile[], names: readonly string[]): Found | undefined {
  for (const name of names) {
    for (const { file, root } of files) {
      for (const [key, value] of Object.entries(root)) {
        if (canonical(key) === name && value !== null) return { file, key, value };
      }
    }
  }
  return undefined;
}

const matrixKeys = sided(CAMERA_WORDS, LEFT_WORDS);

/** A file is OpenCV's when it holds a camera matrix, or one of a pair's, under any of the names. */
export function isOpenCv({ root }: ParsedFile): boolean {
  return Object.keys(root).some((key) => {
    const name = canonical(key);
    return matrixKeys.includes(name) || name === "cameramatrix" || TRANSLATION_WORDS.includes(name);
  });
}

/** A list or matrix; "k3" may also be a single coefficient. */
const findMatrix = (files: readonly ParsedFile[], names: readonly string[]): Found | undefined => {
  const found = find(files, names);
  return typeof found?.value === "object" ? found : undefined;
};

/** The camera `number` of a file that numbers its cameras, next to the pair of cameras 1 and 2, as OpenCV's 3calibration writes it. */
function otherCamera(files: readonly ParsedFile[], number: string): OtherDraft | undefined {
  const K = findMatrix(files, sided(CAMERA_WORDS, [number]));
  if (K === undefined) return undefined;
  const D = findMatrix(files, sided(DISTORTION_WORDS, [number]));
  const model = find(files, [`distortionmodel${number}`]) ?? find(files, ["distortionmodel", "cameramodel"]);
  const pose = (words: readonly string[], key: string, expected: string, count: number) => {
    const found = findMatrix(files, sided(words, [`1${number}`]));
    if (found !== undefined) return readNumbers(found.value, found, [count]);
    throw refusal({ file: K.file, key: `${key}1${number}`, expected, found: "no such key" });
  };
  const size = find(files, [`imagesize${number}`]);
  const own = size && readNumbers(size.value, size, [2]);
  return {
    camera: {
      name: `camera${number}`,
      file: K.file,
      K: readNumbers(K.value, K, [9]),
      model: model && { file: model.file, key: model.key, value: String(model.value) },
      coefficients: D && readNumbers(D.value, D, [4, 5, 8, 12, 14]),
      size: own ? { ...own, value: [own.value[0]!, own.value[1]!] } : findImageSize(files),
    },
    R: pose(["r", "rotation"], "R", `the rotation from camera 1 to camera ${number} (3 x 3)`, 9),
    T: pose(["t", "translation"], "T", `the translation from camera 1 to camera ${number} (3 numbers)`, 3),
  };
}

function findImageSize(files: readonly ParsedFile[]): Located<[number, number]> | undefined {
  for (const { file, root } of files) {
    for (const keys of [
      ["image_width", "image_height"],
      ["imageWidth", "imageHeight"],
      ["width", "height"],
    ] as const) {
      const size = readSize(root, keys, file);
      if (size) return size;
    }
  }
  const found = find(files, ["imagesize", "size", "imgsize", "calibrationsize"]);
  if (!found) return undefined;
  const [key, value] = [found.key, found.value];
  if (isRecord(value) && "width" in value) return readSize(value, ["width", "height"], found.file);
  const numbers = readNumbers(value, { file: found.file, key }, [2]);
  return { ...numbers, value: [numbers.value[0]!, numbers.value[1]!] };
}

function camera(
  files: readonly ParsedFile[],
  side: "left" | "right",
  own: ParsedFile | undefined,
): CameraDraft {
  const sides = side === "left" ? LEFT_WORDS : RIGHT_WORDS;
  // A file per camera ("camera_matrix" without a side) is distinguished by the order in which the files were given.
  const K = find(files, sided(CAMERA_WORDS, sides)) ?? (own && find([own], ["cameramatrix"]));
  const D =
    find(files, sided(DISTORTION_WORDS, sides)) ??
    (own && find([own], ["distortioncoefficients", "distcoeffs"]));
  const names = files.map(({ file }) => file).join(", ");
  if (!K) {
    const key = side === "left" ? "M1" : "M2";
    throw refusal({ file: names, key, expected: `the ${side} camera matrix (3 x 3)`, found: "no such key" });
  }
  const model = find(own ? [own] : files, ["distortionmodel", "cameramodel"]);
  return {
    name: side,
    file: K.file,
    K: readNumbers(K.value, K, [9]),
    model: model && { file: model.file, key: model.key, value: String(model.value) },
    coefficients: D && readNumbers(D.value, D, [4, 5, 8, 12, 14]),
    size: findImageSize(own ? [own] : files),
  };
}

export function readOpenCv(files: readonly ParsedFile[]): CalibrationDraft {
  const single = files.filter((file) => find([file], ["cameramatrix"]) && !find([file], matrixKeys));
  const R = find(files, ROTATION_WORDS);
  const T = find(files, TRANSLATION_WORDS);
  const names = files.map(({ file }) => file).join(", ");
  const hint =
    "Give the file that stereoCalibrate's R and T were written to as well, such as intrinsics.yml,extrinsics.yml.";
  for (const [key, found, what] of [
    ["R", R, "the rotation from the left to the right camera (3 x 3)"],
    ["T", T, "the translation from the left to the right camera (3 numbers)"],
  ] as const) {
    if (!found) throw refusal({ file: names, key, expected: what, found: "no such key", hint });
  }
  const rectification = (["r1", "r2", "p1", "p2"] as const).map((name) => find(files, [name]));
  const [R1, R2, P1, P2] = rectification;
  return {
    format: "OpenCV FileStorage",
    left: camera(files, "left", single[0]),
    right: camera(files, "right", single[1]),
    R: readNumbers(R!.value, R!, [9]),
    T: readNumbers(T!.value, T!, [3]),
    given:
      R1 && R2 && P1 && P2
        ? {
            R1: readNumbers(R1.value, R1, [9]),
            R2: readNumbers(R2.value, R2, [9]),
            P1: readNumbers(P1.value, P1, [12]),
            P2: readNumbers(P2.value, P2, [12]),
          }
        : undefined,
    others: Array.from({ length: LAST_CAMERA - 2 }, (_, at) => otherCamera(files, String(at + 3))).filter(
      (other) => other !== undefined,
    ),
    swapHint:
      "Exchange the two cameras when calibrating, or exchange M1 with M2, D1 with D2, and invert R and T.",
  };
}
