// SPDX-License-Identifier: Apache-2.0
// Selection from wide cells, whose sums leave no room for a key. p2 above kMaxNarrowP2 is rare, so it handles one pixel
// at a time. Compiled once per instruction set.

namespace {

inline void startWide(const SgmPlan& plan, const SgmScratch& scratch) {
  for (int32_t i = 0; i < kGroups * plan.width; ++i) scratch.rightRow[i] = static_cast<uint16_t>(plan.invalidSum);
}

/// @param sums the pixel's cells, at plan.cellOffset
template <bool kUp>
void selectWidePixel(const SgmPlan& plan, const SgmScratch& scratch, const uint8_t* sums, int32_t group, int32_t x,
                     int32_t at) {
  const int32_t num = plan.parameters.numDisparities;
  const int32_t rightFirst = x - plan.parameters.minDisparity;
  const bool outsideMayWin = plan.parameters.outsideMayWin();
  const auto sumAt = [&](int32_t d) -> int32_t {
    if (d < 0 || d >= num || (rightFirst - d < 0 && !outsideMayWin)) return plan.invalidSum;
    uint16_t sum;
    std::memcpy(&sum, sums + plan.cellOffset[d + 1], sizeof sum);
    return sum;
  };
  int32_t d0 = -1, best = plan.invalidSum, second = plan.invalidSum;
  uint16_t* rightSum = scratch.rightRow + group * plan.width;
  uint16_t* rightBest = rightSum + kGroups * plan.width;
  for (int32_t d = 0; d < num && (d <= rightFirst || outsideMayWin); ++d) {
    const int32_t sum = sumAt(d);
    if (sum < best) {
      best = sum;
      d0 = d;
    }
    // Downward sweeps visit the disparities of a right pixel in rising order, upward ones in falling order.
    const int32_t r = rightFirst - d;
    if (r < 0) continue;
    if (kUp ? sum <= rightSum[r] : sum < rightSum[r]) {
      rightSum[r] = static_cast<uint16_t>(sum);
      rightBest[r] = static_cast<uint16_t>(d);
    }
  }
  for (int32_t d = 0; d < num; ++d) {
    if (d < d0 - 1 || d > d0 + 1) second = lesser(second, sumAt(d));
  }
  scratch.picked.winner[at] = static_cast<uint16_t>(d0);
  scratch.picked.below[at] = static_cast<uint16_t>(sumAt(d0 - 1));
  scratch.picked.best[at] = static_cast<uint16_t>(best);
  scratch.picked.above[at] = static_cast<uint16_t>(sumAt(d0 + 1));
  scratch.seconds[at] = static_cast<uint16_t>(second);
}

template <class F>
[[gnu::always_inline]] inline void noteWide(const Sweep<F>& sweep, const SgmPlan& plan, const SgmScratch& scratch,
                                            const typename Sweep<F>::Sums& own, const uint8_t* others, int32_t v) {
  using Cells = typename F::Cells;
  constexpr int32_t kVector = Sweep<F>::kVector;
  static_assert(Sweep<F>::kSumsPaths, "the sums hold the costs already");
  auto sum = own.partial[0];
  if (plan.parameters.paths > 2) sum = Cells::add(sum, Cells::load(others + 2 * v * kVector, kVector));
  Cells::store(scratch.keys + 2 * v * kVector, kVector, sum);
}

template <class F>
[[gnu::always_inline]] inline void selectWide(const Sweep<F>& sweep, const SgmPlan& plan, const SgmScratch& scratch,
                                              int32_t t) {
  for (int32_t g = 0; g < kGroups; ++g) {
    const int32_t position = t - 2 * sweep.rank(g);
    const bool inside = position >= 0 && position < sweep.width && sweep.firstRow + g < sweep.height;
    const int32_t x = F::kUp ? sweep.width - 1 - position : position;
    if (inside) selectWidePixel<F::kUp>(plan, scratch, scratch.keys + 16 * g, g, x, t * kGroups + g);
  }
}

inline void finishWide(const SgmPlan& plan, const SgmScratch& scratch, const SgmFrame& frame, int32_t firstRow) {
  if (frame.result.rightDisparity.data == nullptr) return;
  for (int32_t g = 0; g < kGroups && firstRow + g < plan.height; ++g) {
    const uint16_t* sums = scratch.rightRow + g * plan.width;
    const uint16_t* best = sums + kGroups * plan.width;
    int16_t* right = frame.result.rightDisparity.row(firstRow + g);
    for (int32_t x = 0; x < plan.width; ++x) {
      right[x] =
          sums[x] < plan.invalidSum ? static_cast<int16_t>(best[x] + plan.parameters.minDisparity) : kInvalidDisparity;
    }
  }
}

}  // namespace
