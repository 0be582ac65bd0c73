// SPDX-License-Identifier: Apache-2.0
// Measures how the cameras of a pair lie to each other, and turns a rectification map accordingly.
export {
  ALIGNMENT_TERMS,
  type AlignmentExports,
  type AlignmentLook,
  type AlignmentTerm,
  type MapTurn,
  type PairAlignerOptions,
} from "./native.js";
export { PairAligner, turnMap } from "./pair-aligner.js";
