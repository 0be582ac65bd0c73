// SPDX-License-Identifier: Apache-2.0
// Fast form of hole filling: one walk over each row from hole to hole; what a hole decides is decided once.
//
// Interpolated values advance by a whole and a remainder per pixel, so that a hole costs one division.
#include <cstring>

#include "fill.h"

namespace depthwatt {
namespace {

constexpr int32_t kSlopePixels = 32;
constexpr int32_t kFewestSlopePixels = 16;
constexpr int32_t kSteepestQ4 = 2;
constexpr int32_t kStepQ4 = 16;

int32_t distance(int32_t a, int32_t b) { return a < b ? b - a : a - b; }

/// start + floor((2 t rise + run) / (2 run)) for t = 1, 2, 3...: exact, without a division per pixel.
class Ramp {
 public:
  Ramp(int32_t rise, int32_t run) : run2_(2 * run), whole_(2 * rise / run2_), part_(2 * rise % run2_), rest_(run) {
    if (part_ < 0) {
      part_ += run2_;
      --whole_;
    }
  }
  int32_t next() {
    value_ += whole_;
    rest_ += part_;
    if (rest_ >= run2_) {
      rest_ -= run2_;
      ++value_;
    }
    return value_;
  }

 private:
  int32_t run2_, whole_, part_, rest_;
  int32_t value_ = 0;
};

void set(int16_t* row, int32_t begin, int32_t end, int16_t value) {
  for (int32_t x = begin; x < end; ++x) row[x] = value;
}

/// The strip at the left border, filled from its right end to the image's edge.
void extrapolate(const FillParameters& p, int16_t* row, int32_t width, int32_t end) {
  int32_t n = 1;
  while (n < kSlopePixels && end + n < width && row[end + n] != kInvalidDisparity &&
         distance(row[end + n], row[end + n - 1]) <= kStepQ4) {
    ++n;
  }
  const int32_t half = n / 2;
  int32_t rise = 0;
  if (2 * half >= kFewestSlopePixels) {
    for (int32_t k = 0; k < half; ++k) rise += row[end + half + k] - row[end + k];
    const int32_t steepest = kSteepestQ4 * half * half;
    rise = rise > steepest ? steepest : (rise < -steepest ? -steepest : rise);
  }
  Ramp ramp(rise, half > 0 ? half * half : 1);
  const int32_t from = row[end];
  for (int32_t x = end - 1; x >= 0; --x) {
    int32_t value = from - ramp.next();
    value = value < p.lowestQ4 ? p.lowestQ4 : (value > p.highestQ4 ? p.highestQ4 : value);
    row[x] = static_cast<int16_t>(value);
  }
}

/// A hole [begin, end) with a value on both sides.
void fillBetween(const FillParameters& p, const uint8_t* grey, int16_t* row, int32_t begin, int32_t end) {
  const int16_t l = row[begin - 1], r = row[end];
  const int32_t step = distance(l, r);
  const bool background = p.method == FillMethod::kBackground;
  if (step <= p.thresholdQ4 && (!background || 4 * (end - begin) > step)) {
    Ramp ramp(r - l, end - begin + 1);
    for (int32_t x = begin; x < end; ++x) row[x] = static_cast<int16_t>(l + ramp.next());
  } else if (background) {
    set(row, begin, end, l < r ? l : r);
  } else {
    const int32_t greyLeft = grey[begin - 1], greyRight = grey[end];
    for (int32_t x = begin; x < end; ++x) {
      row[x] = distance(greyLeft, grey[x]) <= distance(greyRight, grey[x]) ? l : r;
    }
  }
}

/// A row without a valid pixel stays as it is.
void fillRow(const FillParameters& p, const uint8_t* grey, int16_t* row, int32_t width) {
  int32_t x = 0;
  while (x < width) {
    if (row[x] != kInvalidDisparity) {
      ++x;
      continue;
    }
    const int32_t begin = x;
    while (x < width && row[x] == kInvalidDisparity) ++x;
    if (begin == 0 && x == width) return;
    if (x == width) set(row, begin, width, row[begin - 1]);
    else if (begin > 0) fillBetween(p, grey, row, begin, x);
    else if (p.method == FillMethod::kBackground) extrapolate(p, row, width, x);
    else set(row, 0, x, row[x]);
  }
}

bool isEmpty(const int16_t* row) { return row[0] == kInvalidDisparity; }

}  // namespace

bool fillMethodOf(const char* name, FillMethod* method) {
  const struct {
    const char* name;
    FillMethod method;
  } methods[] = {{"off", FillMethod::kOff}, {"bilateral", FillMethod::kBilateral}, {"background", FillMethod::kBackground}};
  for (const auto& known : methods) {
    if (std::strcmp(known.name, name) != 0) continue;
    *method = known.method;
    return true;
  }
  return false;
}

void fillHoles(const FillParameters& parameters, ImageView<const uint8_t> grey, ImageView<int16_t> disparityQ4,
               ImageView<uint8_t> confidence, Workers& workers) {
  if (parameters.method == FillMethod::kOff) return;
  const int32_t width = disparityQ4.width, height = disparityQ4.height;
  int32_t strip = 0;
  if (parameters.method == FillMethod::kBackground) {
    const int32_t cut = parameters.lowestQ4 / 16 + kFewestCandidates;
    strip = cut < width / 8 ? cut : width / 8;
  }
  workers.rows(height, [&](int32_t first, int32_t end) {
    for (int32_t y = first; y < end; ++y) {
      int16_t* row = disparityQ4.row(y);
      set(row, 0, strip, kInvalidDisparity);
      if (confidence.data != nullptr && strip > 0) std::memset(confidence.row(y), 0, static_cast<size_t>(strip));
      fillRow(parameters, grey.row(y), row, width);
    }
  });
  // A row is either full now or wholly empty. Empty ones take the last full row above; those at the top the first below.
  int32_t full = 0;
  while (full < height && isEmpty(disparityQ4.row(full))) ++full;
  if (full == height) return;
  const size_t bytes = static_cast<size_t>(width) * sizeof(int16_t);
  for (int32_t y = 0; y < height; ++y) {
    if (isEmpty(disparityQ4.row(y))) std::memcpy(disparityQ4.row(y), disparityQ4.row(full), bytes);
    else full = y;
  }
}

}  // namespace depthwatt
