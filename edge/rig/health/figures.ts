// SPDX-License-Identifier: Apache-2.0
// The figures of a rig as people and programs read them: rows, degrees, percent, each rounded to what it is worth.
import type { AlignmentLook } from "../../../camera/index.js";
import { mean } from "../../../core/index.js";
import { orUnavailable, type Unavailable } from "../../contracts/availability.js";
import { type Alignment, type AlignmentView, estimateAlignment, type Quantity, rowsAt } from "./estimate.js";

export interface RotationFigures {
  /** The total of all three, as far as they are known. */
  total: number;
  /** About the x axis, which points to the right: above 0 the right camera looks further up than it should. */
  pitch: number | Unavailable;
  /** About the y axis, which points down. */
  yaw: number | Unavailable;
  /** About the z axis, which points ahead. */
  roll: number;
}

export interface AlignmentFigures {
  rows: {
    /** Rows by which the right image lies lower than the left one, mean of the features. */
    mean: number;
    /** 95 % of the features are at most so far off, in either direction. */
    p95: number;
    /** Change from the left border to the right one, and from top to bottom. */
    overWidth: number;
    overHeight: number;
  };
  /** By how much the right camera is turned against where the calibration says it is. */
  rotationDegrees: RotationFigures;
  /** One standard deviation of the angles. */
  deviationDegrees: { pitch: number | Unavailable; yaw: number | Unavailable; roll: number };
  /** By how much the right image is larger than the left one. */
  scalePercent: number;
  /** The same as a difference of the focal lengths, right minus left, in pixels of the rectified images. */
  focalPixels: number | Unavailable;
  /** Features of the newest looks that the figures are made of. */
  features: number;
  /** Their standard deviation about the fit. */
  residualRows: number;
}

/** An angle that is less certain than this is not reported, degrees. */
const LEAST_SURE_DEGREES = 0.04;
const DEGREES = 180 / Math.PI;

/** -0 is 0. */
const round = (value: number, digits: number) => Number(value.toFixed(digits)) + 0;

/** @param calibrated whether the view's focal length is known: otherwise angles that need it are not reported */
function alignmentFigures(
  looks: readonly AlignmentLook[],
  alignment: Alignment,
  view: AlignmentView,
  calibrated: boolean,
): AlignmentFigures {
  const { width, height } = view;
  const disparity = typicalDisparity(looks);
  const at = (x: number, y: number) =>
    rowsAt(alignment, view, { x: x * (width - 1), y: y * (height - 1), disparity });
  const { pitch, yaw, roll, scale } = alignment.terms;
  const uncalibrated = "needs a calibration: the focal length is not known";
  const sure = ({ deviation }: Quantity) => deviation * DEGREES <= LEAST_SURE_DEGREES;
  const degrees = (quantity: Quantity, part: keyof Quantity) => {
    if (!calibrated) return orUnavailable<number>(undefined, uncalibrated);
    const reported = part === "deviation" || sure(quantity);
    return orUnavailable(
      reported ? round(quantity[part] * DEGREES, 4) : undefined,
      `too few features: the standard deviation is ${(quantity.deviation * DEGREES).toFixed(2)} degrees`,
    );
  };
  return {
    rows: {
      mean: round(mean(looks.map(({ meanRows }) => meanRows)), 3),
      p95: round(mean(looks.map(({ p95Rows }) => p95Rows)), 3),
      overWidth: round(at(1, 0.5) - at(0, 0.5), 3),
      overHeight: round(at(0.5, 1) - at(0.5, 0), 3),
    },
    rotationDegrees: {
      total: round(Math.hypot(...significant(alignment, calibrated)) * DEGREES, 4),
      pitch: degrees(pitch, "value"),
      yaw: degrees(yaw, "value"),
      roll: round(roll.value * DEGREES, 4),
    },
    deviationDegrees: {
      pitch: degrees(pitch, "deviation"),
      yaw: degrees(yaw, "deviation"),
      roll: round(roll.deviation * DEGREES, 4),
    },
    scalePercent: round(100 * scale.value, 3),
    focalPixels: orUnavailable(
      calibrated ? round(scale.value * view.focalPixels, 2) : undefined,
      uncalibrated,
    ),
    features: alignment.features,
    residualRows: round(alignment.residualRows, 3),
  };
}

/** The angles that are sure enough to count, and larger than chance makes them; radians. */
function significant({ terms: { pitch, yaw, roll } }: Alignment, calibrated: boolean): number[] {
  return (calibrated ? [pitch, yaw, roll] : [roll])
    .filter((one) => one.deviation * DEGREES <= LEAST_SURE_DEGREES && Math.abs(one.value) > 2 * one.deviation)
    .map(({ value }) => value);
}

/** Returns the typical disparity of these looks: the median of their medians, pixels. */
export function typicalDisparity(looks: readonly AlignmentLook[]): number {
  const sorted = looks.map(({ medianDisparity }) => medianDisparity).sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}

/** Joins looks at one rig; undefined where they have too few features. */
export function joined(
  looks: readonly AlignmentLook[],
  view: AlignmentView,
  calibrated: boolean,
): { alignment: Alignment; figures: AlignmentFigures } | undefined {
  const alignment = estimateAlignment(looks, view);
  if (alignment === undefined) return undefined;
  return { alignment, figures: alignmentFigures(looks, alignment, view, calibrated) };
}

/** "0.8 rows, rotation 0.12 degrees": what moved, as one clause. */
export function inWords({
  rows,
  rotationDegrees,
}: Pick<AlignmentFigures, "rows" | "rotationDegrees">): string {
  return `${rows.p95.toFixed(1)} rows, rotation ${rotationDegrees.total.toFixed(2)} degrees`;
}
