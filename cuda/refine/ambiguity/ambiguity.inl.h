// SPDX-License-Identifier: Apache-2.0
// Vector form of the confidence limit; compiled once per instruction set.
//
// A stripe of blocks goes down the rows of blocks. How unlike itself a shifted row is, is computed once for three rows
// of blocks and kept in a ring. A second ring holds the samples' sums over columns, to which a row is added below and
// subtracted above, and a third the windows' limits, already the least along the row. It divides only where a limit is
// below 255, which is rare.

#include "ambiguity.h"

namespace {

constexpr int32_t kStripeBlocks = 80;  // per stripe
constexpr int32_t kStripeRoom = 128;   // with the adjacent blocks and what vectors read beyond

/// A row of blocks, by shift; entry 0 is the block left of the stripe.
struct UnlikeRow {
  alignas(64) uint8_t sums[kLastRepeat][kStripeRoom] = {};
};

constexpr int32_t kSignalReach = kWindowColumns + kSpreadColumns;

/// A row of blocks; entry 0 is the block kSignalReach left of the stripe.
struct SignalRow {
  int32_t samples[kStripeBlocks + 2 * kSignalReach];
  int32_t shared[kStripeBlocks + 2 * kSignalReach];
  int32_t own[kStripeBlocks + 2 * kSignalReach];
  int32_t energy[kStripeBlocks + 2 * kSignalReach];
};

/// The blocks of a stripe, and which of them and of their neighbours exist.
struct BlockStripe {
  int32_t first, count, columns, rows;

  int32_t from(int32_t radius) const { return greater(first - radius, 0); }
  int32_t end(int32_t radius) const { return lesser(first + count + radius, columns); }
};

inline int32_t rowOfBlocks(int32_t k, int32_t height) { return lesser(kBlockRows * k + 2, height - 1); }

inline void bringUnlikeRow(const uint8_t* row, int32_t width, const BlockStripe& stripe, UnlikeRow& out) {
  constexpr int32_t kPixels = (kStripeBlocks + 2) * kBlockColumns;
  // The shifted pixels precede the first one; the last one is followed by what vectors read beyond.
  uint8_t pixels[kLastRepeat + kPixels + 64];
  const int32_t from = stripe.from(1), end = stripe.end(1), start = kBlockColumns * from - kLastRepeat;
  const int32_t outside = greater(-start, 0), inside = lesser(kBlockColumns * end, width) - greater(start, 0);
  std::memset(pixels, 0, static_cast<size_t>(outside));
  std::memcpy(pixels + outside, row + greater(start, 0), static_cast<size_t>(inside));
  std::memset(pixels + outside + inside, row[width - 1], sizeof pixels - static_cast<size_t>(outside + inside));
  const int32_t at = from - (stripe.first - 1), blocks = end - from;
  for (int32_t s = 1; s <= kLastRepeat; ++s) {
    uint8_t* sums = out.sums[s - 1];
    for (int32_t b = 0; b < blocks; b += kEights) {
      const uint8_t* own = pixels + kLastRepeat + kBlockColumns * b;
      storeUnlikeEights(sums + at + b, own, own - s, kLargestUnlike);
    }
    for (int32_t b = from; b < end && kBlockColumns * b < s; ++b) {
      sums[at + b - from] = kBlockColumns * kLargestUnlike;
    }
    if (stripe.first == 0) sums[0] = sums[1];
    if (stripe.first + stripe.count == stripe.columns) sums[stripe.count + 1] = sums[stripe.count];
  }
}

/// Lowers the limits of the stripe's blocks where the image repeats.
inline void limitByRepeats(const UnlikeRow& above, const UnlikeRow& own, const UnlikeRow& below, int32_t count,
                           int32_t* limits) {
  alignas(64) int16_t columns[kStripeRoom] = {}, largest[kStripeRoom] = {}, sums[kLanesI16];
  const I16 ten = splatI16(10), three = splatI16(3);
  for (int32_t s = 1; s <= kLastRepeat; ++s) {
    const auto at = [s](const UnlikeRow& row) { return row.sums[s - 1]; };
    for (int32_t b = 0; b < count + 2; b += kLanesI16) {
      const I16 pair = addI16(loadBytesAsI16(at(above) + b), loadBytesAsI16(at(own) + b));
      storeI16(columns + b, addI16(pair, loadBytesAsI16(at(below) + b)));
    }
    for (int32_t b = 0; b < count; b += kLanesI16) {
      const I16 sum = addI16(addI16(loadI16(columns + b), loadI16(columns + b + 1)), loadI16(columns + b + 2));
      const I16 before = loadI16(largest + b);
      if (s >= kFirstRepeat && anyI16(lessI16(mulLowU16(sum, ten), mulLowU16(before, three)))) {
        storeI16(sums, sum);
        readFromMemory(sums);
        for (int32_t i = b; i < lesser(b + kLanesI16, count); ++i) {
          if (largest[i] == 0) continue;
          limits[i] = lesser(limits[i], 255 * (10 * sums[i - b] - 2 * largest[i]) / largest[i]);
        }
      }
      storeI16(largest + b, maxI16(before, sum));
    }
  }
}

inline int32_t changeAt(const uint8_t* row, int32_t x) {
  return x == 0 ? 0 : lesser(greater(row[x] - row[x - 1], -kLargestUnlike), kLargestUnlike);
}

inline void bringSignalRow(const AmbiguityImages& images, int32_t k, const BlockStripe& stripe, SignalRow& out) {
  const int32_t width = images.left.width, y = rowOfBlocks(k, images.left.height);
  const uint8_t *left = images.left.row(y), *right = images.right.row(y);
  const int16_t* disparities = images.disparityQ4.row(y);
  out = SignalRow();
  for (int32_t b = stripe.from(kSignalReach); b < stripe.end(kSignalReach); ++b) {
    int32_t samples = 0, shared = 0, own = 0, energy = 0;
    for (int32_t x = kBlockColumns * b; x < lesser(kBlockColumns * (b + 1), width); x += kSampleStep) {
      const int32_t l = changeAt(left, x);
      int32_t r = 0;
      if (disparities[x] != kInvalidDisparity) {
        r = changeAt(right, lesser(greater(x - ((disparities[x] + 8) >> 4), 0), width - 1));
      }
      ++samples;
      shared += l * r;
      own += l * l;
      energy += l * l + r * r;
    }
    const int32_t at = b - (stripe.first - kSignalReach);
    out.samples[at] = samples, out.shared[at] = shared, out.own[at] = own, out.energy[at] = energy;
  }
}

/// Adds a row to the sums or subtracts it.
template <int32_t kSign>
inline void addSignal(SignalRow& sums, const SignalRow& row) {
  for (int32_t i = 0; i < kStripeBlocks + 2 * kSignalReach; ++i) {
    sums.samples[i] += kSign * row.samples[i];
    sums.shared[i] += kSign * row.shared[i];
    sums.own[i] += kSign * row.own[i];
    sums.energy[i] += kSign * row.energy[i];
  }
}

inline int32_t limitOfWindow(int32_t samples, int32_t shared, int32_t own, int32_t energy) {
  if (12 * shared >= energy || own >= 6 * samples) return 255;
  return greater(255 * (24 * shared - energy) / energy, 255 * (own - 5 * samples) / samples);
}

/// Finds, for each of the stripe's blocks, the least of the windows around it in a row of blocks, from sums down the
/// columns.
inline void leastWindows(const SignalRow& sums, const BlockStripe& stripe, int32_t* least) {
  int32_t windows[kStripeBlocks + 2 * kSpreadColumns];
  const int32_t left = stripe.first - kSpreadColumns, end = stripe.end(kSpreadColumns);
  for (int32_t& window : windows) window = 255;
  for (int32_t b = stripe.from(kSpreadColumns); b < end; ++b) {
    int32_t samples = 0, shared = 0, own = 0, energy = 0;
    for (int32_t i = b - left; i <= b - left + 2 * kWindowColumns; ++i) {
      samples += sums.samples[i], shared += sums.shared[i], own += sums.own[i], energy += sums.energy[i];
    }
    windows[b - left] = limitOfWindow(samples, shared, own, energy);
  }
  for (int32_t b = 0; b < stripe.count; ++b) {
    least[b] = windows[b];
    for (int32_t i = 1; i <= 2 * kSpreadColumns; ++i) least[b] = lesser(least[b], windows[b + i]);
  }
}

/// Goes down a stripe's rows of blocks and keeps the windows' limits that the rows above and below need.
class SignalLimits {
 public:
  SignalLimits(const AmbiguityImages& images, const BlockStripe& stripe, int32_t firstRow)
      : images_(images), stripe_(stripe), next_(greater(firstRow - kSpreadRows, 0)) {
    for (int32_t k = next_ - kWindowRows; k <= next_ + kWindowRows; ++k) add(k);
  }

  /// Computes the limits of the stripe's blocks in row k. Rows must be requested in order.
  void of(int32_t k, int32_t* limits) {
    while (next_ <= lesser(k + kSpreadRows, stripe_.rows - 1)) advance();
    for (int32_t b = 0; b < stripe_.count; ++b) limits[b] = 255;
    for (int32_t row = greater(k - kSpreadRows, 0); row < next_; ++row) {
      for (int32_t b = 0; b < stripe_.count; ++b) limits[b] = lesser(limits[b], least_[row % kRing][b]);
    }
  }

 private:
  static constexpr int32_t kRing = 16;
  static_assert(kRing > 2 * kWindowRows && kRing > 2 * kSpreadRows, "rows that are still needed are kept");

  void add(int32_t k) {
    if (k < 0 || k >= stripe_.rows) return;
    bringSignalRow(images_, k, stripe_, rows_[k % kRing]);
    addSignal<1>(sums_, rows_[k % kRing]);
  }
  void advance() {
    leastWindows(sums_, stripe_, least_[next_ % kRing]);
    if (next_ >= kWindowRows) addSignal<-1>(sums_, rows_[(next_ - kWindowRows) % kRing]);
    ++next_;
    add(next_ + kWindowRows);
  }

  const AmbiguityImages& images_;
  const BlockStripe& stripe_;
  SignalRow rows_[kRing], sums_ = {};
  int32_t least_[kRing][kStripeBlocks];
  int32_t next_;
};

inline void ambiguityRows(const AmbiguityImages& images, ImageView<uint8_t> limit, int32_t firstRow, int32_t endRow) {
  constexpr int32_t kUnlikeRing = 3;
  UnlikeRow unlike[kUnlikeRing];
  BlockStripe stripe{0, 0, limit.width, limit.height};
  for (; stripe.first < stripe.columns; stripe.first += kStripeBlocks) {
    stripe.count = lesser(kStripeBlocks, stripe.columns - stripe.first);
    const auto unlikeRow = [&](int32_t k) -> UnlikeRow& {
      return unlike[lesser(greater(k, 0), stripe.rows - 1) % kUnlikeRing];
    };
    const auto bringUnlike = [&](int32_t k) {
      if (k < 0 || k >= stripe.rows) return;
      bringUnlikeRow(images.left.row(rowOfBlocks(k, images.left.height)), images.left.width, stripe, unlikeRow(k));
    };
    SignalLimits signal(images, stripe, firstRow);
    for (int32_t k = firstRow - 1; k <= firstRow; ++k) bringUnlike(k);
    for (int32_t k = firstRow; k < endRow; ++k) {
      bringUnlike(k + 1);
      int32_t limits[kStripeBlocks];
      signal.of(k, limits);
      limitByRepeats(unlikeRow(k - 1), unlikeRow(k), unlikeRow(k + 1), stripe.count, limits);
      uint8_t* out = limit.row(k) + stripe.first;
      for (int32_t b = 0; b < stripe.count; ++b) out[b] = static_cast<uint8_t>(greater(limits[b], 1));
    }
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(AmbiguityKernels, ambiguityRows)
