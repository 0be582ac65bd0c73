// SPDX-License-Identifier: Apache-2.0
// Finds a source's images from its settings left, right and sideBySide, and checks their combination.
import type { BrokenSetting } from "./source.js";

export interface ImagePlaces {
  left?: string;
  right?: string;
  sideBySide?: string;
}

/** Only the places that are given, as the sources' own options want them. */
export function pickPlaces({ left, right, sideBySide }: ImagePlaces): ImagePlaces {
  return {
    ...(left !== undefined && { left }),
    ...(right !== undefined && { right }),
    ...(sideBySide !== undefined && { sideBySide }),
  };
}

/** Expects left and right, or sideBySide alone. */
export function brokenPlaces(places: ImagePlaces, section: string): BrokenSetting | undefined {
  const keys = Object.keys(pickPlaces(places)).map((name) => `${section}.${name}`);
  const { left, right, sideBySide } = places;
  if (sideBySide === undefined ? left !== undefined && right !== undefined : keys.length === 1)
    return undefined;
  const text = `expected ${section}.left and ${section}.right, or ${section}.sideBySide alone, got `;
  return { keys, text: text + (keys.join(" and ") || "none of them") };
}
