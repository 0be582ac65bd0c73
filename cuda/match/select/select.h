// SPDX-License-Identifier: Apache-2.0
// Selects each pixel's disparity from the sums of path costs: winner, sub-pixel, uniqueness, confidence, right winner.
//   candidates of (x, y): d in [min, min + num) with 0 <= x - d < width. None: everything invalid, confidence 0.
//   with outsideCost < 63 all d in [min, min + num) are candidates of the left view. Where x - d0 < 0 won, and in the first
//                min(min + kFewestCandidates, width / 8) columns, everything is invalid and the confidence 0.
//   winner       S0 = smallest S(x, y, d) over the candidates, d0 = the lowest d that has it            (Hernandez-Juarez et al. 2016, eq. 4)
//   sub-pixel    S- = S(d0-1), S+ = S(d0+1): n = 8 (S- - S+), q = S- + S+ - 2 S0, delta = floor((2 n + q) / (2 q)) in 1/16 px;
//                delta = 0 where a neighbour is no candidate or q <= 0.  disparityQ4 = 16 d0 + delta
//   uniqueness   u > 0: rejected (invalid) if S(d) (100 - u) < 100 S0 for any candidate |d - d0| > 1
//   confidence   floor(255 (S2 - S0) / max(S2, 1)), S2 = smallest S outside d0-1..d0+1; 0 where there is no such candidate
//                or the winner was rejected
//   right winner of (xr, y): the d with smallest S(xr + d, y, d) over d with xr + d < width; ties to the lowest d
// out  disparity (whole pixels) holds d0 even where uniqueness rejected it: the left-right check works on winners.
// same bits on every backend: integer only, ratios compared by cross-multiplication.
#pragma once

#include "../matching.h"

namespace depthwatt {

/// The definition. sums [height][width][numDisparities] uint16.
void selectReference(const SgmParameters& parameters, const uint16_t* sums, const SgmResult& result);

}  // namespace depthwatt
