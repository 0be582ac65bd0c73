// SPDX-License-Identifier: Apache-2.0
// Names of ArUco dictionaries; place in this list is the number that the addon knows (dictionaries.h).

/** OpenCV's DICT_4X4_50, _100 and _250 begin with the same markers: how many a board has does not matter. */
export const DICTIONARIES = ["4x4", "5x5", "6x6", "7x7"] as const;
export type Dictionary = (typeof DICTIONARIES)[number];
