// SPDX-License-Identifier: Apache-2.0
// Synchronisation of a producer warp and a consumer warp that share a double buffer (a tile) in shared memory.
#pragma once

#include "sgm_cells.cuh"

namespace depthwatt {
namespace gpu {

/// Named barriers for the halves 0 and 1 of a tile; a block has two such tiles. The producer calls untilEmptied, then filled; the consumer untilFilled,
/// then emptied. One warp only arrives (bar.arrive) while the other waits (bar.sync): compute-sanitizer's synccheck reports a
/// divergent block where both wait at the same barrier from different instructions.
class TileTurns {
 public:
  __device__ __forceinline__ explicit TileTurns(bool second) : second_(second) {}
  __device__ __forceinline__ void filled(int half) const {
    if (half == 0) arrive<1>();
    else arrive<2>();
  }
  __device__ __forceinline__ void untilFilled(int half) const {
    if (half == 0) join<1>();
    else join<2>();
  }
  __device__ __forceinline__ void emptied(int half) const {
    if (half == 0) arrive<3>();
    else arrive<4>();
  }
  __device__ __forceinline__ void untilEmptied(int half) const {
    if (half == 0) join<3>();
    else join<4>();
  }

 private:
  template <int kBarrier>
  __device__ __forceinline__ void arrive() const {
    if (second_) arriveAt<kBarrier + 4, 64>();
    else arriveAt<kBarrier, 64>();
  }
  template <int kBarrier>
  __device__ __forceinline__ void join() const {
    if (second_) joinAt<kBarrier + 4, 64>();
    else joinAt<kBarrier, 64>();
  }
  bool second_;
};

}  // namespace gpu
}  // namespace depthwatt
