// SPDX-License-Identifier: Apache-2.0
// A rule between settings that is broken.

export interface BrokenSetting {
  /** The settings involved; the first one is named in front of the text. */
  keys: [string, ...string[]];
  /** One clause: what was expected, and what came. */
  text: string;
}
