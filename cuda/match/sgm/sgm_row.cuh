// SPDX-License-Identifier: Apache-2.0
// What both forms of the selection share: a row's results in shared memory, the arithmetic that is done once a pixel (one
// pixel to a lane), and the left-right check where both views of the row are on the chip.
#pragma once

#include <cstdint>

#include "../../image.h"

namespace depthwatt {
namespace gpu {

struct SelectArguments {
  const uint8_t* cost;
  const uint8_t* excess[4];
  int16_t* disparityQ4;
  int16_t* disparity;
  int16_t* rightDisparity;  ///< may be null
  uint8_t* confidence;
  int width, height;
  int minDisparity, numDisparities, paths, uniqueness;
  bool subpixel, leftRight;
};

constexpr uint32_t kNoKey = 0xffffffffu;  ///< keys are sum << 16 | d: the smallest is the winner, ties go to the lowest d
constexpr int kNoSum = 0xffff;

struct Winner {
  int d0;  ///< -1 = no candidate
  int sum, second, below, above;  ///< S(d0), the smallest further away, S(d0 - 1), S(d0 + 1); kNoSum = none
};

struct Selected {
  int16_t q4, whole;
  uint8_t confidence;
};

__device__ __forceinline__ int floorDivide(int a, int b) {  // b > 0
  const int quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}

__device__ __forceinline__ Selected finished(const SelectArguments& a, const Winner& w) {
  Selected s = {kInvalidDisparity, kInvalidDisparity, 0};
  if (w.d0 < 0) return s;
  s.whole = static_cast<int16_t>(a.minDisparity + w.d0);
  const bool rival = w.second != kNoSum;
  if (a.uniqueness > 0 && rival && w.second * (100 - a.uniqueness) < 100 * w.sum) return s;
  int delta = 0;
  if (a.subpixel && w.below != kNoSum && w.above != kNoSum) {
    const int q = w.below + w.above - 2 * w.sum;
    if (q > 0) delta = floorDivide(16 * (w.below - w.above) + q, 2 * q);
  }
  s.q4 = static_cast<int16_t>(16 * s.whole + delta);
  if (rival) s.confidence = static_cast<uint8_t>(255 * (w.second - w.sum) / max(w.second, 1));
  return s;
}

/// A row's right keys and results: [width] uint32, [width] int16 twice, [width] uint8.
class Row {
 public:
  static constexpr int kBytesPerPixel = sizeof(uint32_t) + 2 * sizeof(int16_t) + 1;

  __device__ __forceinline__ Row(uint32_t* memory, int width)
      : keys_(memory),
        q4_(reinterpret_cast<int16_t*>(memory + width)),
        whole_(q4_ + width),
        confidence_(reinterpret_cast<uint8_t*>(whole_ + width)),
        width_(width) {}

  __device__ __forceinline__ void clear(int threads) const {
    for (int x = threadIdx.x; x < width_; x += threads) keys_[x] = kNoKey;
    __syncthreads();
  }
  __device__ __forceinline__ void deliver(uint32_t key, int rightX) const {
    if (key != kNoKey && rightX >= 0) atomicMin(&keys_[rightX], key);
  }
  __device__ __forceinline__ void put(int x, const Selected& s) const {
    q4_[x] = s.q4, whole_[x] = s.whole, confidence_[x] = s.confidence;
  }
  /// After a barrier: checks and stores the row.
  __device__ __forceinline__ void write(const SelectArguments& a, int y, int threads) const {
    const size_t row = static_cast<size_t>(y) * a.width;
    for (int x = threadIdx.x; x < width_; x += threads) {
      Selected s = {q4_[x], whole_[x], confidence_[x]};
      if (a.leftRight) {
        const int xr = x - s.whole;
        bool keep = false;
        if (s.whole != kInvalidDisparity && xr >= 0 && xr < width_ && keys_[xr] != kNoKey) {
          keep = abs(s.whole - (a.minDisparity + static_cast<int>(keys_[xr] & 0xffff))) <= 1;
        }
        if (!keep) s.q4 = kInvalidDisparity, s.confidence = 0;
      }
      a.disparityQ4[row + x] = s.q4;
      a.disparity[row + x] = s.whole;
      a.confidence[row + x] = s.confidence;
      if (a.rightDisparity != nullptr) {
        const uint32_t key = keys_[x];
        a.rightDisparity[row + x] =
            key == kNoKey ? kInvalidDisparity : static_cast<int16_t>(a.minDisparity + (key & 0xffff));
      }
    }
  }

 private:
  uint32_t* keys_;
  int16_t* q4_;
  int16_t* whole_;
  uint8_t* confidence_;
  int width_;
};

}  // namespace gpu
}  // namespace depthwatt
