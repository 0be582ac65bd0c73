// SPDX-License-Identifier: Apache-2.0
// Semi-global matching: aggregates matching costs along 2, 4 or 8 paths and selects the winners.
//   L_r(p, d) = C(p, d) + min(L_r(q, d), L_r(q, d-1) + P1, L_r(q, d+1) + P1, m + P2) - m,   q = p - r,  m = min_k L_r(q, k)
//   S(p, d) = sum over r of L_r(p, d)                                   (Hernandez-Juarez et al. 2016, eq. 3 and 4)
// C(p, d) = the Hamming distance of the census, plus that of its second words if there are two.
// in   censusLeft, censusRight [height][width] uint32; greyLeft [height][width] uint8 (only where adaptiveP2 > 0)
// out  SgmResult (match/matching.h)
// range  d in [minDisparity, minDisparity + numDisparities); neighbours d-1, d+1 outside it take no part.
// edge   first pixel of a path: L = C. A candidate outside the right image costs outsideCost. At 63 it takes no part in the selection;
//        below, it does, and where it wins, the pixel is a hole.
// paths  2: (1,0) (0,1). 4: and (-1,0) (0,-1). 8: and the four diagonals.
// P2     with adaptiveP2 = alpha > 0: max(p1, p2 - (alpha |I(p) - I(q)|) >> 4), I = greyLeft.
// bound  L - C is in 0..p2, so S <= 8 (kMaxMatchingCost + p2) fits uint16 for every allowed p2.
// ties   selection takes the lowest d.   same bits on every backend: integer only.
#pragma once

#include "../../../core/image.h"
#include "../../../core/status.h"
#include "../../../core/workers.h"
#include "../../simd/instruction_set.h"
#include "../matching.h"

namespace depthwatt {

/// Returns ok, or kParameter with the name, the expected range and the found value.
Status checkSgmParameters(const SgmParameters& parameters);

struct SgmImages {
  ImageView<const uint32_t> censusLeft, censusRight;
  ImageView<const uint8_t> greyLeft;
  ImageView<const uint32_t> moreLeft,
      moreRight;  ///< the second words if parameters.words is 2: at most 62 bits in total
};

/// The definition of the sums: sums [height][width][numDisparities] uint16, all paths added. The caller owns the
/// memory.
void sgmSumsReference(const SgmParameters& parameters, const SgmImages& images, uint16_t* sums);

/// The fast form: aggregation fused with selection, equal to sgmSumsReference followed by selectReference. It allocates
/// its workspace at open, for one size, one set of parameters and one team.
class Sgm {
 public:
  static Status open(const SgmParameters& parameters, int32_t width, int32_t height, InstructionSet set,
                     Workers& workers, Sgm** opened);
  virtual ~Sgm() = default;
  virtual void compute(const SgmImages& images, const SgmResult& result) = 0;
  virtual size_t workspaceBytes() const = 0;
};

}  // namespace depthwatt
