// SPDX-License-Identifier: Apache-2.0
// Two warps that pass a tile in shared memory to each other: one fills a half of it while the other uses the half before.
#pragma once

#include "sgm_cells.cuh"

namespace depthwatt {
namespace gpu {

/// The two warps of a walk hand the halves of its tile, 0 and 1, to each other. Each barrier is arrived at by one of them and joined
/// by the other: where both join it from places of their own, synccheck reports a divergent block.
class TileTurns {
 public:
  __device__ __forceinline__ explicit TileTurns(bool backward) : backward_(backward) {}
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
    if (backward_) arriveAt<kBarrier + 4, 64>();
    else arriveAt<kBarrier, 64>();
  }
  template <int kBarrier>
  __device__ __forceinline__ void join() const {
    if (backward_) joinAt<kBarrier + 4, 64>();
    else joinAt<kBarrier, 64>();
  }
  bool backward_;
};

}  // namespace gpu
}  // namespace depthwatt
