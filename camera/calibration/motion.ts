// SPDX-License-Identifier: Apache-2.0
// Rigid motions between the frames of cameras: y = R x + T.
import { apply, type Matrix3, multiply, scale, transpose, type Vector3 } from "./matrix.js";

export interface Motion {
  readonly R: Matrix3;
  readonly T: Vector3;
}

export const IDENTITY_MOTION: Motion = { R: [1, 0, 0, 0, 1, 0, 0, 0, 1], T: [0, 0, 0] };

export function invertMotion({ R, T }: Motion): Motion {
  const back = transpose(R);
  return { R: back, T: scale(apply(back, T), -1) };
}

/** Returns the motion `second` after `first`. */
export function composeMotions(second: Motion, first: Motion): Motion {
  const moved = apply(second.R, first.T);
  return {
    R: multiply(second.R, first.R),
    T: [moved[0] + second.T[0], moved[1] + second.T[1], moved[2] + second.T[2]],
  };
}
