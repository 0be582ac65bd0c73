// SPDX-License-Identifier: Apache-2.0
// Coarse-to-fine search on CUDA: each tile chooses its blocks from the votes of the coarser level. A warp serves a tile,
// lane i the blocks i, i + 32, and so on.
#pragma once

#include "guided_tile.cuh"

namespace depthwatt {
namespace gpu {

constexpr int kChooseWarps = 4;

/// The blocks of the next finer level that a disparity votes for, the first and the last one: a byte each.
constexpr uint32_t kNoVote = 0xffff;
__device__ __forceinline__ uint32_t voteOf(int disparity, int minDisparity, int numDisparities) {
  const int last = numDisparities - 1, k = min(max(2 * disparity - minDisparity, 0), last);
  const int first = max(k - 2, 0) / kBlockDisparities, end = min(k + 2, last) / kBlockDisparities;
  return static_cast<uint32_t>(first | end << 8);
}

/// The votes of a level's pixels: of the winner in the lower half, and above it of the second best disparity.
struct GuidedVotes {
  uint32_t* votes;
  int width, height;
  int minDisparity, numDisparities;  ///< of the next finer level
};

/// @param kRounds blocks of a lane
template <int kRounds>
__global__ void __launch_bounds__(32 * kChooseWarps)
    guidedChooseKernel(GuidedArguments a, GuidedVotes coarse, uint8_t* lists) {
  __shared__ int votes[kChooseWarps][32 * kRounds];
  const int warp = warpOfBlock(), lane = threadIdx.x & 31, tile = blockIdx.x * kChooseWarps + warp;
  untilKernelBefore();
  if (tile >= a.tilesAcross * a.tilesDown) return;
  int* const own = votes[warp];
#pragma unroll
  for (int i = 0; i < kRounds; ++i) own[lane + 32 * i] = 0;
  __syncwarp();
  const auto vote = [&](uint32_t blocks, int weight) {
    if (blocks == kNoVote) return;
    atomicAdd(own + (blocks & 255u), weight);
    if ((blocks >> 8) != (blocks & 255u)) atomicAdd(own + (blocks >> 8), weight);
  };
  const int i = tile % a.tilesAcross, j = tile / a.tilesAcross;
  constexpr int kSide = kTileSide / 2, kAcross = kSide + 2;
  const int endX = min((min(a.width, kTileSide * (i + 1)) - 1) / 2 + 2, coarse.width);
  const int endY = min((min(a.height, kTileSide * (j + 1)) - 1) / 2 + 2, coarse.height);
#pragma unroll
  for (int n = lane; n < kAcross * kAcross; n += 32) {
    const int x = kSide * i - 1 + n % kAcross, y = kSide * j - 1 + n / kAcross;
    if (x < 0 || y < 0 || x >= endX || y >= endY) continue;
    const uint32_t pixel = coarse.votes[static_cast<size_t>(y) * coarse.width + x];
    vote(pixel & 0xffffu, 2);
    vote(pixel >> 16, 1);
  }
  __syncwarp();
  // A key is the smaller, the better a block is: most votes, else most votes of taken neighbours, then the lowest number.
  // A vote counts more than all votes of neighbours.
  constexpr uint32_t kVoted = 512, kMaxWorth = 0xffff, kTaken = 0xffffffff;
  uint32_t key[kRounds], taken[kRounds];
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    const int block = lane + 32 * r;
    key[r] = block < a.blocks ? (kMaxWorth - kVoted * own[block]) << 8 | block : kTaken;
  }
#pragma unroll 1
  for (int n = 0; n < kGuidedBlocks; ++n) {
    uint32_t least = key[0];
#pragma unroll
    for (int r = 1; r < kRounds; ++r) least = min(least, key[r]);
    least = warpMin(least);
    const int block = static_cast<int>(least & 255u);
    const uint32_t worth = kMaxWorth - (least >> 8), more = (1 + worth / kVoted) << 8;
#pragma unroll
    for (int r = 0; r < kRounds; ++r) {
      const int distance = lane + 32 * r - block;
      const bool voted = kMaxWorth - (key[r] >> 8) >= kVoted;  // or taken
      if (distance == 0) key[r] = kTaken;
      else if ((distance == 1 || distance == -1) && !voted) key[r] -= more;
    }
  }
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    const int block = lane + 32 * r;
    taken[r] = __ballot_sync(kFullWarp, block < a.blocks && key[r] == kTaken);
  }
  uint8_t* const list = lists + static_cast<size_t>(tile) * kGuidedBlocks;
  int before = 0;
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    if (taken[r] >> lane & 1) {
      list[before + __popc(taken[r] & ((1u << lane) - 1))] = static_cast<uint8_t>(lane + 32 * r);
    }
    before += __popc(taken[r]);
  }
}

}  // namespace gpu
}  // namespace depthwatt
