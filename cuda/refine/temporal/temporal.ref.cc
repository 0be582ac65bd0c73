// SPDX-License-Identifier: Apache-2.0
// Reference of the temporal filter, as defined in temporal.h.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "temporal.h"

namespace depthwatt {
namespace {

int32_t greyAround(ImageView<const uint8_t> grey, int32_t x, int32_t y) {
  int32_t sum = 0;
  for (int32_t j = -1; j <= 1; ++j) {
    for (int32_t i = -1; i <= 1; ++i) {
      sum += grey.row(std::clamp(y + j, 0, grey.height - 1))[std::clamp(x + i, 0, grey.width - 1)];
    }
  }
  return temporalGrey(sum);
}

/// The state of a pixel, unpacked.
struct Remembered {
  int32_t mean, frames, misses, reference;
};

Remembered read(const TemporalState& state, int32_t x, int32_t y) {
  const int32_t weight = state.weight.row(y)[x], reference = state.reference.row(y)[x];
  return {16 * state.mean.row(y)[x] + (weight & 15), weight >> 4, reference >> 12, reference & 4095};
}

void write(const TemporalState& state, int32_t x, int32_t y, const Remembered& one) {
  const int32_t fraction = one.mean & 15;
  state.mean.row(y)[x] = static_cast<int16_t>((one.mean - fraction) / 16);
  state.weight.row(y)[x] = static_cast<uint8_t>(one.frames << 4 | fraction);
  state.reference.row(y)[x] = static_cast<int16_t>(one.misses << 12 | one.reference);
}

/// Returns a / b, with halves rounded away from 0.
int32_t rounded(int32_t a, int32_t b) { return a < 0 ? -((-a + b / 2) / b) : (a + b / 2) / b; }

Remembered next(const Remembered& before, bool reset, int32_t disparityQ4, int32_t grey) {
  const bool valid = disparityQ4 != kInvalidDisparity;
  const Remembered fresh = {16 * disparityQ4, valid ? 1 : 0, 0, grey};
  if (reset || before.frames == 0) return fresh;
  if (!valid) return before;
  Remembered after = before;
  const int32_t difference = 16 * disparityQ4 - before.mean;
  if (std::abs(difference) <= kGateQ8) {
    after.mean += rounded(difference, before.frames + 1);
    after.frames = std::min(before.frames + 1, kTemporalFrames);
    after.misses = 0;
    after.reference += (grey - before.reference) / 4;
  } else if (++after.misses == kTemporalMisses) {
    return fresh;
  }
  return after;
}

}  // namespace

void temporalReference(ImageView<const uint8_t> grey, ImageView<int16_t> disparityQ4, const TemporalState& state) {
  const int32_t width = disparityQ4.width, height = disparityQ4.height;
  const int32_t across = temporalTiles(width), down = temporalTiles(height);
  std::vector<uint8_t> counts(static_cast<size_t>(across) * static_cast<size_t>(down));
  const ImageView<uint8_t> moved = packedView(counts.data(), across, down);
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      const Remembered one = read(state, x, y);
      const bool hasMoved = one.frames > 0 && std::abs(greyAround(grey, x, y) - one.reference) > kMovedQ4;
      if (hasMoved) ++moved.row(y / kTemporalTile)[x / kTemporalTile];
    }
  }
  const bool all = resetsFrame(moved.asConst(), width, height);
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      const bool reset = all || resetsTile(moved.asConst(), x / kTemporalTile, y / kTemporalTile);
      int16_t& disparity = disparityQ4.row(y)[x];
      const Remembered one = next(read(state, x, y), reset, disparity, greyAround(grey, x, y));
      write(state, x, y, one);
      disparity =
          one.frames == 0 ? kInvalidDisparity : static_cast<int16_t>((one.mean + 8 - ((one.mean + 8) & 15)) / 16);
    }
  }
}

}  // namespace depthwatt
