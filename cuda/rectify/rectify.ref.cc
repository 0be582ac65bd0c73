// SPDX-License-Identifier: Apache-2.0
// The definition of rectification and of each format's grey; see rectify.h and README.md.
#include "rectify.h"

namespace depthwatt {
namespace {

/// Returns the place nearest to i within an image side of n pixels.
int32_t replicated(int32_t i, int32_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

/// Mirrors about the first and the last pixel, so that the colours of the mosaic keep alternating.
int32_t mirrored(int32_t i, int32_t n) {
  if (n == 1) return 0;
  if (i < 0) return -i;
  return i >= n ? 2 * (n - 1) - i : i;
}

struct Raw {
  const RectifySource& source;
  const uint8_t* row(int32_t y) const { return source.data + static_cast<size_t>(y) * source.strideBytes; }
  int32_t byte(int32_t x, int32_t y) const { return row(y)[x]; }
  int32_t word(int32_t x, int32_t y) const { return row(y)[2 * x] + 256 * row(y)[2 * x + 1]; }
  /// The high bytes of `group` samples, then a byte with the low bits of all.
  int32_t packed(int32_t x, int32_t y, int32_t group) const { return byte(x / group * (group + 1) + x % group, y); }
  /// 12 bits of two images in three bytes.
  int32_t pair(int32_t x, int32_t y) const {
    return row(y)[3 * x] + 256 * row(y)[3 * x + 1] + 65536 * row(y)[3 * x + 2];
  }
  int32_t mosaic(int32_t x, int32_t y) const {
    const int32_t column = mirrored(x, source.width), row = mirrored(y, source.height);
    if (source.format >= PixelFormat::kBayerRggb12P) return packed(column, row, 2);
    if (source.format >= PixelFormat::kBayerRggb10P) return packed(column, row, 4);
    if (source.format < PixelFormat::kBayerRggb10) return byte(column, row);
    if (source.format < PixelFormat::kBayerRggb12) return word(column, row) % 1024 / 4;
    if (source.format < PixelFormat::kBayerRggb16) return word(column, row) % 4096 / 16;
    return word(column, row) / 256;
  }
};

enum class Colour { kRed, kGreen, kBlue };

Colour colourAt(PixelFormat format, int32_t x, int32_t y) {
  // Each name lists the four colours of a 2 x 2 tile, row by row.
  const Colour red = Colour::kRed, green = Colour::kGreen, blue = Colour::kBlue;
  const Colour tiles[4][4] = {
      {red, green, green, blue}, {green, red, blue, green}, {green, blue, red, green}, {blue, green, green, red}};
  const int32_t which = static_cast<int32_t>(format) - static_cast<int32_t>(PixelFormat::kBayerRggb8);
  return tiles[which % 4][2 * (y & 1) + (x & 1)];
}

struct Rgb {
  int32_t red, green, blue;
};

/// Bilinear demosaicing, each colour times four.
Rgb bayerColours(const Raw& raw, int32_t x, int32_t y) {
  const PixelFormat format = raw.source.format;
  const int32_t own = 4 * raw.mosaic(x, y);
  const int32_t sides = raw.mosaic(x - 1, y) + raw.mosaic(x + 1, y);
  const int32_t above = raw.mosaic(x, y - 1) + raw.mosaic(x, y + 1);
  const int32_t corners =
      raw.mosaic(x - 1, y - 1) + raw.mosaic(x + 1, y - 1) + raw.mosaic(x - 1, y + 1) + raw.mosaic(x + 1, y + 1);
  int32_t red, green, blue;
  switch (colourAt(format, x, y)) {
    case Colour::kRed: red = own, green = sides + above, blue = corners; break;
    case Colour::kBlue: blue = own, green = sides + above, red = corners; break;
    default:
      green = own;
      const bool redAtSides = colourAt(format, x + 1, y) == Colour::kRed;
      red = 2 * (redAtSides ? sides : above);
      blue = 2 * (redAtSides ? above : sides);
  }
  return {red, green, blue};
}

/// Demosaicing, then BT.601 luma, with one rounding for both.
int32_t bayerGrey(const Raw& raw, int32_t x, int32_t y) {
  const Rgb rgb = bayerColours(raw, x, y);
  return (77 * rgb.red + 150 * rgb.green + 29 * rgb.blue + 512) / 1024;
}

/// Returns floor(i / 256), also below 0.
int32_t by256(int32_t i) { return i >= 0 ? i / 256 : -((-i + 255) / 256); }
int32_t clampToByte(int32_t i) { return i < 0 ? 0 : i > 255 ? 255 : i; }

/// BT.601 with full-range luma: 1.402, 0.344, 0.714 and 1.772 times 256. @param u, v -128 to 127
Rgb toRgb(int32_t luma, int32_t u, int32_t v) {
  return {clampToByte(luma + by256(359 * v + 128)), clampToByte(luma - by256(88 * u + 183 * v + 128)),
          clampToByte(luma + by256(454 * u + 128))};
}

/// Two pixels share their chroma; the last of an odd width takes that of the two before it, and a single column has
/// none.
Rgb packedColours(const Raw& raw, int32_t x, int32_t y) {
  const bool lumaFirst = raw.source.format == PixelFormat::kYuyv;
  const int32_t luma = raw.byte(2 * x + (lumaFirst ? 0 : 1), y), whole = raw.source.width / 2;
  if (whole == 0) return {luma, luma, luma};
  const int32_t pair = 4 * (x / 2 < whole ? x / 2 : whole - 1);
  return toRgb(luma, raw.byte(pair + (lumaFirst ? 1 : 0), y) - 128, raw.byte(pair + (lumaFirst ? 3 : 2), y) - 128);
}

/// Two by two pixels share their chroma, whose rows follow those of luma.
Rgb planarColours(const Raw& raw, int32_t x, int32_t y) {
  const int32_t row = raw.source.height + y / 2, column = x / 2 * 2;
  return toRgb(raw.byte(x, y), raw.byte(column, row) - 128, raw.byte(column + 1, row) - 128);
}

Rgb rgbAt(const RectifySource& source, int32_t x, int32_t y) {
  const Raw raw{source};
  if (source.format == PixelFormat::kRgb8) return {raw.byte(3 * x, y), raw.byte(3 * x + 1, y), raw.byte(3 * x + 2, y)};
  if (source.format == PixelFormat::kYuyv || source.format == PixelFormat::kUyvy) return packedColours(raw, x, y);
  if (source.format == PixelFormat::kNv12) return planarColours(raw, x, y);
  const Rgb four = bayerColours(raw, x, y);
  return {(four.red + 2) / 4, (four.green + 2) / 4, (four.blue + 2) / 4};
}

int32_t greyAt(const RectifySource& source, int32_t x, int32_t y) {
  const Raw raw{source};
  switch (source.format) {
    case PixelFormat::kGrey:
    case PixelFormat::kGreyDisparity:
    case PixelFormat::kNv12: return raw.byte(x, y);
    case PixelFormat::kRgb8: {
      const int32_t weighted = 77 * raw.byte(3 * x, y) + 150 * raw.byte(3 * x + 1, y) + 29 * raw.byte(3 * x + 2, y);
      return (weighted + 128) / 256;
    }
    case PixelFormat::kY8iLeft:
    case PixelFormat::kYuyv: return raw.byte(2 * x, y);
    case PixelFormat::kY8iRight:
    case PixelFormat::kUyvy: return raw.byte(2 * x + 1, y);
    case PixelFormat::kY10: return raw.word(x, y) % 1024 / 4;
    case PixelFormat::kY12: return raw.word(x, y) % 4096 / 16;
    case PixelFormat::kY16: return raw.word(x, y) / 256;
    case PixelFormat::kY10P: return raw.packed(x, y, 4);
    case PixelFormat::kY12P: return raw.packed(x, y, 2);
    case PixelFormat::kY12iLeft: return raw.pair(x, y) % 4096 / 16;
    case PixelFormat::kY12iRight: return raw.pair(x, y) / 65536;
    default: return bayerGrey(raw, x, y);
  }
}

/// Returns floor(i / 32), also below 0.
int32_t wholePixels(int32_t i) { return i >= 0 ? i / 32 : -((-i + 31) / 32); }

/// Interpolates valueAt(x, y) between the four pixels around a place of the map.
template <class ValueAt>
uint8_t sampled(const RectifySource& source, const int32_t* from, ValueAt&& valueAt) {
  const int32_t x0 = wholePixels(from[0]), y0 = wholePixels(from[1]);
  const int32_t fx = from[0] - 32 * x0, fy = from[1] - 32 * y0;
  int32_t sum = 0;
  for (int32_t j = 0; j <= 1; ++j) {
    for (int32_t i = 0; i <= 1; ++i) {
      const int32_t weight = (i == 0 ? 32 - fx : fx) * (j == 0 ? 32 - fy : fy);
      sum += weight * valueAt(replicated(x0 + i, source.width), replicated(y0 + j, source.height));
    }
  }
  return static_cast<uint8_t>((sum + 512) / 1024);
}

/// Subtracts the black level.
uint8_t aboveBlack(int32_t value, const RectifySource& source) {
  return static_cast<uint8_t>(value > source.blackLevel ? value - source.blackLevel : 0);
}

const int32_t* mapEntry(const int32_t* map, int32_t width, int32_t x, int32_t y) {
  return map + 2 * (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x));
}

}  // namespace

void rectifyReference(const RectifySource& source, const int32_t* map, ImageView<uint8_t> out) {
  const auto grey = [&](int32_t x, int32_t y) { return greyAt(source, x, y); };
  for (int32_t y = 0; y < out.height; ++y) {
    for (int32_t x = 0; x < out.width; ++x) {
      out.row(y)[x] =
          aboveBlack(map == nullptr ? grey(x, y) : sampled(source, mapEntry(map, out.width, x, y), grey), source);
    }
  }
}

void rectifyRgbReference(const RectifySource& source, const int32_t* map, ImageView<Rgb8> out) {
  for (int32_t y = 0; y < out.height; ++y) {
    for (int32_t x = 0; x < out.width; ++x) {
      uint8_t values[3];
      for (int32_t colour = 0; colour < 3; ++colour) {
        const auto own = [&](int32_t column, int32_t row) {
          const Rgb rgb = rgbAt(source, column, row);
          return colour == 0 ? rgb.red : colour == 1 ? rgb.green : rgb.blue;
        };
        values[colour] =
            aboveBlack(map == nullptr ? own(x, y) : sampled(source, mapEntry(map, out.width, x, y), own), source);
      }
      out.row(y)[x] = {values[0], values[1], values[2]};
    }
  }
}

}  // namespace depthwatt
