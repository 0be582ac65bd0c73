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
/// memory. @param blocks null, or the blocks that each tile searches (sgm.h)
void sgmSumsReference(const SgmParameters& parameters, const SgmImages& images, uint16_t* sums,
                      const uint8_t* blocks = nullptr);

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

// ---- Coarse-to-fine search: semi-global matching in which a tile of pixels searches only what a coarser match suggests.
//   levels  level l + 1 has half the size (prepare/half) and half the range; the first level with at most 64 disparities searches them all.
//   tiles   8 x 8 pixels share a set B of 8 blocks of 4 disparities; coarse-to-fine.md defines how coarse pixels vote for blocks.
//   paths   L(p, d) for d in B(p): C + min(L(q, d), L(q, d-1) + P1, L(q, d+1) + P1, m + P2) - m over B(q); terms outside B(q) are left out.
//   select  the rules of match/select over B(p). The right view is the left winner with the smallest sum that points at a right pixel.
// ties   blocks, winners and the right view: the lowest disparity.   same bits on every backend: integer only.

constexpr int32_t kTileSide = 8;
constexpr int32_t kBlockDisparities = 4;
constexpr int32_t kGuidedBlocks = 8;  ///< blocks that a tile searches
constexpr int32_t kFullRange = 64;    ///< a range of at most this many disparities is searched completely
constexpr int32_t kMaxGuidedP2 = 127;
/// A coarse pixel whose confidence is below this also votes for its second best disparity.
constexpr int32_t kUncertain = 40;

constexpr int32_t tilesAlong(int32_t pixels) { return (pixels + kTileSide - 1) / kTileSide; }
constexpr int32_t blocksOf(int32_t disparities) { return (disparities + kBlockDisparities - 1) / kBlockDisparities; }

/// Returns the parameters of the next coarser level.
inline SgmParameters coarserParameters(SgmParameters p) {
  const int32_t last = (p.minDisparity + p.numDisparities - 1) >> 1;
  p.minDisparity >>= 1;
  p.numDisparities = last - p.minDisparity + 1;
  return p;
}

/// Returns ok, or kParameter with what coarse-to-fine search expects.
Status checkGuidedParameters(const SgmParameters& parameters);

/// The votes of a match for the next finer level, in whole pixels; kInvalidDisparity = no vote.
struct CoarseVotes {
  ImageView<int16_t> winner, second;
};

/// The definition of the votes, from the sums of a level (not searched: kNotSearched).
void coarseVotesReference(const SgmParameters& parameters, const uint16_t* sums, const CoarseVotes& votes);

/// The definition of the choice: blocks [tile][kGuidedBlocks], rising. @param parameters, width, height the finer level
void chooseBlocksReference(const SgmParameters& parameters, int32_t width, int32_t height, const CoarseVotes& coarse,
                           uint8_t* blocks);

/// The fast form of the choice, for the tile rows [first, end).
void chooseBlocks(const SgmParameters& parameters, int32_t width, int32_t height, const CoarseVotes& coarse,
                  uint8_t* blocks, int32_t first, int32_t end);

/// The definition of the right view from the left winners. @param disparity, sums of the left view
void rightFromWinnersReference(const SgmParameters& parameters, const uint16_t* sums,
                               ImageView<const int16_t> disparity, ImageView<int16_t> rightDisparity);

/// The fast form of one level. It allocates its workspace at open.
class GuidedSgm {
 public:
  /// @param coarse false: the result is an SgmResult; true: it is CoarseVotes. A range of at most kFullRange is
  /// searched completely.
  static Status open(const SgmParameters& parameters, int32_t width, int32_t height, bool coarse, InstructionSet set,
                     Workers& workers, GuidedSgm** opened);
  virtual ~GuidedSgm() = default;
  /// Returns the blocks of the tiles, to be chosen before compute() unless the level searches its whole range.
  virtual uint8_t* blocks() = 0;
  virtual void compute(const SgmImages& images, const SgmResult& result) = 0;
  virtual void compute(const SgmImages& images, const CoarseVotes& votes) = 0;
  virtual size_t workspaceBytes() const = 0;
};

}  // namespace depthwatt
