// SPDX-License-Identifier: Apache-2.0
// A configuration for tests of several rigs, without `rigs`: small rendered images, no outputs.

export const TOP = {
  board: "none",
  device: "cart",
  power: { sensor: "none" },
  source: { kind: "synthetic", synthetic: { width: 160, height: 96, rateHz: 60 } },
  match: { numDisparities: 32 },
  outputs: { mqtt: { broker: "none" }, viewer: { enabled: false } },
};
