// SPDX-License-Identifier: Apache-2.0
// Work done once per block, before and after its steps: arranging rows in the order of the sweep, waiting for the
// thread ahead, finishing results. Compiled once per instruction set.

namespace {

/// Arranges a block's rows side by side, each two pixels behind the one above: pixel x of row g goes to place x + 2 g.
/// Downward sweeps read the places in rising order, upward sweeps in falling order.
[[gnu::noinline]] void skewRows(const SgmPlan& plan, const ImageView<const uint32_t>& image, int32_t firstRow,
                                uint32_t* places) {
  constexpr int32_t kLag = 2 * (kGroups - 1);
  const int32_t width = plan.width;
  const uint32_t* rows[kGroups];
  // Rows below the image are never used; the last row replaces them.
  for (int32_t g = 0; g < kGroups; ++g) rows[g] = image.row(lesser(firstRow + g, plan.height - 1));
  const auto skewOne = [&](int32_t place) {
    for (int32_t g = 0; g < kGroups; ++g) {
      const int32_t x = place - 2 * g;
      if (x >= 0 && x < width) places[place * kGroups + g] = rows[g][x];
    }
  };
  int32_t place = 0;
  for (; place < kLag && place < plan.steps; ++place) skewOne(place);
  for (; place + 4 <= width; place += 4) interleaveWords(rows, place, places + place * kGroups);
  for (; place < plan.steps; ++place) skewOne(place);
}

/// Prefetches the census of the next block's rows, a run of steps at a time.
[[gnu::always_inline]] inline void fetchRows(const SgmPlan& plan, const SgmImages& images, int32_t firstRow,
                                             int32_t step) {
  if (firstRow < 0 || step >= plan.width) return;
  for (int32_t g = 0; g < kGroups && firstRow + g < plan.height; ++g) {
    for (int32_t x = step; x < step + kRunSteps; x += 16) {  // a cache line
      fetchAhead(images.censusLeft.row(firstRow + g) + x);
      fetchAhead(images.censusRight.row(firstRow + g) + x);
    }
  }
}

/// Computes ceiling + max(p1, p2 - (alpha |here - there|) >> 4) for kFinished pixels; every term fits 16 bits.
[[gnu::always_inline]] inline Unsigned16 adaptedPenalties(const uint8_t* here, const uint8_t* there,
                                                          const SgmParameters& p, int32_t ceiling) {
  Unsigned8 a, b;
  std::memcpy(&a, here, sizeof a);
  std::memcpy(&b, there, sizeof b);
  const Unsigned16 u = __builtin_convertvector(a, Unsigned16), v = __builtin_convertvector(b, Unsigned16);
  const auto above = static_cast<Unsigned16>(u > v);
  const Unsigned16 difference = (above & (u - v)) | (~above & (v - u));
  const Unsigned16 lowered = (difference * static_cast<uint16_t>(p.adaptiveP2)) >> 4;
  const auto maxLowered = static_cast<uint16_t>(p.p2 - p.p1);
  const auto within = static_cast<Unsigned16>(lowered < maxLowered);
  return static_cast<uint16_t>(ceiling + p.p2) - ((within & lowered) | (~within & maxLowered));
}

/// Computes ceiling + P2 by pixel for each direction: 0 vertical, 1 behind, 2 ahead, 3 along the row.
template <bool kUp>
[[gnu::noinline]] void preparePenalties(const SgmPlan& plan, const SgmImages& images, const SgmScratch& scratch,
                                        int32_t firstRow) {
  const SgmParameters parameters = plan.parameters;
  const int32_t width = plan.width, ceiling = plan.ceiling;
  const int32_t back = kUp ? 1 : -1;  // a predecessor's row, and its column in sweep order
  const int32_t steps[4][2] = {{0, back}, {back, back}, {-back, back}, {back, 0}};
  for (int32_t g = 0; g < kGroups && firstRow + g < plan.height; ++g) {
    const uint8_t* here = images.greyLeft.row(firstRow + g);
    for (int32_t direction = 0; direction < 4; ++direction) {
      if (parameters.paths < 8 && (direction == kBehind || direction == kAhead)) continue;
      const int32_t y = lesser(greater(firstRow + g + steps[direction][1], 0), plan.height - 1);
      const uint8_t* there = images.greyLeft.row(y);
      const int32_t aside = steps[direction][0];
      uint16_t* to = scratch.penalties + (direction * kGroups + g) * width;
      const int32_t first = aside < 0 ? 1 : 0, end = aside > 0 ? width - 1 : width;
      int32_t x = first;
      for (; x + kFinished <= end; x += kFinished) {
        const Unsigned16 penalties = adaptedPenalties(here + x, there + x + aside, parameters, ceiling);
        std::memcpy(to + x, &penalties, sizeof penalties);
      }
      for (; x < end; ++x) {
        const int32_t difference = here[x] < there[x + aside] ? there[x + aside] - here[x] : here[x] - there[x + aside];
        const int32_t lowered = parameters.p2 - ((parameters.adaptiveP2 * difference) >> 4);
        to[x] = static_cast<uint16_t>(ceiling + greater(lowered, parameters.p1));
      }
      // A path starts at the pixel without a predecessor, whose penalty is not used.
      if (first > 0) to[0] = static_cast<uint16_t>(ceiling);
      if (end < width) to[width - 1] = static_cast<uint16_t>(ceiling);
    }
  }
}

/// Orders a block after the previous one on the same side, which another thread may process.
class Wavefront {
 public:
  Wavefront(const SgmSide& side, int32_t block, int32_t before, int32_t blocks, int32_t steps)
      : own_(&side.progress[block]), before_(before >= 0 && before < blocks ? &side.progress[before] : nullptr),
        steps_(steps) {}

  [[gnu::always_inline]] void report(int32_t done) const { own_->store(done, std::memory_order_release); }
  /// Waits until the previous block has done `needed` steps, or all of them.
  [[gnu::always_inline]] void wait(int32_t needed) const {
    if (before_ == nullptr) return;
    const int32_t enough = lesser(needed, steps_);
    for (int32_t spins = 0; before_->load(std::memory_order_acquire) < enough; ++spins) {
      if (spins > 2000) sgmYield();
    }
  }

 private:
  std::atomic<int32_t>* own_;
  const std::atomic<int32_t>* before_;
  int32_t steps_;
};

/// Removes disparities where a candidate outside the right image won, or where too few candidates are inside.
inline void cutOutside(const SgmPlan& plan, const SgmResult& result, int32_t y) {
  const int32_t reach = lesser(plan.parameters.minDisparity + plan.parameters.numDisparities - 1, plan.width);
  const int32_t holes = plan.parameters.holeColumns(plan.width);
  int16_t* disparity = result.disparity.row(y);
  for (int32_t x = 0; x < greater(reach, holes); ++x) {
    if (x >= holes && disparity[x] <= x) continue;
    disparity[x] = result.disparityQ4.row(y)[x] = kInvalidDisparity;
    if (result.confidence.data != nullptr) result.confidence.row(y)[x] = 0;
  }
}

/// Computes sub-pixel, uniqueness and confidence of a block's rows.
template <bool kUp, bool kWide>
[[gnu::noinline]] void finishRows(const SgmPlan& plan, const SgmFrame& frame, const SgmScratch& scratch,
                                  int32_t firstRow) {
  const SgmResult& result = frame.result;
  const bool wantsConfidence = result.confidence.data != nullptr;
  finishPixels(plan.parameters, plan.invalidSum, kWide ? 0 : plan.stripeBits, scratch.picked, scratch.seconds,
               wantsConfidence || plan.parameters.uniqueness > 0, plan.steps * kGroups);
  for (int32_t g = 0; g < kGroups && firstRow + g < plan.height; ++g) {
    const int32_t y = firstRow + g, first = 2 * (kUp ? kGroups - 1 - g : g) * kGroups;
    takeRow<kUp>(scratch.picked.below + first, g, plan.width, result.disparityQ4.row(y));
    takeRow<kUp>(scratch.picked.winner + first, g, plan.width, result.disparity.row(y));
    if (wantsConfidence) takeRow<kUp>(scratch.seconds + first, g, plan.width, result.confidence.row(y));
    if (plan.parameters.outsideMayWin()) cutOutside(plan, result, y);
  }
}

}  // namespace
