// SPDX-License-Identifier: Apache-2.0
// The definitions of the noise estimate, of smoothing and of the filter; see denoise.h.
#include "denoise.h"

namespace depthwatt {

void countNoiseReference(ImageView<const uint8_t> image, NoiseCounts& counts) {
  const int32_t mask[3][3] = {{1, -2, 1}, {-2, 4, -2}, {1, -2, 1}};
  for (int32_t y = 1; y + 1 < image.height; y += 4) {
    for (int32_t x = 1; x + 1 < image.width; ++x) {
      int32_t n = 0;
      for (int32_t j = -1; j <= 1; ++j) {
        for (int32_t i = -1; i <= 1; ++i) n += mask[j + 1][i + 1] * image.row(y + j)[x + i];
      }
      ++counts.bins[n < 0 ? -n : n];
    }
  }
}

int32_t noiseSigmaQ8Reference(const NoiseCounts& counts) {
  uint64_t total = 0;
  for (const uint32_t count : counts.bins) total += count;
  if (total == 0) return 0;
  const uint64_t wanted = (total + 3) / 4;
  uint64_t below = 0;
  int32_t bin = 0;
  while (below + counts.bins[bin] < wanted) below += counts.bins[bin++];
  const int64_t q256 = 256 * bin - 128 + static_cast<int64_t>(256 * (wanted - below) / counts.bins[bin]);
  return static_cast<int32_t>((q256 < 0 ? 0 : q256) * 134 / 256);
}

void smoothReference(ImageView<const uint8_t> in, ImageView<uint8_t> out) {
  const int32_t weight[3] = {1, 2, 1};
  const auto inside = [](int32_t i, int32_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; };
  for (int32_t y = 0; y < in.height; ++y) {
    for (int32_t x = 0; x < in.width; ++x) {
      int32_t sum = 8;
      for (int32_t j = -1; j <= 1; ++j) {
        for (int32_t i = -1; i <= 1; ++i) {
          sum += weight[j + 1] * weight[i + 1] * in.row(inside(y + j, in.height))[inside(x + i, in.width)];
        }
      }
      out.row(y)[x] = static_cast<uint8_t>(sum / 16);
    }
  }
}

void bilateralReference(ImageView<const uint8_t> image, ImageView<const uint8_t> guide, int32_t range,
                        ImageView<uint8_t> out) {
  const auto inside = [](int32_t i, int32_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; };
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      int32_t sum = 0, weights = 0;
      for (int32_t j = -kBilateralRadius; j <= kBilateralRadius; ++j) {
        for (int32_t i = -kBilateralRadius; i <= kBilateralRadius; ++i) {
          const int32_t atX = inside(x + i, image.width), atY = inside(y + j, image.height);
          const int32_t difference = guide.row(atY)[atX] - guide.row(y)[x];
          const int32_t weight = range - (difference < 0 ? -difference : difference);
          if (weight <= 0) continue;
          sum += weight * image.row(atY)[atX];
          weights += weight;
        }
      }
      out.row(y)[x] = static_cast<uint8_t>((2 * sum + weights) / (2 * weights));
    }
  }
}

}  // namespace depthwatt
