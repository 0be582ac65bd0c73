// SPDX-License-Identifier: Apache-2.0
// Fast forms of the noise counts and of smoothing; compiled once per instruction set by cuda/cpu/isa_*.cc. No include guard on
// purpose.
//
// Every sum fits 16 bits. The vectors are the compiler's own, as wide as the set's.

namespace {

constexpr int32_t kSmoothed = kLanesI16 > 8 ? kLanesI16 : 8;  // pixels at once
using SmoothBytes [[gnu::vector_size(kSmoothed)]] = uint8_t;
using SmoothWords [[gnu::vector_size(kSmoothed * 2)]] = int16_t;

[[gnu::always_inline]] inline SmoothWords smoothLoad(const uint8_t* from) {
  SmoothBytes bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return __builtin_convertvector(bytes, SmoothWords);
}

inline void countNoise(ImageView<const uint8_t> image, NoiseCounts& counts) {
  const int32_t end = image.width - 1;
  for (int32_t y = 1; y + 1 < image.height; y += kNoiseRowStep) {
    const uint8_t *above = image.row(y - 1), *here = image.row(y), *below = image.row(y + 1);
    int32_t x = 1;
    for (; x + kSmoothed <= end; x += kSmoothed) {
      const auto bent = [&](int32_t at) __attribute__((always_inline)) {
        return smoothLoad(above + at) + smoothLoad(below + at) - 2 * smoothLoad(here + at);
      };
      const SmoothWords n = bent(x - 1) + bent(x + 1) - 2 * bent(x);
      const SmoothWords sign = n >> 15, size = (n ^ sign) - sign;
      int16_t sizes[kSmoothed];
      std::memcpy(sizes, &size, sizeof sizes);
      for (const int16_t one : sizes) ++counts.bins[one];
    }
    for (; x < end; ++x) {
      const auto bent = [&](int32_t at) { return above[at] + below[at] - 2 * here[at]; };
      const int32_t n = bent(x - 1) + bent(x + 1) - 2 * bent(x);
      ++counts.bins[n < 0 ? -n : n];
    }
  }
}

inline void smoothRows(ImageView<const uint8_t> in, ImageView<uint8_t> out, int32_t firstRow, int32_t endRow) {
  const int32_t lastX = in.width - 1, lastY = in.height - 1;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const uint8_t *above = in.row(greater(y - 1, 0)), *here = in.row(y), *below = in.row(lesser(y + 1, lastY));
    uint8_t* result = out.row(y);
    const auto one = [&](int32_t x) {
      const auto column = [&](int32_t at) { return above[at] + 2 * here[at] + below[at]; };
      result[x] =
          static_cast<uint8_t>((column(greater(x - 1, 0)) + 2 * column(x) + column(lesser(x + 1, lastX)) + 8) >> 4);
    };
    one(0);
    int32_t x = 1;
    for (; x + kSmoothed <= lastX; x += kSmoothed) {
      const auto column = [&](int32_t at) __attribute__((always_inline)) {
        return smoothLoad(above + at) + 2 * smoothLoad(here + at) + smoothLoad(below + at);
      };
      const SmoothWords sum = (column(x - 1) + 2 * column(x) + column(x + 1) + 8) >> 4;
      const SmoothBytes bytes = __builtin_convertvector(sum, SmoothBytes);
      std::memcpy(result + x, &bytes, sizeof bytes);
    }
    for (; x <= lastX; ++x) one(x);
  }
}

}  // namespace
