// SPDX-License-Identifier: Apache-2.0
// Vector form of the boundary vote; compiled once per instruction set by cuda/cpu/isa_*.cc. No include guard on purpose.
//
// Smallest and largest disparity come down the columns first, then along the row: most vectors have no step and end there.
// The vote runs over whole vectors; the pixels that change sides, one or two in a hundred, look for a value one by one.

namespace {

constexpr int32_t kBoundarySide = 2 * kBoundaryRadius + 1;
constexpr int32_t kBoundaryWidest = 32768;

/// The window's places but the centre, by distance, then row, then column.
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

struct BoundaryRow {
  ImageView<const int16_t> disparityQ4;
  int32_t y, width;
  const uint8_t* grey[kBoundarySide];
  const int16_t* disparity[kBoundarySide];

  BoundaryRow(ImageView<const uint8_t> greyImage, ImageView<const int16_t> disparities, int32_t row)
      : disparityQ4(disparities), y(row), width(disparities.width) {
    for (int32_t j = 0; j < kBoundarySide; ++j) {
      const int32_t clamped = lesser(greater(y + j - kBoundaryRadius, 0), disparities.height - 1);
      grey[j] = greyImage.row(clamped);
      disparity[j] = disparities.row(clamped);
    }
  }

  /// low and high, kBoundaryRadius replicated columns on either side; low of nothing valid is 32767.
  void extremes(int16_t* low, int16_t* high) const {
    const I16 invalid = splatI16(kInvalidDisparity), most = splatI16(32767);
    const auto column = [&](int32_t x) {
      I16 lo = most, hi = invalid;
      for (int32_t j = 0; j < kBoundarySide; ++j) {
        const I16 d = loadI16(disparity[j] + x);
        hi = maxI16(hi, d);
        lo = minI16(lo, selectI16(equalI16(d, invalid), most, d));
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
  }

  /// Votes of kLanesI16 pixels from x on, whose windows lie inside the row.
  I16 votes(int32_t x, I16 mid) const {
    const I16 zero = splatI16(0), invalid = splatI16(kInvalidDisparity), most = splatI16(kBoundaryGrey);
    const I16 own = loadBytesAsI16(grey[kBoundaryRadius] + x);
    I16 sum = zero;
    for (int32_t j = 0; j < kBoundarySide; ++j) {
      for (int32_t i = -kBoundaryRadius; i <= kBoundaryRadius; ++i) {
        const I16 value = loadBytesAsI16(grey[j] + x + i);
        const I16 d = loadI16(disparity[j] + x + i);
        const I16 difference = subI16(maxI16(value, own), minI16(value, own));
        const I16 weight = andNotI16(equalI16(d, invalid), maxI16(subI16(most, difference), zero));
        sum = addI16(sum, selectI16(lessI16(mid, d), weight, subI16(zero, weight)));
      }
    }
    return sum;
  }

  /// The same for one pixel anywhere.
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

  /// One pixel from its window's extremes.
  int16_t pixel(int32_t x, int32_t lo, int32_t hi) const {
    const int16_t centre = disparity[kBoundaryRadius][x];
    if (centre == kInvalidDisparity || hi - lo <= kBoundaryStepQ4) return centre;
    const int32_t mid = (lo + hi) >> 1;
    const int32_t sum = vote(x, mid);
    if (sum == 0 || (sum > 0) == (centre > mid)) return centre;
    return closest(x, mid, sum > 0);
  }

  void vector(int32_t x, const int16_t* low, const int16_t* high, int16_t* out) const {
    I16 lo = loadI16(low + x), hi = loadI16(high + x);
    for (int32_t i = 1; i < kBoundarySide; ++i) {
      lo = minI16(lo, loadI16(low + x + i));
      hi = maxI16(hi, loadI16(high + x + i));
    }
    const I16 centre = loadI16(disparity[kBoundaryRadius] + x), zero = splatI16(0);
    const I16 step = lessI16(splatI16(kBoundaryStepQ4), subSaturatedI16(hi, lo));
    const I16 active = andNotI16(equalI16(centre, splatI16(kInvalidDisparity)), step);
    storeI16(out + x, centre);
    if (!anyI16(active)) return;

    int16_t changes[kLanesI16], mids[kLanesI16], lows[kLanesI16], highs[kLanesI16];
    if (x < kBoundaryRadius || x + kLanesI16 + kBoundaryRadius > width) {
      storeI16(changes, active);
      storeI16(lows, lo);
      storeI16(highs, hi);
      for (int32_t lane = 0; lane < kLanesI16; ++lane) {
        if (changes[lane] != 0) out[x + lane] = pixel(x + lane, lows[lane], highs[lane]);
      }
      return;
    }
    const I16 mid = averageFloorI16(lo, hi), sum = votes(x, mid);
    const I16 near = lessI16(mid, centre);
    const I16 change = andI16(active, selectI16(near, lessI16(sum, zero), lessI16(zero, sum)));
    if (!anyI16(change)) return;
    storeI16(changes, change);
    storeI16(mids, mid);
    for (int32_t lane = 0; lane < kLanesI16; ++lane) {
      if (changes[lane] == 0) continue;
      out[x + lane] = closest(x + lane, mids[lane], disparity[kBoundaryRadius][x + lane] <= mids[lane]);
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
    if (width < kLanesI16) {
      row.narrow(out);
      continue;
    }
    row.extremes(low, high);
    for (int32_t x = 0; x + kLanesI16 <= width; x += kLanesI16) row.vector(x, low, high, out);
    row.vector(width - kLanesI16, low, high, out);
  }
}

}  // namespace
