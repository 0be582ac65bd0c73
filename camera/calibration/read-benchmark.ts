// SPDX-License-Identifier: Apache-2.0
// Calibrations of benchmarks, whose images are rectified: calib.txt of Middlebury and ETH3D, and KITTI's projection matrices.
import {
  type CalibrationDraft,
  type FormatName,
  type ParsedFile,
  readNumbers,
  readSize,
  refusal,
} from "./draft.js";

const IDENTITY = [1, 0, 0, 0, 1, 0, 0, 0, 1];
const MILLIMETRES = 0.001;
/** Pairs of KITTI's cameras: colour before grey, because its images of 2015 are colour. */
const KITTI_PAIRS = [
  [2, 3],
  [0, 1],
] as const;
const KITTI_KEYS = ["P_rect_0", "P"];

/** Returns whether the text is Middlebury's calib.txt, which is "key=value" lines. Takes linear time. */
export const isMiddleburyText = (text: string): boolean => /^[ \t]*cam0[ \t]*=/m.test(text);

/** Reads "key=value" lines; a matrix is "[a b c; d e f; g h i]". */
export function parseMiddlebury(text: string): Record<string, unknown> {
  const entries = text.split("\n").flatMap((line): [string, unknown][] => {
    const at = line.indexOf("=");
    if (at < 0) return [];
    const value = line.slice(at + 1).trim();
    const isList = value.startsWith("[") && value.endsWith("]");
    const words = () => value.slice(1, -1).split(/[\s;,]+/);
    return [[line.slice(0, at).trim(), isList ? words().filter((word) => word !== "") : value]];
  });
  return Object.fromEntries(entries);
}

export const isMiddlebury = ({ root }: ParsedFile): boolean => "cam0" in root && "baseline" in root;

interface Rectified {
  format: FormatName;
  file: string;
  /** Keys of both camera matrices and of the baseline, for messages. */
  keys: readonly [left: string, right: string, baseline: string];
  K: readonly [left: number[], right: number[]];
  baselineMetres: number;
  size: CalibrationDraft["left"]["size"];
}

/** Two cameras without distortion and rotation. */
function rectifiedDraft({ format, file, keys, K, baselineMetres, size }: Rectified): CalibrationDraft {
  const located = (key: string, value: readonly number[]) => ({ file, key, value: [...value] });
  const camera = (name: string, key: string, value: number[]) => ({
    name,
    file,
    K: located(key, value),
    model: undefined,
    coefficients: undefined,
    size,
  });
  const projection = ([fx, , cx, , fy, cy]: number[], shift: number) => [
    ...[fx!, 0, cx!, shift],
    ...[0, fy!, cy!, 0],
    ...[0, 0, 1, 0],
  ];
  const [leftKey, rightKey, baselineKey] = keys;
  const [left, right] = K;
  return {
    format,
    left: camera("left", leftKey, left),
    right: camera("right", rightKey, right),
    R: located(baselineKey, IDENTITY),
    T: located(baselineKey, [-baselineMetres, 0, 0]),
    given: {
      R1: located(leftKey, IDENTITY),
      R2: located(rightKey, IDENTITY),
      P1: located(leftKey, projection(left, 0)),
      P2: located(rightKey, projection(right, -right[0]! * baselineMetres)),
    },
    swapHint: "The format names the left camera first.",
  };
}

export function readMiddlebury({ file, root }: ParsedFile): CalibrationDraft {
  const matrix = (key: string) => readNumbers(root[key], { file, key }, [9]).value;
  const [baseline] = readNumbers([root.baseline], { file, key: "baseline" }, [1]).value;
  return rectifiedDraft({
    format: "Middlebury calib.txt",
    file,
    keys: ["cam0", "cam1", "baseline"],
    K: [matrix("cam0"), matrix("cam1")],
    baselineMetres: baseline! * MILLIMETRES,
    size: readSize(root, ["width", "height"], file),
  });
}

function kittiKeys({ root }: ParsedFile): [left: string, right: string, camera: number] | undefined {
  for (const [left, right] of KITTI_PAIRS)
    for (const key of KITTI_KEYS)
      if (typeof root[`${key}${left}`] === "string" && typeof root[`${key}${right}`] === "string")
        return [`${key}${left}`, `${key}${right}`, left];
  return undefined;
}

export const isKitti = (file: ParsedFile): boolean => kittiKeys(file) !== undefined;

/** Reads P_rect_02 and P_rect_03 of calib_cam_to_cam, or P2 and P3 of calib; without them cameras 0 and 1. */
export function readKitti(parsed: ParsedFile): CalibrationDraft {
  const { file, root } = parsed;
  const [leftKey, rightKey, camera] = kittiKeys(parsed)!;
  const words = (key: string) => String(root[key]).trim().split(/\s+/);
  const matrix = (key: string) => readNumbers(words(key), { file, key }, [12]).value;
  const [left, right] = [matrix(leftKey), matrix(rightKey)];
  const focal = right[0]!;
  if (!(focal > 0))
    throw refusal({ file, key: `${rightKey}[0]`, expected: "a focal length above 0", found: `${focal}` });
  const sizeKey = `S_rect_0${camera}`;
  const [width, height] =
    root[sizeKey] === undefined ? [] : readNumbers(words(sizeKey), { file, key: sizeKey }, [2]).value;
  const K = ([fx, , cx, , , fy, cy]: number[]) => [fx!, 0, cx!, 0, fy!, cy!, 0, 0, 1];
  return rectifiedDraft({
    format: "KITTI calibration",
    file,
    keys: [leftKey, rightKey, `${rightKey}[3]`],
    K: [K(left), K(right)],
    baselineMetres: (left[3]! - right[3]!) / focal,
    size: width === undefined ? undefined : { file, key: sizeKey, value: [width, height!] },
  });
}
