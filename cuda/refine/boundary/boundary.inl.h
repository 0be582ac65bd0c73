// SPDX-License-Identifier: Apache-2.0
// Vector form of the boundary vote; compiled once per instruction set.
//
// Smallest and largest disparity are found down the columns first, then along the row. The vote runs on whole vectors,
// a window's row at a time in bytes: nine weights of at most kBoundaryGrey fit. Pixels that change sides, one in a
// hundred to one in five, search for a value at the closest places together, and further away one by one.

#include "boundary.h"

namespace {

constexpr int32_t kBoundarySide = 2 * kBoundaryRadius + 1;
constexpr int32_t kBoundaryWidest = 32768;
static_assert(kBoundarySide * kBoundaryGrey < 256, "a row of the window votes in bytes");

/// The window's places without the centre, by distance, then row, then column.
struct BoundaryPlaces {
  int8_t i[kBoundarySide * kBoundarySide - 1] = {};
  int8_t j[kBoundarySide * kBoundarySide - 1] = {};

  constexpr BoundaryPlaces() {
    int32_t count = 0;
    for (int32_t y = -kBoundaryRadius; y <= kBoundaryRadius; ++y) {
      for (int32_t x = -kBoundaryRadius; x <= kBoundaryRadius; ++x) {
        if (x == 0 && y == 0) continue;
        int32_t place = count++;
        for (; place > 0 && i[place - 1] * i[place - 1] + j[place - 1] * j[place - 1] > x * x + y * y; --place) {
          i[place] = i[place - 1];
          j[place] = j[place - 1];
        }
        i[place] = static_cast<int8_t>(x);
        j[place] = static_cast<int8_t>(y);
      }
    }
  }
};
constexpr BoundaryPlaces kBoundaryPlaces;
constexpr int32_t kBoundaryVectorPlaces = 24;  // up to 2.8 pixels away; further places are searched pixel by pixel

constexpr int32_t kBoundaryHalves = kLanes / kLanesI16;

/// The rows of a window; rows outside the image are replicated.
struct BoundaryWindow {
  const uint8_t* grey[kBoundarySide];
  const int16_t* disparity[kBoundarySide];
};

/// A window of kLanes pixels with its replicated columns outside the image.
struct BoundaryMargin {
  static constexpr int32_t kColumns = kLanes + 2 * kBoundaryRadius;
  uint8_t grey[kBoundarySide][kColumns];
  int16_t disparity[kBoundarySide][kColumns];

  /// Pixel x is at kBoundaryRadius.
  BoundaryWindow around(const BoundaryWindow& window, int32_t x, int32_t width) {
    BoundaryWindow result;
    const int32_t first = x - kBoundaryRadius;
    const int32_t before = greater(-first, 0), end = lesser(width - first, kColumns);
    for (int32_t j = 0; j < kBoundarySide; ++j) {
      const uint8_t* greyRow = window.grey[j];
      const int16_t* disparityRow = window.disparity[j];
      for (int32_t i = 0; i < before; ++i) grey[j][i] = greyRow[0], disparity[j][i] = disparityRow[0];
      std::memcpy(grey[j] + before, greyRow + first + before, static_cast<size_t>(end - before));
      std::memcpy(disparity[j] + before, disparityRow + first + before,
                  static_cast<size_t>(end - before) * sizeof(int16_t));
      for (int32_t i = end; i < kColumns; ++i)
        grey[j][i] = greyRow[width - 1], disparity[j][i] = disparityRow[width - 1];
      result.grey[j] = grey[j];
      result.disparity[j] = disparity[j];
    }
    return result;
  }
};

struct BoundaryRow : BoundaryWindow {
  ImageView<const int16_t> disparityQ4;
  int32_t y, width;

  BoundaryRow(ImageView<const uint8_t> greyImage, ImageView<const int16_t> disparities, int32_t row)
      : disparityQ4(disparities), y(row), width(disparities.width) {
    for (int32_t j = 0; j < kBoundarySide; ++j) {
      const int32_t clamped = lesser(greater(y + j - kBoundaryRadius, 0), disparities.height - 1);
      grey[j] = greyImage.row(clamped);
      disparity[j] = disparities.row(clamped);
    }
  }

  /// Computes low and high with kBoundaryRadius replicated columns on either side. low without any valid pixel is
  /// 32767. Returns whether any pixel is invalid.
  bool extremes(int16_t* low, int16_t* high) const {
    const I16 invalid = splatI16(kInvalidDisparity), largest = splatI16(32767);
    I16 holes = splatI16(0);
    const auto column = [&](int32_t x) {
      I16 lo = largest, hi = invalid;
      for (int32_t j = 0; j < kBoundarySide; ++j) {
        const I16 d = loadI16(disparity[j] + x);
        const I16 hole = equalI16(d, invalid);
        holes = minI16(holes, hole);
        hi = maxI16(hi, d);
        lo = minI16(lo, selectI16(hole, largest, d));
      }
      storeI16(low + kBoundaryRadius + x, lo);
      storeI16(high + kBoundaryRadius + x, hi);
    };
    for (int32_t x = 0; x + kLanesI16 <= width; x += kLanesI16) column(x);
    column(width - kLanesI16);
    for (int32_t i = 0; i < kBoundaryRadius; ++i) {
      low[i] = low[kBoundaryRadius];
      high[i] = high[kBoundaryRadius];
      low[kBoundaryRadius + width + i] = low[kBoundaryRadius + width - 1];
      high[kBoundaryRadius + width + i] = high[kBoundaryRadius + width - 1];
    }
    return anyI16(holes);
  }

  /// Computes the votes of kLanes pixels from x on. @param mid their thresholds. @param lowest kLanes times the invalid
  /// disparity
  template <bool kHoles>
  static void votes(const BoundaryWindow& window, int32_t x, const int16_t* mid, const int16_t* lowest, I16* sum) {
    const U8 own = loadU8(window.grey[kBoundaryRadius] + x), maxWeight = splatU8(kBoundaryGrey);
    for (int32_t half = 0; half < kBoundaryHalves; ++half) sum[half] = splatI16(0);
    for (int32_t j = 0; j < kBoundarySide; ++j) {
      U8 all = zeroU8(), near = zeroU8();
      for (int32_t i = -kBoundaryRadius; i <= kBoundaryRadius; ++i) {
        const U8 value = loadU8(window.grey[j] + x + i);
        const int16_t* disparity = window.disparity[j] + x + i;
        U8 weight = subSaturatedU8(maxWeight, add(subSaturatedU8(value, own), subSaturatedU8(own, value)));
        if (kHoles) weight = subSaturatedU8(weight, maskGreaterEqual(lowest, disparity));
        all = add(all, weight);
        near = add(near, subSaturatedU8(weight, maskGreaterEqual(mid, disparity)));
      }
      alignas(64) uint8_t alls[kLanes], nears[kLanes];
      storeU8(alls, all);
      storeU8(nears, near);
      for (int32_t half = 0; half < kBoundaryHalves; ++half) {
        const I16 twice = loadBytesAsI16(nears + half * kLanesI16);
        sum[half] = addI16(sum[half], subI16(addI16(twice, twice), loadBytesAsI16(alls + half * kLanesI16)));
      }
    }
  }

  /// Returns the vote of one pixel anywhere.
  int32_t vote(int32_t x, int32_t mid) const {
    int32_t sum = 0;
    for (int32_t j = 0; j < kBoundarySide; ++j) {
      for (int32_t i = -kBoundaryRadius; i <= kBoundaryRadius; ++i) {
        const int32_t qx = lesser(greater(x + i, 0), width - 1);
        const int32_t difference = grey[j][qx] - grey[kBoundaryRadius][x];
        const int32_t weight = greater(kBoundaryGrey - (difference < 0 ? -difference : difference), 0);
        const int32_t d = disparity[j][qx];
        if (d != kInvalidDisparity) sum += d > mid ? weight : -weight;
      }
    }
    return sum;
  }

  int16_t closest(int32_t x, int32_t mid, bool near) const {
    for (int32_t place = 0; place < kBoundarySide * kBoundarySide - 1; ++place) {
      const int32_t qx = x + kBoundaryPlaces.i[place], qy = y + kBoundaryPlaces.j[place];
      if (qx < 0 || qx >= width || qy < 0 || qy >= disparityQ4.height) continue;
      const int16_t d = disparityQ4.row(qy)[qx];
      if (d != kInvalidDisparity && (d > mid) == near) return d;
    }
    return disparityQ4.row(y)[x];
  }

  /// Returns whether the windows of a vector's pixels are inside the image, so that all places are equally far from
  /// each.
  bool isInside(int32_t x) const {
    return x >= kBoundaryRadius && x + kLanesI16 + kBoundaryRadius <= width && y >= kBoundaryRadius &&
           y + kBoundaryRadius < disparityQ4.height;
  }

  /// Like closest(), for the lanes of `change` whose place is among the first. @param near the pixel's own side.
  /// Returns the remaining lanes.
  I16 closestNearby(int32_t x, I16 mid, I16 near, I16 change, int16_t* out) const {
    const I16 invalid = splatI16(kInvalidDisparity);
    I16 left = change, result = loadI16(out + x);
    for (int32_t place = 0; place < kBoundaryVectorPlaces; ++place) {
      const I16 d = loadI16(disparity[kBoundaryRadius + kBoundaryPlaces.j[place]] + x + kBoundaryPlaces.i[place]);
      const I16 other = andNotI16(equalI16(lessI16(mid, d), near), left);
      const I16 taken = andNotI16(equalI16(d, invalid), other);
      result = selectI16(taken, d, result);
      left = andNotI16(taken, left);
      if (place % 4 == 3 && !anyI16(left)) break;
    }
    storeI16(out + x, result);
    return left;
  }

  /// Returns the result of one pixel from its window's extremes.
  int16_t pixel(int32_t x, int32_t lo, int32_t hi) const {
    const int16_t centre = disparity[kBoundaryRadius][x];
    if (centre == kInvalidDisparity || hi - lo <= kBoundaryStepQ4) return centre;
    const int32_t mid = (lo + hi) >> 1;
    const int32_t sum = vote(x, mid);
    if (sum == 0 || (sum > 0) == (centre > mid)) return centre;
    return closest(x, mid, sum > 0);
  }

  /// Computes kLanes pixels from x on.
  void vector(int32_t x, const int16_t* low, const int16_t* high, bool holes, int16_t* out) const {
    const I16 zero = splatI16(0), invalid = splatI16(kInvalidDisparity);
    alignas(64) int16_t mids[kLanes];
    I16 active[kBoundaryHalves], any = zero;
    for (int32_t half = 0; half < kBoundaryHalves; ++half) {
      const int32_t at = x + half * kLanesI16;
      I16 lo = loadI16(low + at), hi = loadI16(high + at);
      for (int32_t i = 1; i < kBoundarySide; ++i) {
        lo = minI16(lo, loadI16(low + at + i));
        hi = maxI16(hi, loadI16(high + at + i));
      }
      const I16 centre = loadI16(disparity[kBoundaryRadius] + at);
      const I16 step = lessI16(splatI16(kBoundaryStepQ4), subSaturatedI16(hi, lo));
      active[half] = andNotI16(equalI16(centre, invalid), step);
      any = minI16(any, active[half]);
      storeI16(mids + half * kLanesI16, averageFloorI16(lo, hi));
      storeI16(out + at, centre);
    }
    if (!anyI16(any)) return;

    alignas(64) int16_t lowest[kLanes];
    for (int32_t half = 0; half < kBoundaryHalves; ++half) storeI16(lowest + half * kLanesI16, invalid);
    I16 sums[kBoundaryHalves];
    if (x >= kBoundaryRadius && x + kLanes + kBoundaryRadius <= width) {
      holes ? votes<true>(*this, x, mids, lowest, sums) : votes<false>(*this, x, mids, lowest, sums);
    } else {
      BoundaryMargin margin;
      votes<true>(margin.around(*this, x, width), kBoundaryRadius, mids, lowest, sums);
    }
    for (int32_t half = 0; half < kBoundaryHalves; ++half) {
      const int32_t at = x + half * kLanesI16;
      const I16 near = lessI16(loadI16(mids + half * kLanesI16), loadI16(disparity[kBoundaryRadius] + at));
      const I16 lost = selectI16(near, lessI16(sums[half], zero), lessI16(zero, sums[half]));
      const I16 change = andI16(active[half], lost);
      if (!anyI16(change)) continue;
      const I16 mid = loadI16(mids + half * kLanesI16);
      I16 left = change;
      if (isInside(at)) left = closestNearby(at, mid, near, change, out);
      if (!anyI16(left)) continue;
      alignas(8) uint8_t lefts[kLanesI16 < 8 ? 8 : kLanesI16] = {};
      storeBytesI16(lefts, andI16(left, splatI16(1)));
      for (int32_t eight = 0; eight < kLanesI16; eight += 8) {
        uint64_t lanes;
        std::memcpy(&lanes, lefts + eight, sizeof lanes);
        for (; lanes != 0; lanes &= lanes - 1) {
          const int32_t lane = eight + __builtin_ctzll(lanes) / 8;
          const int32_t ownMid = mids[half * kLanesI16 + lane];
          out[at + lane] = closest(at + lane, ownMid, disparity[kBoundaryRadius][at + lane] <= ownMid);
        }
      }
    }
  }

  /// For images narrower than a vector.
  void narrow(int16_t* out) const {
    for (int32_t x = 0; x < width; ++x) {
      int32_t lo = 32767, hi = kInvalidDisparity;
      for (int32_t j = 0; j < kBoundarySide; ++j) {
        for (int32_t i = -kBoundaryRadius; i <= kBoundaryRadius; ++i) {
          const int32_t d = disparity[j][lesser(greater(x + i, 0), width - 1)];
          if (d == kInvalidDisparity) continue;
          lo = lesser(lo, d);
          hi = greater(hi, d);
        }
      }
      out[x] = pixel(x, lo, hi);
    }
  }
};

inline void boundaryRows(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4, ImageView<int16_t> result,
                         int32_t firstRow, int32_t endRow) {
  int16_t low[kBoundaryWidest + 2 * kBoundaryRadius], high[kBoundaryWidest + 2 * kBoundaryRadius];
  const int32_t width = grey.width;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const BoundaryRow row(grey, disparityQ4, y);
    int16_t* out = result.row(y);
    if (width < kLanes) {
      row.narrow(out);
      continue;
    }
    const bool holes = row.extremes(low, high);
    for (int32_t x = 0; x + kLanes <= width; x += kLanes) row.vector(x, low, high, holes, out);
    if (width % kLanes != 0) row.vector(width - kLanes, low, high, holes, out);
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(BoundaryKernels, boundaryRows)
