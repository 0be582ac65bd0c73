// SPDX-License-Identifier: Apache-2.0
// Vector form of points; compiled once per instruction set.
//
// The same roundings in the same order as the definition; u is read from a table by column. Coordinates and colour are
// four vectors of words, interleaved into points by the store.

#include "points.h"

namespace {

/// The addresses of kLanesF32 adjacent pixels and their points.
struct PointsPlace {
  const int16_t* disparityQ4;
  const uint8_t* grey;
  const Rgb8* rgb;
  const float* columns;
  uint8_t* points;
};

template <PointFrame kFrame, PointElement kElement, bool kColours>
struct PointsVectors {
  static constexpr bool kFloat = kElement == PointElement::kF32;
  static constexpr size_t kBytes = kFloat ? 16 : (kColours ? 10 : 8);

  F32 numerator, offsetQ4, half, row;

  PointsVectors(const PointsPlan& plan, int32_t y)
      : numerator(splatF32(plan.numerator)), offsetQ4(splatF32(plan.offsetQ4)), half(splatF32(plan.halfBaseline)) {
    const PointsParameters& p = plan.parameters;
    const double rows = kFrame == PointFrame::kCamera ? y - p.cy : p.cy - y;
    row = splatF32(static_cast<float>(rows / p.focalPixels));
  }

  /// Returns blue, green, red and 255, from the lowest byte on.
  static I32 colourWords(const PointsPlace& at) {
    const I32 opaque = splatI32(static_cast<int32_t>(0xff000000u));
    if (!kColours) {
      const I32 grey = loadBytesAsI32(at.grey);
      return orI32(orI32(grey, opaque), orI32(shiftLeftI32<8>(grey), shiftLeftI32<16>(grey)));
    }
    return orI32(loadReversedTriplesI32(&at.rgb->red), opaque);
  }

  static MaskF32 fits(F32 rounded) {
    return bothF32(lessF32(splatF32(-32768.0f), rounded), lessF32(rounded, splatF32(32768.0f)));
  }

  void make(const PointsPlace& at) const {
    const F32 disparity = loadI16AsF32(at.disparityQ4);
    const F32 denominator = addF32(disparity, offsetQ4);
    const MaskF32 valid =
        bothF32(notEqualF32(disparity, splatF32(kInvalidDisparity)), lessF32(splatF32(0), denominator));
    F32 z = divF32(numerator, denominator);
    if (kFloat) z = divF32(z, splatF32(1000.0f));
    const F32 aside = mulF32(loadF32(at.columns), z), along = mulF32(row, z);
    const bool camera = kFrame == PointFrame::kCamera;
    const F32 values[3] = {camera ? aside : z, camera ? along : subF32(half, aside), camera ? z : along};
    if (kFloat) {
      const F32 none = splatF32(__builtin_nanf(""));
      storeFours(at.points, selectF32(valid, values[0], none), selectF32(valid, values[1], none),
                 selectF32(valid, values[2], none), colourWords(at));
      return;
    }
    F32 rounded[3];
    for (int32_t i = 0; i < 3; ++i) rounded[i] = floorF32(addF32(values[i], splatF32(0.5f)));
    const MaskF32 inside = bothF32(bothF32(valid, fits(rounded[0])), bothF32(fits(rounded[1]), fits(rounded[2])));
    I32 whole[3];
    for (int32_t i = 0; i < 3; ++i) whole[i] = truncatedI32(selectF32(inside, rounded[i], splatF32(kNoPoint)));
    const I32 low = splatI32(0xffff);
    const I32 first = orI32(andI32(whole[0], low), shiftLeftI32<16>(whole[1]));
    const I32 last = andI32(whole[2], low);
    if (!kColours) {
      storeTwos(at.points, first, orI32(last, shiftLeftI32<16>(loadBytesAsI32(at.grey))));
      return;
    }
    storeTens(at.points, first, last, colourWords(at));
  }
};

template <PointFrame kFrame, PointElement kElement, bool kColours>
void writePointsRows(const PointsPlan& plan, const PointsImages& images, uint8_t* points, int32_t firstRow,
                     int32_t endRow) {
  using Vectors = PointsVectors<kFrame, kElement, kColours>;
  const int32_t width = images.disparityQ4.width;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const Vectors vectors(plan, y);
    const int16_t* disparityQ4 = images.disparityQ4.row(y);
    const uint8_t* grey = images.grey.row(y);
    const Rgb8* rgb = kColours ? images.rgb.row(y) : nullptr;
    uint8_t* out = points + static_cast<size_t>(y) * width * Vectors::kBytes;
    const auto at = [&](int32_t x) {
      return PointsPlace{disparityQ4 + x, grey + x, kColours ? rgb + x : nullptr, plan.columns.data() + x,
                         out + x * Vectors::kBytes};
    };
    int32_t x = 0;
    for (; x + kLanesF32 <= width; x += kLanesF32) vectors.make(at(x));
    if (x == width) continue;
    if (width >= kLanesF32) {
      vectors.make(at(width - kLanesF32));  // overlaps the previous vector
      continue;
    }
    int16_t paddedDisparity[kLanesF32] = {};
    uint8_t paddedGrey[kLanesF32] = {};
    Rgb8 paddedRgb[kLanesF32] = {};
    float paddedColumns[kLanesF32] = {};
    uint8_t results[kLanesF32 * Vectors::kBytes];
    for (int32_t i = 0; i < width; ++i) {
      paddedDisparity[i] = disparityQ4[i];
      paddedGrey[i] = grey[i];
      if (kColours) paddedRgb[i] = rgb[i];
      paddedColumns[i] = plan.columns[static_cast<size_t>(i)];
    }
    vectors.make({paddedDisparity, paddedGrey, paddedRgb, paddedColumns, results});
    std::memcpy(out, results, width * Vectors::kBytes);
  }
}

template <PointFrame kFrame, PointElement kElement>
void writePointsRows(const PointsPlan& plan, const PointsImages& images, uint8_t* points, int32_t firstRow,
                     int32_t endRow) {
  if (plan.parameters.colours) writePointsRows<kFrame, kElement, true>(plan, images, points, firstRow, endRow);
  else writePointsRows<kFrame, kElement, false>(plan, images, points, firstRow, endRow);
}

void pointsRows(const PointsPlan& plan, const PointsImages& images, uint8_t* points, int32_t firstRow, int32_t endRow) {
  const bool metres = plan.parameters.element == PointElement::kF32;
  if (plan.parameters.frame == PointFrame::kCamera) {
    if (metres) writePointsRows<PointFrame::kCamera, PointElement::kF32>(plan, images, points, firstRow, endRow);
    else writePointsRows<PointFrame::kCamera, PointElement::kI16>(plan, images, points, firstRow, endRow);
  } else {
    if (metres) writePointsRows<PointFrame::kRobot, PointElement::kF32>(plan, images, points, firstRow, endRow);
    else writePointsRows<PointFrame::kRobot, PointElement::kI16>(plan, images, points, firstRow, endRow);
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(PointsKernels, pointsRows)
