// SPDX-License-Identifier: Apache-2.0
// Fast form of hole filling: visits each row from hole to hole, and makes each hole's decisions once.
//
// The ends of holes are medians of values before filling, so the result is another image. Only the papers' method,
// which uses the values next to the hole, works in place. Interpolated values advance by a quotient and a remainder per
// pixel, so that a hole costs one division.
#include <cstring>

#include "fill.h"

namespace depthwatt {
namespace {

constexpr int32_t kSlopePixels = 32;
constexpr int32_t kFewestSlopePixels = 16;
constexpr int32_t kSteepestQ4 = 2;
constexpr int32_t kStepQ4 = 16;

int32_t distance(int32_t a, int32_t b) { return a < b ? b - a : a - b; }

/// Returns start + floor((2 t rise + run) / (2 run)) for t = 1, 2, 3...: exact, without a division per pixel.
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

constexpr int32_t kEndLanes = 8;  ///< at least kEndColumns
constexpr int32_t kEndSide = 2 * kEndRows + 1;
using EndRow [[gnu::vector_size(kEndLanes * 2)]] = int16_t;
using EndGrey [[gnu::vector_size(kEndLanes)]] = uint8_t;

/// The values around an end, row by row. Values that do not count are INT16_MAX, larger than any.
struct EndValues {
  EndRow rows[kEndSide];
  int32_t n = 0;

  int16_t at(int32_t i) const { return rows[i / kEndLanes][i % kEndLanes]; }
  /// Counts the values below `value`, plus 64 for each that is not above it.
  int32_t countsAt(int16_t value) const {
    EndRow counted = {};
    for (const EndRow& row : rows) counted += (row < value) + 64 * (row <= value);
    return horizontalSum(-counted);
  }
  /// Sums lanes from 0 on, whose sum is below 65536: adds two words of four lanes, then their lanes by a
  /// multiplication.
  static int32_t horizontalSum(EndRow v) {
    uint64_t words[2];
    std::memcpy(words, &v, sizeof words);
    return static_cast<int32_t>((words[0] + words[1]) * 0x0001000100010001u >> 48);
  }
};

/// The pixels around holes. Without `robust` the value next to the hole is used as it is.
struct FillSource {
  ImageView<const uint8_t> grey;
  ImageView<const int16_t> disparityQ4;
  int32_t strip;  ///< columns that always count as holes
  bool robust;

  /// @param away -1 at a left end, 1 at a right end
  int32_t end(int32_t e, int32_t y, int32_t away) const {
    const int32_t own = disparityQ4.row(y)[e];
    if (!robust) return own;
    const int32_t first = away > 0 ? e : (e - kEndColumns + 1 > strip ? e - kEndColumns + 1 : strip);
    const int32_t last =
        away < 0 ? e : (e + kEndColumns < disparityQ4.width ? e + kEndColumns - 1 : disparityQ4.width - 1);
    const auto greyOfEnd = static_cast<int16_t>(grey.row(y)[e]);
    const EndRow lane = {0, 1, 2, 3, 4, 5, 6, 7};
    const EndRow within = lane <= static_cast<int16_t>(last - first);
    const EndRow none = EndRow{} + INT16_MAX;
    EndValues values;
    EndRow valid = {};
    for (int32_t k = 0; k < kEndSide; ++k) {
      const int32_t j = y - kEndRows + k;
      values.rows[k] = none;
      if (j < 0 || j >= disparityQ4.height) continue;
      EndRow value = {};
      EndGrey bytes = {};
      // The last pixels of a row are fewer than the lanes.
      const size_t count =
          first + kEndLanes <= disparityQ4.width ? kEndLanes : static_cast<size_t>(disparityQ4.width - first);
      std::memcpy(&value, disparityQ4.row(j) + first, count * sizeof(int16_t));
      std::memcpy(&bytes, grey.row(j) + first, count);
      const EndRow difference = __builtin_convertvector(bytes, EndRow) - greyOfEnd;
      const EndRow counts =
          within & (value != kInvalidDisparity) & (difference <= kEndGrey) & (difference >= -kEndGrey);
      values.rows[k] = (counts & value) | (~counts & none);
      valid += counts;
    }
    values.n = EndValues::horizontalSum(-valid);
    return values.n < kFewestEnd ? own : lowerMedian(values, own);
  }

 private:
  /// Returns the value with at most (n - 1) / 2 smaller ones and more than that not above it. A guess is often right,
  /// and each value that is tried excludes those on its far side.
  static int32_t lowerMedian(const EndValues& values, int32_t guess) {
    const int32_t rank = (values.n - 1) / 2;
    int32_t tooSmall = INT32_MIN, tooLarge = INT16_MAX, value = guess;
    for (int32_t i = 0;;) {
      const int32_t counts = values.countsAt(static_cast<int16_t>(value));
      if (counts % 64 > rank) tooLarge = value;
      else if (counts / 64 <= rank) tooSmall = value;
      else return value;
      while (i < kEndSide * kEndLanes - 1 && (values.at(i) <= tooSmall || values.at(i) >= tooLarge)) ++i;
      value = values.at(i++);
    }
  }
};

/// Fills the strip at the left border, from its right end to the image's edge. @param from the end's value
void extrapolate(const FillParameters& p, int16_t* row, int32_t width, int32_t end, int32_t from) {
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
  for (int32_t x = end - 1; x >= 0; --x) {
    int32_t value = from - ramp.next();
    value = value < p.lowestQ4 ? p.lowestQ4 : (value > p.highestQ4 ? p.highestQ4 : value);
    row[x] = static_cast<int16_t>(value);
  }
}

/// Returns where l ends and r starts in a hole [begin, end): at its strongest grey edge, or at an end if only the
/// background fills it.
int32_t splitColumn(const uint8_t* grey, int32_t begin, int32_t end, int32_t l, int32_t r) {
  const int32_t farther = l < r ? end : begin;
  if (l < r && 32 * (end - begin) < 3 * (r - l)) return farther;
  int32_t strongest = kFillEdge - 1, split = farther;
  for (int32_t x = begin; x <= end; ++x) {
    const int32_t behind = grey[x < end ? x + 1 : end], before = grey[x > begin ? x - 2 : begin - 1];
    const int32_t edge = distance(grey[x] + behind, grey[x - 1] + before);
    if (edge <= strongest) continue;
    strongest = edge;
    split = x;
  }
  return split;
}

/// Fills a hole [begin, end) between l and r.
void fillBetween(const FillParameters& p, const uint8_t* grey, int16_t* row, int32_t begin, int32_t end, int32_t l,
                 int32_t r) {
  const int32_t step = distance(l, r);
  const bool background = p.method == FillMethod::kBackground;
  if (step <= p.thresholdQ4 && (!background || 4 * (end - begin) > step)) {
    Ramp ramp(r - l, end - begin + 1);
    for (int32_t x = begin; x < end; ++x) row[x] = static_cast<int16_t>(l + ramp.next());
  } else if (background) {
    const int32_t split = splitColumn(grey, begin, end, l, r);
    set(row, begin, split, static_cast<int16_t>(l));
    set(row, split, end, static_cast<int16_t>(r));
  } else {
    const int32_t greyLeft = grey[begin - 1], greyRight = grey[end];
    for (int32_t x = begin; x < end; ++x) {
      row[x] = static_cast<int16_t>(distance(greyLeft, grey[x]) <= distance(greyRight, grey[x]) ? l : r);
    }
  }
}

/// Fills a row. A row without a valid pixel does not change.
void fillRow(const FillParameters& p, const FillSource& source, int16_t* row, int32_t y) {
  const int32_t width = source.grey.width;
  const uint8_t* grey = source.grey.row(y);
  int32_t x = 0;
  while (x < width) {
    if (row[x] != kInvalidDisparity) {
      ++x;
      continue;
    }
    const int32_t begin = x;
    while (x < width && row[x] == kInvalidDisparity) ++x;
    if (begin == 0 && x == width) return;
    if (x == width) set(row, begin, width, static_cast<int16_t>(source.end(begin - 1, y, -1)));
    else if (begin > 0) fillBetween(p, grey, row, begin, x, source.end(begin - 1, y, -1), source.end(x, y, 1));
    else if (p.method == FillMethod::kBackground) extrapolate(p, row, width, x, source.end(x, y, 1));
    else set(row, 0, x, row[x]);
  }
}

bool isEmpty(const int16_t* row) { return row[0] == kInvalidDisparity; }

}  // namespace

bool fillMethodFrom(const char* name, FillMethod* method) {
  const struct {
    const char* name;
    FillMethod method;
  } methods[] = {
      {"off", FillMethod::kOff}, {"bilateral", FillMethod::kBilateral}, {"background", FillMethod::kBackground}};
  for (const auto& known : methods) {
    if (std::strcmp(known.name, name) != 0) continue;
    *method = known.method;
    return true;
  }
  return false;
}

void fillHoles(const FillParameters& parameters, ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4,
               ImageView<int16_t> filled, ImageView<uint8_t> confidence, Workers& workers) {
  const int32_t width = disparityQ4.width, height = disparityQ4.height;
  int32_t strip = 0;
  if (parameters.method == FillMethod::kBackground) {
    const int32_t cut = parameters.lowestQ4 / 16 + kFillStripColumns;
    strip = cut < width / 8 ? cut : width / 8;
  }
  const FillSource source{grey, disparityQ4, strip, parameters.method == FillMethod::kBackground};
  const bool fills = parameters.method != FillMethod::kOff;
  const size_t bytes = static_cast<size_t>(width) * sizeof(int16_t);
  workers.rows(height, [&](int32_t first, int32_t end) {
    for (int32_t y = first; y < end; ++y) {
      int16_t* row = filled.row(y);
      if (row != disparityQ4.row(y)) std::memcpy(row, disparityQ4.row(y), bytes);
      set(row, 0, strip, kInvalidDisparity);
      if (confidence.data != nullptr && strip > 0) std::memset(confidence.row(y), 0, static_cast<size_t>(strip));
      if (fills) fillRow(parameters, source, row, y);
    }
  });
  if (!fills) return;
  // A row is now either full or empty. Empty ones take the last full row above; those at the top take the first below.
  int32_t full = 0;
  while (full < height && isEmpty(filled.row(full))) ++full;
  if (full == height) return;
  for (int32_t y = 0; y < height; ++y) {
    if (isEmpty(filled.row(y))) std::memcpy(filled.row(y), filled.row(full), bytes);
    else full = y;
  }
}

}  // namespace depthwatt
