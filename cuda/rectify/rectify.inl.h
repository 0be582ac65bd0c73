// SPDX-License-Identifier: Apache-2.0
// Vector form of the rectification; compiled once per instruction set.
//
// A lane is one output pixel. Two fetches of 32 bits read its four source pixels, rearranged to (left | right << 16),
// so that one multiply-add of 16-bit pairs interpolates along x, and a second one, on (top | bottom << 16), along y.
// Bayer takes four fetches of 32 bits, the 4 x 4 raw pixels around the four, and computes their grey in the lane.
// Neighbouring pixels have neighbouring places: if a group's are on two rows and within one vector's bytes, a fetch is
// two loads and a byte permutation; otherwise it is a gather.

#include "rectify.h"
#include "rectify_pixel.inl.h"

namespace {

/// Whole and fractional part of kLanesI32 places along one axis, 0 <= whole <= last - 1, 0 <= fraction <= 32.
struct AxisPlace {
  I32 whole;
  I32 weights;  ///< (32 - fraction) | fraction << 16

  AxisPlace(I32 place, int32_t last) {
    place = minI32(maxI32(place, splatI32(0)), splatI32(32 * last));
    whole = minI32(shiftRightI32<5>(place), splatI32(last - 1));
    const I32 fraction = subI32(place, shiftLeftI32<5>(whole));
    weights = addI32(subI32(shiftLeftI32<16>(fraction), fraction), splatI32(32));
  }
};

inline I32 joinHalves(I32 low, I32 high) { return orI32(low, shiftLeftI32<16>(high)); }

/// @param top, bottom (left | right << 16), grey
inline I32 interpolate(I32 top, I32 bottom, const AxisPlace& x, const AxisPlace& y) {
  const I32 column = joinHalves(pairSumI32(top, x.weights), pairSumI32(bottom, x.weights));
  return shiftRightI32<10>(addI32(pairSumI32(column, y.weights), splatI32(512)));
}

/// Returns `yes` where the mask's bits are 1, else `no`.
inline I32 chooseI32(I32 mask, I32 yes, I32 no) { return xorI32(no, andI32(mask, xorI32(yes, no))); }
/// Returns all ones where bit 0 of v is 1, else 0.
inline I32 oddMask(I32 v) { return subI32(splatI32(0), andI32(v, splatI32(1))); }

/// Samples 0 and 2, and samples 1 and 3, of four neighbouring ones, in halves.
struct SampleQuad {
  I32 even, odd;
};

// Each layout has: byteOf(x) and bytesOf(x), the first byte of a pixel and of each lane's pixel in its row; rowBytes(width); kPairReach and kQuadReach, the bytes
// that pair and quad read from there on; and kBytesApart, an upper bound of the bytes from one pixel to the next. pair
// returns pixels x and x + 1 in halves, quad also x + 2 and x + 3; fetch(at) returns the 32 bits from byte `at` on.

/// One byte per pixel.
struct ByteSamples {
  static constexpr int32_t kBytesApart = 1, kPairReach = 4, kQuadReach = 4;
  static int32_t byteOf(int32_t x) { return x; }
  static I32 bytesOf(I32 x) { return x; }
  static int32_t rowBytes(int32_t width) { return width; }
  static I32 bytePair(I32 bits) {
    const I32 low = andI32(bits, splatI32(0xff));
    return orI32(low, shiftLeftI32<8>(andI32(bits, splatI32(0xff00))));
  }
  static SampleQuad byteQuad(I32 bits) {
    const I32 bytes = splatI32(0x00ff00ff);
    return {andI32(bits, bytes), andI32(shiftRightI32<8>(bits), bytes)};
  }
  template <class Fetch>
  static I32 pair(const Fetch& fetch, I32) {
    return bytePair(fetch(0));
  }
  template <class Fetch>
  static SampleQuad quad(const Fetch& fetch, I32) {
    return byteQuad(fetch(0));
  }
};

/// Two bytes per pixel: eight bits from kShift on.
template <int kShift>
struct WordSamples {
  static constexpr int32_t kBytesApart = 2, kPairReach = 4, kQuadReach = 8;
  static int32_t byteOf(int32_t x) { return 2 * x; }
  static I32 bytesOf(I32 x) { return shiftLeftI32<1>(x); }
  static int32_t rowBytes(int32_t width) { return 2 * width; }
  static I32 bytePair(I32 bits) { return andI32(shiftRightI32<kShift>(bits), splatI32(0x00ff00ff)); }
  template <class Fetch>
  static I32 pair(const Fetch& fetch, I32) {
    return bytePair(fetch(0));
  }
  template <class Fetch>
  static SampleQuad quad(const Fetch& fetch, I32) {
    const I32 ab = bytePair(fetch(0)), cd = bytePair(fetch(4));
    return {joinHalves(andI32(ab, splatI32(0xffff)), cd), orI32(shiftRightI32<16>(ab), andI32(cd, splatI32(-65536)))};
  }
};

/// Three bytes per pixel: eight bits from kShift on, which is 4 or 16.
template <int kShift>
struct TripleSamples {
  static constexpr int32_t kBytesApart = 3, kPairReach = 6;
  static int32_t byteOf(int32_t x) { return 3 * x; }
  static I32 bytesOf(I32 x) { return addI32(x, shiftLeftI32<1>(x)); }
  static int32_t rowBytes(int32_t width) { return 3 * width; }
  template <class Fetch>
  static I32 pair(const Fetch& fetch, I32) {
    const I32 byte = splatI32(0xff);
    // The second fetch begins one byte before the second pixel.
    return joinHalves(andI32(shiftRightI32<kShift>(fetch(0)), byte), andI32(shiftRightI32<kShift + 8>(fetch(2)), byte));
  }
};

/// MIPI's packing: the high bytes of four samples (kBits 10) or two (12), then a byte with their low bits.
template <int kBits>
struct PackedSamples {
  static constexpr int32_t kGroupLog2 = kBits == 10 ? 2 : 1, kGroup = 1 << kGroupLog2;
  static constexpr int32_t kBytesApart = 2, kPairReach = 4, kQuadReach = kBits == 10 ? 5 : 6;
  static int32_t byteOf(int32_t x) { return x + (x >> kGroupLog2); }
  static I32 bytesOf(I32 x) { return addI32(x, shiftRightI32<kGroupLog2>(x)); }
  static int32_t rowBytes(int32_t width) { return (width + kGroup - 1) / kGroup * (kGroup + 1); }
  template <class Fetch>
  static I32 pair(const Fetch& fetch, I32 x) {
    const I32 bits = fetch(0), last = kBits == 10 ? andI32(x, shiftRightI32<1>(x)) : x;
    // Behind the last sample of a group a byte of low bits is passed over.
    return ByteSamples::bytePair(chooseI32(andI32(oddMask(last), splatI32(0xff00)), shiftRightI32<8>(bits), bits));
  }
  template <class Fetch>
  static SampleQuad quad(const Fetch& fetch, I32 x) {
    // Bytes of each lane behind the first and the second byte of low bits, by the place in the group.
    static constexpr int32_t kBehind[4] = {0, -0x1000000, -0x10000, -0x100};
    static constexpr int32_t kBehind12[4] = {-0x10000, -0x100, -0x10000, -0x100};
    static constexpr int32_t kBehindTwo12[4] = {0, -0x1000000, 0, -0x1000000};
    const I32 place = andI32(x, splatI32(3));
    I32 bits = chooseI32(lookup4I32(kBits == 10 ? kBehind : kBehind12, place), fetch(1), fetch(0));
    if constexpr (kBits == 12) bits = chooseI32(lookup4I32(kBehindTwo12, place), fetch(2), bits);
    return ByteSamples::byteQuad(bits);
  }
};

/// Rows of bytes: an image, or one plane of it.
struct SourcePlane {
  const uint8_t* data;
  size_t strideBytes;
  int32_t rows;
  int32_t rowBytes;  ///< readable bytes of each row
};

/// Returns the whole place along one axis of the group's first or last pixel, whichever is smaller.
inline int32_t leastWhole(const int32_t* from, int32_t size, int32_t axis) {
  const auto whole = [&](int32_t lane) {
    return lesser(clampTo(from[2 * lane + axis], 0, 32 * (size - 1)) >> 5, size - 2);
  };
  return lesser(whole(0), whole(kLanesI32 - 1));
}

/// The bytes that kLanesI32 pixels need of a plane, as a permutation of a few rows' bytes from one byte on. kReach:
/// bytes from a lane's first to after its last.
template <int kReach>
class SourceWindow {
 public:
  /// Returns whether a group can fit at all, if lanes are this many bytes apart.
  static constexpr bool possible(int32_t bytesApart) {
    return kLanesI32 * bytesApart + kReach - bytesApart <= kWindowBytes;
  }

  /// @param byte, row the start of each lane's bytes. @param firstByte, firstRow not after any of them, if the group
  /// shall fit
  SourceWindow(const SourcePlane& plane, int32_t firstByte, int32_t firstRow, I32 byte, I32 row) : plane_(plane) {
    // Loads must not exceed the row, which may be the image's last one.
    byte_ = lesser(firstByte, plane.rowBytes - kWindowBytes);
    row_ = firstRow;
    offset_ = subI32(byte, splatI32(byte_));
    second_ = subI32(row, splatI32(row_));
    fits_ = byte_ >= 0 && row_ >= 0 && !anyAboveUnsignedI32(offset_, splatI32(kWindowBytes - kReach)) &&
            !anyAboveUnsignedI32(second_, splatI32(1));
  }

  bool fits() const { return fits_; }

  /// Returns the 32 bits of each lane's row j, from byte `at` of its reach on.
  I32 fetchAt(int32_t j, I32 at) const {
    return pickI32(rowFrom(row_ + j), rowFrom(row_ + j + 1), addI32(offset_, at), second_);
  }
  I32 fetch(int32_t j, int32_t at = 0) const { return fetchAt(j, splatI32(at)); }

 private:
  const uint8_t* rowFrom(int32_t y) const {
    // A row below the image is requested only if no lane uses it.
    return plane_.data + static_cast<size_t>(lesser(y, plane_.rows - 1)) * plane_.strideBytes + byte_;
  }

  const SourcePlane plane_;
  int32_t byte_ = 0;
  int32_t row_ = 0;
  I32 offset_;
  I32 second_;
  bool fits_ = false;
};

/// Computes kLanesI32 output pixels. Returns false, without writing, if a load would leave the source's memory.
template <class Samples>
inline bool remapGroup(const RectifySource& source, const int32_t* from, uint8_t* out, int32_t lastOffset) {
  I32 px, py;
  loadPairsI32(from, px, py);
  const AxisPlace x(px, source.width - 1), y(py, source.height - 1);
  using Window = SourceWindow<Samples::kPairReach>;
  if constexpr (Window::possible(Samples::kBytesApart)) {
    const SourcePlane plane = {source.data, source.strideBytes, source.height, Samples::rowBytes(source.width)};
    const Window window(plane, Samples::byteOf(leastWhole(from, source.width, 0)), leastWhole(from, source.height, 1),
                        Samples::bytesOf(x.whole), y.whole);
    if (window.fits()) {
      const auto row = [&](int32_t j) {
        return Samples::pair([&](int32_t at) { return window.fetch(j, at); }, x.whole);
      };
      storeBytesI32(out, interpolate(row(0), row(1), x, y));
      return true;
    }
  }
  const I32 offset =
      addI32(mulI32(y.whole, splatI32(static_cast<int32_t>(source.strideBytes))), Samples::bytesOf(x.whole));
  // A pair that is shorter than its fetch can end the row.
  if (2 * Samples::byteOf(1) < Samples::kPairReach && anyAboveI32(offset, splatI32(lastOffset))) return false;
  const auto row = [&](const uint8_t* first) {
    return Samples::pair([&](int32_t at) { return gatherI32(first + at, offset); }, x.whole);
  };
  storeBytesI32(out, interpolate(row(source.data), row(source.data + source.strideBytes), x, y));
  return true;
}

/// Four neighbouring raw pixels a b c d: the middle two, and the sums of the pixels next to each, in halves.
struct MosaicRow {
  I32 own;    ///< b | c << 16
  I32 sides;  ///< a + c | (b + d) << 16

  /// even: a | c << 16; odd: b | d << 16.
  MosaicRow(I32 even, I32 odd) {
    const I32 low = splatI32(0xffff), high = splatI32(-65536);
    own = orI32(andI32(odd, low), andI32(even, high));
    sides = orI32(andI32(addI32(even, shiftRightI32<16>(even)), low), andI32(addI32(odd, shiftLeftI32<16>(odd)), high));
  }
};

/// fetch(at) returns the 32 bits from byte `at` of the four pixels on, the first of which is pixel x.
template <class Samples, class Fetch>
inline MosaicRow mosaicRow(const Fetch& fetch, I32 x) {
  const SampleQuad quad = Samples::quad(fetch, x);
  return {quad.even, quad.odd};
}

/// Returns the grey of the middle two pixels of `row`, in halves. @param site of the left one
inline I32 mosaicGrey(const MosaicRow& up, const MosaicRow& row, const MosaicRow& down, I32 site) {
  const I32 low = splatI32(0xffff), high = splatI32(-65536);
  const I32 above = addI32(up.own, down.own), corners = addI32(up.sides, down.sides);
  const auto pixel = [&](I32 ownSides, I32 aboveCorners, I32 at) {
    const I32 near = pairSumI32(ownSides, joinHalves(lookup4I32(kSiteOwn, at), lookup4I32(kSiteSides, at)));
    const I32 far = pairSumI32(aboveCorners, joinHalves(lookup4I32(kSiteAbove, at), lookup4I32(kSiteCorners, at)));
    return shiftRightI32<10>(addI32(addI32(near, far), splatI32(512)));
  };
  const I32 left = pixel(joinHalves(andI32(row.own, low), row.sides), joinHalves(andI32(above, low), corners), site);
  const I32 right = pixel(orI32(shiftRightI32<16>(row.own), andI32(row.sides, high)),
                          orI32(shiftRightI32<16>(above), andI32(corners, high)), xorI32(site, splatI32(1)));
  return joinHalves(left, right);
}

/// Returns the site (0 red, 1 green next to red, 2 green next to blue, 3 blue) of the pixels (x, y).
inline I32 mosaicSite(I32 x, I32 y) {
  const I32 one = splatI32(1);
  return orI32(andI32(x, one), shiftLeftI32<1>(andI32(y, one)));
}

/// Computes kLanesI32 output pixels. Returns false, without writing, if a window leaves the image.
template <class Samples>
inline bool remapBayerGroup(const RectifySource& source, const int32_t* from, uint8_t* out) {
  I32 px, py;
  loadPairsI32(from, px, py);
  const AxisPlace x(px, source.width - 1), y(py, source.height - 1);
  const I32 one = splatI32(1);
  if (anyAboveI32(one, x.whole) || anyAboveI32(one, y.whole) || anyAboveI32(x.whole, splatI32(source.width - 3)) ||
      anyAboveI32(y.whole, splatI32(source.height - 3))) {
    return false;
  }
  const I32 site =
      mosaicSite(addI32(x.whole, splatI32(redX(source.format))), addI32(y.whole, splatI32(redY(source.format))));
  const I32 firstX = subI32(x.whole, one);
  const auto compute = [&](const auto& fetch) {
    const auto row = [&](int32_t j) { return mosaicRow<Samples>([&](int32_t at) { return fetch(j, at); }, firstX); };
    const MosaicRow row0 = row(0), row1 = row(1), row2 = row(2), row3 = row(3);
    const I32 top = mosaicGrey(row0, row1, row2, site);
    const I32 bottom = mosaicGrey(row1, row2, row3, xorI32(site, splatI32(2)));
    storeBytesI32(out, interpolate(top, bottom, x, y));
  };
  using Window = SourceWindow<Samples::kQuadReach>;
  if constexpr (Window::possible(Samples::kBytesApart)) {
    const SourcePlane plane = {source.data, source.strideBytes, source.height, Samples::rowBytes(source.width)};
    const int32_t leastX = leastWhole(from, source.width, 0) - 1;
    const Window window(plane, leastX < 0 ? -1 : Samples::byteOf(leastX), leastWhole(from, source.height, 1) - 1,
                        Samples::bytesOf(firstX), subI32(y.whole, one));
    if (window.fits()) {
      compute([&](int32_t j, int32_t at) { return window.fetch(j, at); });
      return true;
    }
  }
  const size_t stride = source.strideBytes;
  const I32 offset =
      addI32(mulI32(subI32(y.whole, one), splatI32(static_cast<int32_t>(stride))), Samples::bytesOf(firstX));
  compute([&](int32_t j, int32_t at) { return gatherI32(source.data + static_cast<size_t>(j) * stride + at, offset); });
  return true;
}

/// Remaps rows, a group at a time; the last group of a row overlaps the one before.
template <class Group>
void remapRows(const RectifySource& source, const int32_t* map, ImageView<uint8_t> out, int32_t firstRow,
               int32_t endRow, const Group& group) {
  const bool vectors = out.width >= kLanesI32 && source.width >= 2 && source.height >= 2;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const int32_t* from = map + 2 * static_cast<size_t>(y) * static_cast<size_t>(out.width);
    uint8_t* row = out.row(y);
    for (int32_t x = 0; x < out.width;) {
      const int32_t start = vectors ? lesser(x, out.width - kLanesI32) : x;
      const int32_t end = vectors ? start + kLanesI32 : x + 1;
      if (!vectors || !group(from + 2 * start, row + start)) {
        for (int32_t i = start; i < end; ++i) row[i] = remapPixel(source, from + 2 * i);
      }
      x = end;
    }
  }
}

/// Only converts formats with two bytes per pixel.
template <int kShift>
void convertWordRow(const uint8_t* from, uint8_t* out, int32_t width) {
  int32_t x = 0;
  for (; x + 2 * kLanesI32 <= width; x += 2 * kLanesI32) {
    const I32 pair = WordSamples<kShift>::bytePair(loadI32(from + 2 * x));
    storeHalvesI32(out + x, orI32(pair, shiftRightI32<8>(pair)));
  }
  for (; x < width; ++x) out[x] = static_cast<uint8_t>((from[2 * x] | from[2 * x + 1] << 8) >> kShift);
}

/// Only converts a Bayer row: each lane computes two pixels.
template <class Samples>
void convertBayerRow(const RectifySource& source, int32_t y, uint8_t* out) {
  const int32_t width = source.width;
  int32_t x = 0;
  if (y >= 1 && y + 1 < source.height && width >= 2 * kLanesI32 + 2) {
    const I32 lane = laneI32();
    const I32 site = mosaicSite(splatI32(1 + redX(source.format)), splatI32(y + redY(source.format)));
    const uint8_t* row = source.data + static_cast<size_t>(y) * source.strideBytes;
    out[0] = static_cast<uint8_t>(greyOfPixel(source, 0, y));
    for (x = 1; x + 2 * kLanesI32 + 1 <= width; x += 2 * kLanesI32) {
      const I32 firstX = addI32(shiftLeftI32<1>(lane), splatI32(x - 1)), offset = Samples::bytesOf(firstX);
      const auto line = [&](const uint8_t* first) {
        return mosaicRow<Samples>([&](int32_t at) { return gatherI32(first + at, offset); }, firstX);
      };
      const I32 pair = mosaicGrey(line(row - source.strideBytes), line(row), line(row + source.strideBytes), site);
      storeHalvesI32(out + x, orI32(pair, shiftRightI32<8>(pair)));
    }
  }
  for (; x < width; ++x) out[x] = static_cast<uint8_t>(greyOfPixel(source, x, y));
}

void convertRows(const RectifySource& source, ImageView<uint8_t> out, int32_t firstRow, int32_t endRow) {
  const SampleLayout layout = sampleLayout(source.format);
  for (int32_t y = firstRow; y < endRow; ++y) {
    const uint8_t* from = source.data + static_cast<size_t>(y) * source.strideBytes;
    uint8_t* row = out.row(y);
    if (isBayer(source.format)) {
      switch (bayerDepth(source.format)) {
        case 0: convertBayerRow<ByteSamples>(source, y, row); break;
        case 1: convertBayerRow<WordSamples<2>>(source, y, row); break;
        case 2: convertBayerRow<WordSamples<4>>(source, y, row); break;
        case 3: convertBayerRow<WordSamples<8>>(source, y, row); break;
        case 4: convertBayerRow<PackedSamples<10>>(source, y, row); break;
        default: convertBayerRow<PackedSamples<12>>(source, y, row);
      }
    } else if (layout.groupLog2 != SampleLayout::kUnpacked || layout.bytesPerPixel == 3) {
      for (int32_t x = 0; x < out.width; ++x) row[x] = static_cast<uint8_t>(loadSample(from, x, layout));
    } else if (layout.bytesPerPixel == 1) {
      std::memcpy(row, from, static_cast<size_t>(out.width));
    } else {
      switch (layout.shift) {
        case 0: convertWordRow<0>(from, row, out.width); break;
        case 2: convertWordRow<2>(from, row, out.width); break;
        case 4: convertWordRow<4>(from, row, out.width); break;
        default: convertWordRow<8>(from, row, out.width);
      }
    }
  }
}

template <class Samples>
void remapGreyRows(const RectifySource& source, const int32_t* map, ImageView<uint8_t> out, int32_t firstRow,
                   int32_t endRow) {
  // The bottom row of a window is read one stride further, four bytes at once.
  const int64_t bytes =
      int64_t{source.height - 1} * static_cast<int64_t>(source.strideBytes) + Samples::rowBytes(source.width);
  const int32_t lastOffset = static_cast<int32_t>(bytes - 4 - static_cast<int64_t>(source.strideBytes));
  remapRows(source, map, out, firstRow, endRow,
            [&](const int32_t* from, uint8_t* to) { return remapGroup<Samples>(source, from, to, lastOffset); });
}

template <class Samples>
void remapBayerRows(const RectifySource& source, const int32_t* map, ImageView<uint8_t> out, int32_t firstRow,
                    int32_t endRow) {
  remapRows(source, map, out, firstRow, endRow,
            [&](const int32_t* from, uint8_t* to) { return remapBayerGroup<Samples>(source, from, to); });
}

/// Subtracts the black level from bytes of a row that was just written.
void subtractBlack(const RectifySource& source, uint8_t* row, int32_t bytes) {
  const int32_t black = source.blackLevel;
  const U8 blacks = splatU8(static_cast<uint8_t>(black));
  int32_t i = 0;
  for (; i + kLanes <= bytes; i += kLanes) storeU8(row + i, subSaturatedU8(loadU8(row + i), blacks));
  for (; i < bytes; ++i) row[i] = static_cast<uint8_t>(row[i] > black ? row[i] - black : 0);
}

/// Defined in rectify_rgb.inl.h.
void rgbToGreyRows(const RectifySource& source, const int32_t* map, ImageView<uint8_t> out, int32_t firstRow,
                   int32_t endRow);

void greyRows(const RectifySource& source, const int32_t* map, ImageView<uint8_t> out, int32_t firstRow,
              int32_t endRow) {
  if (source.format == PixelFormat::kRgb8) return rgbToGreyRows(source, map, out, firstRow, endRow);
  if (map == nullptr) return convertRows(source, out, firstRow, endRow);
  const SampleLayout layout = sampleLayout(source.format);
  const bool bayer = isBayer(source.format);
  const auto run = [&](auto samples) {
    using Samples = decltype(samples);
    if (bayer) remapBayerRows<Samples>(source, map, out, firstRow, endRow);
    else remapGreyRows<Samples>(source, map, out, firstRow, endRow);
  };
  if (layout.groupLog2 == 2) return run(PackedSamples<10>{});
  if (layout.groupLog2 == 1) return run(PackedSamples<12>{});
  if (layout.bytesPerPixel == 1) return run(ByteSamples{});
  if (layout.bytesPerPixel == 3) {
    return layout.shift == 4 ? remapGreyRows<TripleSamples<4>>(source, map, out, firstRow, endRow)
                             : remapGreyRows<TripleSamples<16>>(source, map, out, firstRow, endRow);
  }
  switch (layout.shift) {
    case 0: return remapGreyRows<WordSamples<0>>(source, map, out, firstRow, endRow);
    case 2: return run(WordSamples<2>{});
    case 4: return run(WordSamples<4>{});
    default: return run(WordSamples<8>{});
  }
}

void rectifyRows(const RectifySource& source, const int32_t* map, ImageView<uint8_t> out, int32_t firstRow,
                 int32_t endRow) {
  if (source.blackLevel == 0) return greyRows(source, map, out, firstRow, endRow);
  // Row by row, so that the row is still in the cache.
  for (int32_t y = firstRow; y < endRow; ++y) {
    greyRows(source, map, out, y, y + 1);
    subtractBlack(source, out.row(y), out.width);
  }
}

}  // namespace

#include "rectify_rgb.inl.h"

DEPTHWATT_VECTOR_CODE(RectifyKernels, rectifyRows, rectifyRgbRows)
