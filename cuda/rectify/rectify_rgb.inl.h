// SPDX-License-Identifier: Apache-2.0
// Vector form of rectification in colours, and of the grey of three-byte pixels; compiled once per instruction set, after
// rectify.inl.h.
// A lane is one output pixel. A format provides, for a row of the source, each colour of the two pixels next to the
// lane's place, as (left | right << 16); the rest is the same for all formats. A lane whose bytes would leave the image
// computes with the nearest place that does not, and its pixel is computed again alone. A group is one function, always
// inlined: otherwise the compiler calls its parts, passes registers through memory and computes unused values.

namespace {

/// Each colour of two neighbouring pixels and their grey, left | right << 16. Unused parts are not computed.
struct PixelPair {
  I32 red, green, blue, grey;
};

/// The whole places that a format's vectors can compute.
struct PlaceLimits {
  int32_t lowX, highX, lowY, highY;
  bool any() const { return lowX <= highX && lowY <= highY; }
  bool hold(int32_t x, int32_t y) const { return x >= lowX && x <= highX && y >= lowY && y <= highY; }
};

/// The bytes of one plane for a group of lanes: from a window if it fits, else gathered. kApart: bytes from a pixel to
/// the next.
template <int kReach, int kApart>
class SourceFetch {
 public:
  SourceFetch(const SourcePlane& plane, int32_t firstByte, int32_t firstRow, I32 byte, I32 row)
      : window_(plane, firstByte, firstRow, byte, row), data_(plane.data), strideBytes_(plane.strideBytes),
        offset_(addI32(mulI32(row, splatI32(static_cast<int32_t>(plane.strideBytes))), byte)) {}

  /// @param at a byte of its reach for each lane
  [[gnu::always_inline]] I32 fetchAt(int32_t j, I32 at) const {
    if (SourceWindow<kReach>::possible(kApart) && window_.fits()) return window_.fetchAt(j, at);
    return gatherI32(data_ + static_cast<size_t>(j) * strideBytes_, addI32(offset_, at));
  }
  I32 fetch(int32_t j, int32_t at = 0) const { return fetchAt(j, splatI32(at)); }

 private:
  const SourceWindow<kReach> window_;
  const uint8_t* const data_;
  const size_t strideBytes_;
  const I32 offset_;
};

/// The place of a group: the lanes' whole places within limits, and a place not after any of them, for windows.
struct GroupPlace {
  I32 x, y;
  int32_t firstX, firstY;

  [[gnu::always_inline]] GroupPlace(const RectifySource& source, const int32_t* from, I32 wholeX, I32 wholeY,
                                    const PlaceLimits& limits) {
    x = minI32(maxI32(wholeX, splatI32(limits.lowX)), splatI32(limits.highX));
    y = minI32(maxI32(wholeY, splatI32(limits.lowY)), splatI32(limits.highY));
    firstX = clampTo(leastWhole(from, source.width, 0), limits.lowX, limits.highX);
    firstY = clampTo(leastWhole(from, source.height, 1), limits.lowY, limits.highY);
  }
};

inline I32 lowHalf(I32 v) { return andI32(v, splatI32(0xffff)); }
inline I32 bytesOfHalves(I32 v) { return andI32(v, splatI32(0x00ff00ff)); }

/// Returns BT.601 luma of three bytes, rounded like the definition.
inline I32 lumaOfRgb(I32 word) {
  const I32 redBlue = pairSumI32(bytesOfHalves(word), splatI32(77 | 29 << 16));
  const I32 green = pairSumI32(andI32(shiftRightI32<8>(word), splatI32(0xff)), splatI32(150));
  return shiftRightI32<8>(addI32(addI32(redBlue, green), splatI32(128)));
}

/// Three bytes a pixel: two words, of the left pixel and the right one's red, and of the left one's blue and the right
/// one.
class RgbPairs {
 public:
  static PlaceLimits limits(const RectifySource& source) { return {0, source.width - 2, 0, source.height - 2}; }

  [[gnu::always_inline]] RgbPairs(const RectifySource& source, const GroupPlace& at)
      : bytes_({source.data, source.strideBytes, source.height, 3 * source.width}, 3 * at.firstX, at.firstY,
               addI32(at.x, shiftLeftI32<1>(at.x)), at.y) {}

  [[gnu::always_inline]] PixelPair row(int32_t j) const {
    const I32 left = bytes_.fetch(j), right = bytes_.fetch(j, 2);
    const auto outer = [&](I32 word) {
      return orI32(andI32(word, splatI32(0xff)), shiftLeftI32<16>(shiftRightI32<24>(word)));
    };
    const I32 green = orI32(andI32(shiftRightI32<8>(left), splatI32(0xff)), andI32(right, splatI32(0xff0000)));
    return {outer(left), green, outer(right), joinHalves(lumaOfRgb(left), lumaOfRgb(shiftRightI32<8>(right)))};
  }

 private:
  const SourceFetch<6, 3> bytes_;
};

/// What chroma adds to luma, as in rectify.ref.cc, for u and v of 0 to 255: the biases are whole, so floors are equal.
struct ChromaShare {
  I32 red, green, blue;

  /// uv: u | v << 16.
  explicit ChromaShare(I32 uv)
      : red(subI32(shiftRightI32<8>(pairSumI32(uv, splatI32(359 << 16))), splatI32(179))),
        green(subI32(splatI32(135), shiftRightI32<8>(pairSumI32(uv, splatI32(88 | 183 << 16))))),
        blue(subI32(shiftRightI32<8>(addI32(pairSumI32(uv, splatI32(454)), splatI32(128))), splatI32(227))) {}
};

/// luma: left | right << 16.
[[gnu::always_inline]] inline PixelPair makePixelPair(I32 luma, const ChromaShare& left, const ChromaShare& right) {
  const I32 leftLuma = lowHalf(luma), rightLuma = shiftRightI32<16>(luma);
  const auto sum = [&](I32 brightness, I32 share) {
    return minI32(maxI32(addI32(brightness, share), splatI32(0)), splatI32(255));
  };
  return {joinHalves(sum(leftLuma, left.red), sum(rightLuma, right.red)),
          joinHalves(sum(leftLuma, left.green), sum(rightLuma, right.green)),
          joinHalves(sum(leftLuma, left.blue), sum(rightLuma, right.blue)), luma};
}

/// 4:2:2 in words of two pixels. kLumaShift: 0 where luma is the first byte, else 8.
template <int kLumaShift>
class PackedPairs {
 public:
  static PlaceLimits limits(const RectifySource& source) {
    return {0, 2 * (source.width >> 1) - 2, 0, source.height - 2};
  }

  [[gnu::always_inline]] PackedPairs(const RectifySource& source, const GroupPlace& at)
      : odd_(oddMask(at.x)), words_({source.data, source.strideBytes, source.height, 4 * (source.width >> 1)},
                                    4 * (at.firstX >> 1), at.firstY, shiftLeftI32<2>(shiftRightI32<1>(at.x)), at.y) {}

  [[gnu::always_inline]] PixelPair row(int32_t j) const {
    // If the left pixel is the second pixel of its word, the right pixel is in the next word.
    const I32 word = words_.fetch(j), next = words_.fetchAt(j, andI32(odd_, splatI32(4)));
    const I32 own = bytesOfHalves(shiftRightI32<kLumaShift>(word)),
              other = bytesOfHalves(shiftRightI32<kLumaShift>(next));
    const I32 luma = chooseI32(odd_, joinHalves(shiftRightI32<16>(own), other), own);
    const auto chroma = [&](I32 bits) { return ChromaShare(bytesOfHalves(shiftRightI32<8 - kLumaShift>(bits))); };
    return makePixelPair(luma, chroma(word), chroma(next));
  }

 private:
  const I32 odd_;
  const SourceFetch<8, 2> words_;
};

/// A plane of luma, followed by one of u and v at half the columns and rows.
class Nv12Pairs {
 public:
  static PlaceLimits limits(const RectifySource& source) {
    return {0, 2 * ((source.width + 1) >> 1) - 3, 0, source.height - 2};
  }

  [[gnu::always_inline]] Nv12Pairs(const RectifySource& source, const GroupPlace& at)
      : odd_(oddMask(at.x)),
        luma_({source.data, source.strideBytes, source.height, source.width}, at.firstX, at.firstY, at.x, at.y),
        top_(chromaAt(source, at, at.y, at.firstY)),
        bottom_(chromaAt(source, at, addI32(at.y, splatI32(1)), at.firstY + 1)) {}

  [[gnu::always_inline]] PixelPair row(int32_t j) const {
    const I32 uv = j == 0 ? top_.fetch(0) : bottom_.fetch(0);
    const auto halves = [&](I32 pair) {
      return orI32(andI32(pair, splatI32(0xff)), andI32(shiftLeftI32<8>(pair), splatI32(0xff0000)));
    };
    const I32 left = halves(uv), right = halves(chooseI32(odd_, shiftRightI32<16>(uv), uv));
    // The four bytes from the last but one of the last row on end in the chroma.
    return makePixelPair(ByteSamples::bytePair(luma_.fetch(j)), ChromaShare(left), ChromaShare(right));
  }

 private:
  using Fetch = SourceFetch<4, 1>;

  static Fetch chromaAt(const RectifySource& source, const GroupPlace& at, I32 y, int32_t firstY) {
    const SourcePlane plane = {source.data + static_cast<size_t>(source.height) * source.strideBytes,
                               source.strideBytes, (source.height + 1) >> 1, 2 * ((source.width + 1) >> 1)};
    return {plane, 2 * (at.firstX >> 1), firstY >> 1, shiftLeftI32<1>(shiftRightI32<1>(at.x)), shiftRightI32<1>(y)};
  }

  const I32 odd_;
  const Fetch luma_, top_, bottom_;
};

/// A mosaic of which each lane reads four by four samples.
template <class Samples>
class MosaicPairs {
 public:
  static PlaceLimits limits(const RectifySource& source) { return {1, source.width - 3, 1, source.height - 3}; }

  [[gnu::always_inline]] MosaicPairs(const RectifySource& source, const GroupPlace& at)
      : firstX_(subI32(at.x, splatI32(1))),
        samples_({source.data, source.strideBytes, source.height, Samples::rowBytes(source.width)},
                 Samples::byteOf(at.firstX - 1), at.firstY - 1, Samples::bytesOf(firstX_), subI32(at.y, splatI32(1))),
        evenColumn_(xorI32(oddMask(addI32(at.x, splatI32(redX(source.format)))), splatI32(0xffff))),
        evenRow_(xorI32(oddMask(addI32(at.y, splatI32(redY(source.format)))), splatI32(-1))),
        site_(mosaicSite(addI32(at.x, splatI32(redX(source.format))), addI32(at.y, splatI32(redY(source.format))))),
        rows_{sampled(0), sampled(1), sampled(2), sampled(3)} {}

  [[gnu::always_inline]] PixelPair row(int32_t j) const {
    const I32 redRow = j == 0 ? evenRow_ : xorI32(evenRow_, splatI32(-1));
    const I32 own = shiftLeftI32<2>(rows_[j + 1].own), sides = rows_[j + 1].sides;
    const I32 above = addI32(rows_[j].own, rows_[j + 2].own), corners = addI32(rows_[j].sides, rows_[j + 2].sides);
    const I32 twiceSides = shiftLeftI32<1>(sides), twiceAbove = shiftLeftI32<1>(above);
    // Four times the colours, by whether red's columns and rows are the pixel's own. No half exceeds 1020.
    const auto inColumn = [&](I32 yes, I32 no) { return chooseI32(evenColumn_, yes, no); };
    const auto quarter = [&](I32 v) { return bytesOfHalves(shiftRightI32<2>(addI32(v, splatI32(0x00020002)))); };
    const I32 cross = addI32(sides, above);
    return {quarter(chooseI32(redRow, inColumn(own, twiceSides), inColumn(twiceAbove, corners))),
            quarter(chooseI32(redRow, inColumn(cross, own), inColumn(own, cross))),
            quarter(chooseI32(redRow, inColumn(corners, twiceAbove), inColumn(twiceSides, own))),
            mosaicGrey(rows_[j], rows_[j + 1], rows_[j + 2], xorI32(site_, splatI32(2 * j)))};
  }

 private:
  [[gnu::always_inline]] MosaicRow sampled(int32_t j) const {
    return mosaicRow<Samples>([&](int32_t byte) { return samples_.fetch(j, byte); }, firstX_);
  }

  const I32 firstX_;  ///< of each lane's samples
  const SourceFetch<Samples::kQuadReach, Samples::kBytesApart> samples_;
  const I32 evenColumn_,
      evenRow_;     ///< halves of all ones in red's columns; lanes in red's rows, for the upper pixels
  const I32 site_;  ///< of the upper left pixel
  const MosaicRow rows_[4];
};

Rgb8 remapRgbPixel(const RectifySource& source, const int32_t* from) {
  const auto value = [&](int32_t colour) {
    return remapValue(source, from, [&](int32_t x, int32_t y) { return colourOfPixel(source, x, y, colour); });
  };
  return {value(0), value(1), value(2)};
}

/// Computes kLanesI32 output pixels, and their grey if kWithGrey.
template <class Pairs, bool kWithGrey>
inline void remapRgbGroup(const RectifySource& source, const PlaceLimits& limits, const int32_t* from, Rgb8* out,
                          uint8_t* grey) {
  I32 px, py;
  loadPairsI32(from, px, py);
  const AxisPlace x(px, source.width - 1), y(py, source.height - 1);
  const GroupPlace place(source, from, x.whole, y.whole, limits);
  const Pairs pairs(source, place);
  const PixelPair top = pairs.row(0), bottom = pairs.row(1);
  const I32 red = interpolate(top.red, bottom.red, x, y), green = interpolate(top.green, bottom.green, x, y);
  const I32 blue = interpolate(top.blue, bottom.blue, x, y);
  storeTriplesI32(&out->red, orI32(red, orI32(shiftLeftI32<8>(green), shiftLeftI32<16>(blue))));
  if constexpr (kWithGrey) storeBytesI32(grey, interpolate(top.grey, bottom.grey, x, y));
  const I32 moved = orI32(xorI32(place.x, x.whole), xorI32(place.y, y.whole));
  if (!anyAboveUnsignedI32(moved, splatI32(0))) return;
  for (int32_t i = 0; i < kLanesI32; ++i) {
    const auto whole = [&](int32_t at, int32_t size) { return lesser(clampTo(at, 0, 32 * (size - 1)) >> 5, size - 2); };
    if (limits.hold(whole(from[2 * i], source.width), whole(from[2 * i + 1], source.height))) continue;
    out[i] = remapRgbPixel(source, from + 2 * i);
    if constexpr (kWithGrey) grey[i] = remapPixel(source, from + 2 * i);
  }
}

/// Processes rows of groups; without a map the places of a group are its own pixels. group(from, x, y): kLanesI32
/// pixels from (x, y) on.
template <class Group, class Single>
inline void groupRows(const int32_t* map, int32_t width, int32_t firstRow, int32_t endRow, bool vectors,
                      const Group& group, const Single& single) {
  int32_t own[2 * kLanesI32];
  for (int32_t y = firstRow; y < endRow; ++y) {
    const int32_t* from = map == nullptr ? nullptr : map + 2 * static_cast<size_t>(y) * static_cast<size_t>(width);
    const int32_t step = vectors && width >= kLanesI32 ? kLanesI32 : 1;
    for (int32_t x = 0; x < width; x += step) {
      const int32_t start = lesser(x, width - step);
      for (int32_t i = 0; from == nullptr && i < step; ++i) own[2 * i] = 32 * (start + i), own[2 * i + 1] = 32 * y;
      const int32_t* places = from == nullptr ? own : from + 2 * start;
      // With one lane there are no groups but single pixels.
      if (vectors && width >= kLanesI32) group(places, start, y);
      else single(places, start, y);
    }
  }
}

template <class Pairs, bool kWithGrey>
void remapRgbRows(const RectifySource& source, const int32_t* map, ImageView<Rgb8> out, ImageView<uint8_t> grey,
                  int32_t firstRow, int32_t endRow) {
  const PlaceLimits limits = Pairs::limits(source);
  groupRows(
      map, out.width, firstRow, endRow, limits.any(),
      [&](const int32_t* from, int32_t x, int32_t y) {
        remapRgbGroup<Pairs, kWithGrey>(source, limits, from, out.row(y) + x, kWithGrey ? grey.row(y) + x : nullptr);
      },
      [&](const int32_t* from, int32_t x, int32_t y) {
        out.row(y)[x] = remapRgbPixel(source, from);
        if (kWithGrey) grey.row(y)[x] = remapPixel(source, from);
      });
}

void rgbToGreyRows(const RectifySource& source, const int32_t* map, ImageView<uint8_t> out, int32_t firstRow,
                   int32_t endRow) {
  const PlaceLimits limits = RgbPairs::limits(source);
  const auto group = [&](const int32_t* from, int32_t column, int32_t line) {
    I32 px, py;
    loadPairsI32(from, px, py);
    const AxisPlace x(px, source.width - 1), y(py, source.height - 1);
    const RgbPairs pairs(source, GroupPlace(source, from, x.whole, y.whole, limits));
    storeBytesI32(out.row(line) + column, interpolate(pairs.row(0).grey, pairs.row(1).grey, x, y));
  };
  groupRows(map, out.width, firstRow, endRow, limits.any(), group,
            [&](const int32_t* from, int32_t x, int32_t y) { out.row(y)[x] = remapPixel(source, from); });
}

/// Passes a type as an argument.
template <class Pairs>
struct PairUnpacker {
  using Type = Pairs;
};

template <class Pairs>
void remapRgb(const RectifySource& source, const int32_t* map, ImageView<Rgb8> out, ImageView<uint8_t> grey,
              int32_t firstRow, int32_t endRow) {
  if (grey.data != nullptr && map != nullptr)
    return remapRgbRows<Pairs, true>(source, map, out, grey, firstRow, endRow);
  remapRgbRows<Pairs, false>(source, map, out, {}, firstRow, endRow);
  // Converting without a map has shorter ways to grey.
  if (grey.data != nullptr) greyRows(source, map, grey, firstRow, endRow);
}

void rgbRows(const RectifySource& source, const int32_t* map, ImageView<Rgb8> out, ImageView<uint8_t> grey,
             int32_t firstRow, int32_t endRow) {
  const auto remap = [&](auto pairs) {
    remapRgb<typename decltype(pairs)::Type>(source, map, out, grey, firstRow, endRow);
  };
  switch (source.format) {
    case PixelFormat::kRgb8:
      if (map != nullptr) return remap(PairUnpacker<RgbPairs>{});
      for (int32_t y = firstRow; y < endRow; ++y)
        std::memcpy(out.row(y), source.data + static_cast<size_t>(y) * source.strideBytes,
                    3 * static_cast<size_t>(out.width));
      if (grey.data != nullptr) greyRows(source, map, grey, firstRow, endRow);
      return;
    case PixelFormat::kYuyv: return remap(PairUnpacker<PackedPairs<0>>{});
    case PixelFormat::kUyvy: return remap(PairUnpacker<PackedPairs<8>>{});
    case PixelFormat::kNv12: return remap(PairUnpacker<Nv12Pairs>{});
    default: break;
  }
  switch (bayerDepth(source.format)) {
    case 0: return remap(PairUnpacker<MosaicPairs<ByteSamples>>{});
    case 1: return remap(PairUnpacker<MosaicPairs<WordSamples<2>>>{});
    case 2: return remap(PairUnpacker<MosaicPairs<WordSamples<4>>>{});
    case 3: return remap(PairUnpacker<MosaicPairs<WordSamples<8>>>{});
    case 4: return remap(PairUnpacker<MosaicPairs<PackedSamples<10>>>{});
    default: return remap(PairUnpacker<MosaicPairs<PackedSamples<12>>>{});
  }
}

void rectifyRgbRows(const RectifySource& source, const int32_t* map, ImageView<Rgb8> out, ImageView<uint8_t> grey,
                    int32_t firstRow, int32_t endRow) {
  if (source.blackLevel == 0) return rgbRows(source, map, out, grey, firstRow, endRow);
  for (int32_t y = firstRow; y < endRow; ++y) {
    rgbRows(source, map, out, grey, y, y + 1);
    subtractBlack(source, &out.row(y)->red, 3 * out.width);
    if (grey.data != nullptr) subtractBlack(source, grey.row(y), grey.width);
  }
}

}  // namespace
