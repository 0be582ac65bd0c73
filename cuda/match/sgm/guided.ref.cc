// SPDX-License-Identifier: Apache-2.0
// The definitions of coarse-to-fine search except its sums (sgm.ref.cc); see sgm.h and coarse-to-fine.md.
#include "sgm.h"

#include <vector>

namespace depthwatt {
namespace {

/// The candidates of a pixel that may win, by absolute disparity.
struct Candidates {
  const SgmParameters& parameters;
  const uint16_t* sums;  ///< of the pixel
  int32_t x;

  int32_t sum(int32_t d) const { return sums[d - parameters.minDisparity]; }
  bool mayWin(int32_t d) const {
    return sum(d) != kNotSearched && (x - d >= 0 || parameters.outsideCost < kNeverOutside);
  }
  /// Returns the lowest disparity with the smallest sum, further than `apart` from `from`, or -1.
  int32_t smallest(int32_t from, int32_t apart) const {
    int32_t best = -1;
    for (int32_t d = parameters.minDisparity; d < parameters.minDisparity + parameters.numDisparities; ++d) {
      const bool apartEnough = d < from - apart || d > from + apart;
      if (mayWin(d) && apartEnough && (best < 0 || sum(d) < sum(best))) best = d;
    }
    return best;
  }
};

/// Adds a vote for a disparity of the coarser level to the blocks within two disparities of it.
void vote(const SgmParameters& p, int32_t coarse, int32_t weight, std::vector<int32_t>& votes) {
  int32_t k = 2 * coarse - p.minDisparity;
  if (k < 0) k = 0;
  if (k > p.numDisparities - 1) k = p.numDisparities - 1;
  const int32_t first = k < 2 ? 0 : k - 2, last = k + 2 < p.numDisparities ? k + 2 : p.numDisparities - 1;
  for (int32_t b = first / kBlockDisparities; b <= last / kBlockDisparities; ++b)
    votes[static_cast<size_t>(b)] += weight;
}

}  // namespace

void coarseVotesReference(const SgmParameters& p, const uint16_t* sums, const CoarseVotes& votes) {
  const int32_t width = votes.winner.width;
  for (int32_t y = 0; y < votes.winner.height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      const Candidates candidates{p, sums + (static_cast<size_t>(y) * width + x) * p.numDisparities, x};
      int16_t& winner = votes.winner.row(y)[x];
      int16_t& second = votes.second.row(y)[x];
      winner = second = kInvalidDisparity;
      const int32_t best = candidates.smallest(-2, 1);
      if (best < 0 || best > x || x < p.holeColumns(width)) continue;
      winner = static_cast<int16_t>(best);
      const int32_t other = candidates.smallest(best, 1);
      if (other < 0) continue;
      const int32_t s0 = candidates.sum(best), s2 = candidates.sum(other);
      if (255 * (s2 - s0) / (s2 > 1 ? s2 : 1) < kUncertain) second = static_cast<int16_t>(other);
    }
  }
}

void chooseBlocksReference(const SgmParameters& p, int32_t width, int32_t height, const CoarseVotes& coarse,
                           uint8_t* blocks) {
  const int32_t count = blocksOf(p.numDisparities);
  const auto isTaken = [](const std::vector<bool>& taken, int32_t b) {
    return b >= 0 && b < static_cast<int32_t>(taken.size()) && taken[static_cast<size_t>(b)];
  };
  for (int32_t j = 0; j < tilesAlong(height); ++j) {
    for (int32_t i = 0; i < tilesAlong(width); ++i, blocks += kGuidedBlocks) {
      std::vector<int32_t> votes(static_cast<size_t>(count), 0);
      const auto last = [](int32_t tile, int32_t side) {
        return (side < 8 * tile + 8 ? side - 1 : 8 * tile + 7) / 2 + 1;
      };
      for (int32_t y = 4 * j - 1; y <= last(j, height); ++y) {
        for (int32_t x = 4 * i - 1; x <= last(i, width); ++x) {
          if (x < 0 || y < 0 || x >= coarse.winner.width || y >= coarse.winner.height) continue;
          const int32_t winner = coarse.winner.row(y)[x], second = coarse.second.row(y)[x];
          if (winner != kInvalidDisparity) vote(p, winner, 2, votes);
          if (second != kInvalidDisparity) vote(p, second, 1, votes);
        }
      }
      std::vector<bool> taken(static_cast<size_t>(count), false);
      for (int32_t n = 0; n < kGuidedBlocks; ++n) {
        // Most votes first; without votes the neighbour of the best taken block or blocks; at first any block.
        int64_t best = -1;
        int32_t chosen = 0;
        for (int32_t b = 0; b < count; ++b) {
          if (isTaken(taken, b)) continue;
          int64_t worth = 0;
          for (const int32_t next : {b - 1, b + 1}) {
            if (isTaken(taken, next)) worth += 1 + votes[static_cast<size_t>(next)];
          }
          if (votes[static_cast<size_t>(b)] > 0) worth = int64_t{1 << 20} * votes[static_cast<size_t>(b)];
          if (worth > best) {
            best = worth;
            chosen = b;
          }
        }
        taken[static_cast<size_t>(chosen)] = true;
      }
      int32_t n = 0;
      for (int32_t b = 0; b < count; ++b) {
        if (isTaken(taken, b)) blocks[n++] = static_cast<uint8_t>(b);
      }
    }
  }
}

void rightFromWinnersReference(const SgmParameters& p, const uint16_t* sums, ImageView<const int16_t> disparity,
                               ImageView<int16_t> rightDisparity) {
  const int32_t width = disparity.width;
  for (int32_t y = 0; y < disparity.height; ++y) {
    std::vector<int32_t> best(static_cast<size_t>(width), kNotSearched);
    for (int32_t x = 0; x < width; ++x) rightDisparity.row(y)[x] = kInvalidDisparity;
    for (int32_t x = 0; x < width; ++x) {
      const int32_t d = disparity.row(y)[x];
      if (d == kInvalidDisparity || d > x) continue;
      const int32_t sum = sums[(static_cast<size_t>(y) * width + x) * p.numDisparities + (d - p.minDisparity)];
      int32_t& smallest = best[static_cast<size_t>(x - d)];
      if (sum >= smallest) continue;  // of equal sums the first: the lowest disparity
      smallest = sum;
      rightDisparity.row(y)[x - d] = static_cast<int16_t>(d);
    }
  }
}

}  // namespace depthwatt
