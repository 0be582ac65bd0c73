// SPDX-License-Identifier: Apache-2.0
// Computes one pixel at a time, for the pixels that fill no vector of rectify.inl.h. Compiled once per instruction set.

#include "sample_layout.inl.h"

namespace {

inline int32_t loadSample(const uint8_t* row, int32_t x, SampleLayout layout) {
  if (layout.bytesPerPixel == 1) return row[layout.byteOf(x)];
  if (layout.bytesPerPixel == 3)
    return ((row[3 * x] | row[3 * x + 1] << 8 | row[3 * x + 2] << 16) >> layout.shift) & 0xff;
  return ((row[2 * x] | row[2 * x + 1] << 8) >> layout.shift) & 0xff;
}

// Weights times 1024 of a pixel itself, of the sums left and right, above and below, and at its corners, for the four
// sites: red, green next to red, green next to blue, blue. 77, 150, 29 are BT.601's weights of red, green, blue times
// 256.
constexpr int32_t kSiteOwn[4] = {4 * 77, 4 * 150, 4 * 150, 4 * 29};
constexpr int32_t kSiteSides[4] = {150, 2 * 77, 2 * 29, 150};
constexpr int32_t kSiteAbove[4] = {150, 2 * 29, 2 * 77, 150};
constexpr int32_t kSiteCorners[4] = {29, 0, 0, 77};

inline int32_t clampTo(int32_t value, int32_t low, int32_t high) { return lesser(greater(value, low), high); }

inline int32_t mirrorInto(int32_t i, int32_t n) {
  if (n == 1) return 0;
  return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
}

/// Returns one pixel's grey: borders and remainders.
int32_t greyOfPixel(const RectifySource& source, int32_t x, int32_t y) {
  const size_t stride = source.strideBytes;
  const uint8_t* row = source.data + static_cast<size_t>(y) * stride;
  const SampleLayout layout = sampleLayout(source.format);
  if (source.format == PixelFormat::kRgb8)
    return (77 * row[3 * x] + 150 * row[3 * x + 1] + 29 * row[3 * x + 2] + 128) >> 8;
  if (!isBayer(source.format)) return loadSample(row, x, layout);
  const uint8_t* up = source.data + static_cast<size_t>(mirrorInto(y - 1, source.height)) * stride;
  const uint8_t* down = source.data + static_cast<size_t>(mirrorInto(y + 1, source.height)) * stride;
  const int32_t left = mirrorInto(x - 1, source.width), right = mirrorInto(x + 1, source.width);
  const int32_t site = ((x + redX(source.format)) & 1) | ((y + redY(source.format)) & 1) << 1;
  const auto at = [&](const uint8_t* line, int32_t column) { return loadSample(line, column, layout); };
  return (kSiteOwn[site] * at(row, x) + kSiteSides[site] * (at(row, left) + at(row, right)) +
          kSiteAbove[site] * (at(up, x) + at(down, x)) +
          kSiteCorners[site] * (at(up, left) + at(up, right) + at(down, left) + at(down, right)) + 512) >>
         10;
}

/// Returns one output value from valueAt(x, y). Clamping the place first equals replicating the border.
template <class ValueAt>
uint8_t remapValue(const RectifySource& source, const int32_t* from, ValueAt&& valueAt) {
  const int32_t px = clampTo(from[0], 0, 32 * (source.width - 1));
  const int32_t py = clampTo(from[1], 0, 32 * (source.height - 1));
  const int32_t x0 = px >> 5, y0 = py >> 5, fx = px & 31, fy = py & 31;
  const int32_t x1 = lesser(x0 + 1, source.width - 1), y1 = lesser(y0 + 1, source.height - 1);
  const int32_t top = (32 - fx) * valueAt(x0, y0) + fx * valueAt(x1, y0);
  const int32_t bottom = (32 - fx) * valueAt(x0, y1) + fx * valueAt(x1, y1);
  return static_cast<uint8_t>(((32 - fy) * top + fy * bottom + 512) >> 10);
}

uint8_t remapPixel(const RectifySource& source, const int32_t* from) {
  return remapValue(source, from, [&](int32_t x, int32_t y) { return greyOfPixel(source, x, y); });
}

/// BT.601 with full-range luma. @param colour 0 red, 1 green, 2 blue
inline int32_t colourOfLuma(int32_t luma, int32_t u, int32_t v, int32_t colour) {
  u -= 128, v -= 128;
  const int32_t added = colour == 0   ? (359 * v + 128) >> 8
                        : colour == 1 ? -((88 * u + 183 * v + 128) >> 8)
                                      : (454 * u + 128) >> 8;
  return clampTo(luma + added, 0, 255);
}

/// Returns one colour of a pixel: 0 red, 1 green, 2 blue.
int32_t colourOfPixel(const RectifySource& source, int32_t x, int32_t y, int32_t colour) {
  const size_t stride = source.strideBytes;
  const uint8_t* row = source.data + static_cast<size_t>(y) * stride;
  if (source.format == PixelFormat::kRgb8) return row[3 * x + colour];
  if (source.format == PixelFormat::kNv12) {
    const uint8_t* uv = source.data + static_cast<size_t>(source.height + (y >> 1)) * stride + 2 * (x >> 1);
    return colourOfLuma(row[x], uv[0], uv[1], colour);
  }
  if (!isBayer(source.format)) {
    const int32_t second = source.format == PixelFormat::kUyvy ? 1 : 0;  // the place of luma; chroma is the other
    const int32_t luma = row[2 * x + second], whole = source.width >> 1;
    if (whole == 0) return luma;
    const uint8_t* pair = row + 4 * lesser(x >> 1, whole - 1) + 1 - second;
    return colourOfLuma(luma, pair[0], pair[2], colour);
  }
  const SampleLayout layout = sampleLayout(source.format);
  // Parities of the place within its tile: red is at (0, 0), blue at (1, 1).
  const int32_t px = (x + redX(source.format)) & 1, py = (y + redY(source.format)) & 1;
  const int32_t left = mirrorInto(x - 1, source.width), right = mirrorInto(x + 1, source.width);
  const uint8_t* up = source.data + static_cast<size_t>(mirrorInto(y - 1, source.height)) * stride;
  const uint8_t* down = source.data + static_cast<size_t>(mirrorInto(y + 1, source.height)) * stride;
  const auto at = [&](const uint8_t* line, int32_t column) { return loadSample(line, column, layout); };
  if (colour == 1) {
    if (px != py) return at(row, x);
    return (at(row, left) + at(row, right) + at(up, x) + at(down, x) + 2) >> 2;
  }
  const int32_t own = colour >> 1;  // red is at parities 0, blue at 1
  if (px == own && py == own) return at(row, x);
  if (py == own) return (at(row, left) + at(row, right) + 1) >> 1;
  if (px == own) return (at(up, x) + at(down, x) + 1) >> 1;
  return (at(up, left) + at(up, right) + at(down, left) + at(down, right) + 2) >> 2;
}

}  // namespace
