// SPDX-License-Identifier: Apache-2.0
// Measures the disparity of a detection again in the images: the shift that aligns its pixels in the right image with the left one.

export interface RectifiedImages {
  width: number;
  /** Grey, [height][width]; empty: the frame has none. */
  left: Uint8Array;
  right: Uint8Array;
}

export interface Aligned {
  disparityPixels: number;
  /** Standard error that the noise of the images causes. */
  standardErrorPixels: number;
}

/** Pixels that are aligned; of more, every second is read, or third. */
const MAX_ALIGNED = 2000;
/** Fewer pixels fit any shift by chance. */
const LEAST_ALIGNED = 12;
const MAX_STEPS = 6;
const LAST_STEP_PIXELS = 0.005;
/** A shift that is farther from the matched disparity has found another surface. */
const FARTHEST_PIXELS = 0.5;
/** With a larger standard error the texture does not suffice. */
const LARGEST_ERROR_PIXELS = 0.05;

/** Sums over the pixels: qe is that of q times e. */
interface Sums {
  n: number;
  q: number;
  qq: number;
  e: number;
  qe: number;
  ee: number;
  g: number;
  gq: number;
  gg: number;
  ge: number;
  h: number;
  qh: number;
  gh: number;
}

/**
 * Finds one shift for all pixels (Lucas and Kanade 1981): left = right + offset + gain * right, where right is shifted.
 *   e = left - right, q = right, g twice the gradient of left, h that of right along the row: e = offset + gain q - h shift
 * The equations are weighted by 1, q and g. The noise of g does not depend on that of h, so a blank surface gives no information.
 * Right is interpolated by Catmull-Rom splines.
 * @param pixels places in the left image, the first `count` of the array
 * @param start matched disparity, pixels
 * @returns undefined if the pixels have too little texture, or are not alike in the images
 */
export function alignDisparity(
  { width, left, right }: RectifiedImages,
  pixels: Uint32Array,
  count: number,
  start: number,
): Aligned | undefined {
  const stride = Math.max(1, Math.ceil(count / MAX_ALIGNED));
  let disparityPixels = start;
  for (let step = 0; step < MAX_STEPS; step++) {
    const sums: Sums = {
      n: 0,
      q: 0,
      qq: 0,
      e: 0,
      qe: 0,
      ee: 0,
      g: 0,
      gq: 0,
      gg: 0,
      ge: 0,
      h: 0,
      qh: 0,
      gh: 0,
    };
    for (let i = 0; i < count; i += stride) addPixel(sums, left, right, pixels[i]!, width, disparityPixels);
    const found = solve(sums);
    if (found === undefined) return undefined;
    disparityPixels += found.shift;
    if (Math.abs(found.shift) >= LAST_STEP_PIXELS) continue;
    const isSure =
      found.standardError <= LARGEST_ERROR_PIXELS && Math.abs(disparityPixels - start) <= FARTHEST_PIXELS;
    return isSure ? { disparityPixels, standardErrorPixels: found.standardError } : undefined;
  }
  return undefined;
}

function addPixel(
  sums: Sums,
  left: Uint8Array,
  right: Uint8Array,
  at: number,
  width: number,
  disparityPixels: number,
): void {
  const x = at % width;
  const shifted = x - disparityPixels;
  const whole = Math.floor(shifted);
  if (x < 1 || x > width - 2 || whole < 1 || whole > width - 3) return;
  const from = at - x + whole;
  const t = shifted - whole;
  const [a, b, c, d] = [right[from - 1]!, right[from]!, right[from + 1]!, right[from + 2]!];
  const [first, second, third] = [c - a, 2 * a - 5 * b + 4 * c - d, 3 * (b - c) + d - a];
  const q = b + 0.5 * t * (first + t * (second + t * third));
  const h = 0.5 * (first + t * (2 * second + 3 * t * third));
  const g = left[at + 1]! - left[at - 1]!;
  const e = left[at]! - q;
  sums.n++;
  sums.q += q;
  sums.qq += q * q;
  sums.e += e;
  sums.qe += q * e;
  sums.ee += e * e;
  sums.g += g;
  sums.gq += g * q;
  sums.gg += g * g;
  sums.ge += g * e;
  sums.h += h;
  sums.qh += q * h;
  sums.gh += g * h;
}

/** Solves for the shift after offset and gain are eliminated; undefined with few pixels or without texture. */
function solve({ n, q, qq, e, qe, ee, g, gq, gg, ge, h, qh, gh }: Sums) {
  if (n < LEAST_ALIGNED) return undefined;
  // Without contrast the gain is 0.
  const determinant = n * qq - q * q + n;
  const offset = (one: number, byQ: number) => ((qq + 1) * one - q * byQ) / determinant;
  const gain = (one: number, byQ: number) => (n * byQ - q * one) / determinant;
  const rest = (byG: number, one: number, byQ: number) => byG - g * offset(one, byQ) - gq * gain(one, byQ);
  const information = rest(gh, h, qh);
  if (!(information > 0)) return undefined;
  const variance = Math.max(0, ee - e * offset(e, qe) - qe * gain(e, qe)) / (n - 3);
  return {
    shift: -rest(ge, e, qe) / information,
    standardError: Math.sqrt(variance * Math.max(0, rest(gg, g, gq))) / information,
  };
}
