// SPDX-License-Identifier: Apache-2.0
// The sweep's loop: prepares a block's rows, runs its steps, passes each step to storage or selection, and waits for
// the thread on the previous block. Compiled once per instruction set, after the files that it combines.

namespace {

/// Steps by which the other side's sums are prefetched.
constexpr int32_t kAheadSteps = 64;

/// The sums of step t: the other side's to read, or this side's to write. They are in the order in which they will be
/// read, opposite to the writer's, because CPUs prefetch best upwards.
template <class F>
[[gnu::always_inline]] inline uint8_t* sumsAt(uint8_t* blockSums, int32_t steps, int32_t stepBytes, int32_t t) {
  return settled(blockSums + static_cast<ptrdiff_t>(F::kSelects ? t : steps - 1 - t) * stepBytes);
}

/// Stores sums for the other side, which adds its own: minus this side's ceilings, or minus both sides' (kOneByte).
template <class F>
[[gnu::always_inline]] inline void storeSums(const Sweep<F>& sweep, typename Sweep<F>::Sums sums,
                                             typename Sweep<F>::Vec bias, uint8_t* to, int32_t v) {
  using Cells = typename F::Cells;
  forEach<F::kPartials>(F::kPartials, [&](int32_t partial) __attribute__((always_inline)) {
    const int32_t at = (partial * sweep.stripes + v) * Cells::kHalves * Sweep<F>::kVector;
    if constexpr (!Sweep<F>::kSumsPaths) sums.partial[partial] = Cells::add(sums.partial[partial], bias);
    Cells::storePastCache(to + at, Sweep<F>::kVector, sums.partial[partial]);
  });
}

/// Selects from narrow cells, one step: keys, the right view's candidates, the smallest key of each column.
template <class F>
struct KeyStep {
  static constexpr int32_t kVector = Sweep<F>::kVector;
  static constexpr bool kFolded = F::kStripes != 0;  // a power of two: the weights include its shift

  const Sweep<F>& sweep;
  const Selector<F::kUp, F::kStripes>& selector;
  const uint8_t* const others;
  const uint8_t* const oldest;
  const uint8_t* const numbers;
  uint8_t* const keys;
  uint8_t* const rightKeys;
  const int32_t paths;
  const bool border, edge;
  const Weights weights, equal;
  const Halves invalid;
  const Bytes none;
  Bytes outside;  ///< groups outside the image
  Halves lowest[2];

  [[gnu::always_inline]] KeyStep(const Sweep<F>& s, const Selector<F::kUp, F::kStripes>& to, const uint8_t* sums,
                                 int32_t t, const uint8_t* ringOldest, int32_t turn, int32_t pathCount, bool atBorder,
                                 bool atEdge)
      : sweep(s), selector(to), others(settled(sums)), oldest(ringOldest), numbers(settled(to.numbers)),
        keys(settled(to.keysAt(t))), rightKeys(settled(to.rightKeysAt(turn, 0))), paths(pathCount), border(atBorder),
        edge(atEdge),
        weights(kFolded ? pairWeights(F::kStripes, F::kStripes * 2 * F::kDirections) : pairWeights(1, pathCount)),
        equal(kFolded ? pairWeights(F::kStripes, F::kStripes) : pairWeights(1, 1)), invalid(splatHalves(to.invalidKey)),
        none(splatBytes(0)), outside(none), lowest{invalid, invalid} {
    if (edge) outside = xorBytes(sweep.insideAt(t), splatBytes(0xff));
  }

  /// @param cost minus the ceiling, so p2 + 1 too large as a byte; the stripe's number corrects for it
  [[gnu::always_inline]] void take(int32_t v, Bytes cost, const typename Sweep<F>::Sums& sums) {
    Halves key[2];
    const Bytes other = kFolded || paths > 2 ? loadBytes(others + v * kVector) : none;
    if constexpr (F::kOneByte) {
      const Bytes sum = addBytes(sums.partial[0], other);
      key[0] = weighLow(sum, cost, weights);
      key[1] = weighHigh(sum, cost, weights);
    } else {
      Bytes own = addBytes(sums.partial[0], sweep.noExcess);
      key[0] = weighLow(own, cost, weights);
      key[1] = weighHigh(own, cost, weights);
      const auto add = [&](Bytes a, Bytes b) __attribute__((always_inline)) {
        key[0] = addHalves(key[0], weighLow(a, b, equal));
        key[1] = addHalves(key[1], weighHigh(a, b, equal));
      };
      if constexpr (F::kPartials == 2) {
        own = addBytes(sums.partial[1], sweep.noExcess);
        const Bytes second = loadBytes(others + (sweep.stripes + v) * kVector);
        add(other, second);
        add(own, none);
      } else {
        add(other, none);
      }
    }
    if constexpr (!kFolded) {
      key[0] = shiftLeftHalves(key[0], selector.bits);
      key[1] = shiftLeftHalves(key[1], selector.bits);
    }
    const Halves number = loadHalves(numbers + v * kVector);
    key[0] = addHalves(key[0], number);
    key[1] = addHalves(key[1], number);
    if (F::kStripes == 0 || border || edge) {
      Bytes mask = outside;
      if (border && !selector.outsideMayWin)
        mask = orBytes(mask, loadBytes(sweep.ringAt(oldest, v) + Sweep<F>::kOutside));
      if constexpr (F::kStripes == 0) mask = orBytes(mask, loadBytes(sweep.paddingAt(v)));
      key[0] = chooseHalves(maskLow(mask), invalid, key[0]);
      key[1] = chooseHalves(maskHigh(mask), invalid, key[1]);
    }
    const int32_t age = F::kUp ? sweep.stripes - 1 - v : v;
    uint8_t* begun = rightKeys - age * (2 * kVector);
    forEach<2>(2, [&](int32_t half) __attribute__((always_inline)) {
      storeHalves(keys + (2 * v + half) * kVector, key[half]);
      lowest[half] = minHalves(lowest[half], key[half]);
      uint8_t* right = begun + half * kVector;
      if (selector.wantsRight) storeHalves(right, age == 0 ? key[half] : minHalves(key[half], loadHalves(right)));
    });
  }
};

/// Finishes the winners of the last steps, and the second best that are pending.
template <bool kUp, int32_t kStripes>
[[gnu::noinline]] void finishSteps(const Selector<kUp, kStripes> selector, int32_t steps) {
  selector.pickWinners((steps - 1) & ~3);
  if (!selector.wantsSecond) return;
  for (int32_t t = greater(steps - 5, 0); t < steps; ++t) selector.pickSeconds(t);
}

/// Moves the last `stripes` steps to the front of their memory.
template <class F>
[[gnu::noinline]] void startRun(const Sweep<F> sweep, const Selector<F::kUp, F::kStripes> selector) {
  const size_t ringStep = Sweep<F>::kPlanes * Sweep<F>::kVector, keyStep = 2 * Sweep<F>::kVector;
  const auto stripes = static_cast<size_t>(sweep.stripes);
  std::memcpy(sweep.ring, sweep.ring + kRunSteps * ringStep, stripes * ringStep);
  if (F::kSelects) std::memcpy(selector.rightKeys, selector.rightKeys + kRunSteps * keyStep, stripes * keyStep);
}

template <class F>
void sweepBlock(const SgmPlan& plan, const SgmFrame& frame, int32_t block, const SgmScratch& scratch) {
  constexpr bool kUp = F::kUp, kWide = F::Cells::kHalves == 2;
  constexpr int32_t kLag = 2 * (kGroups - 1);
  const Sweep<F> sweep(plan, frame, scratch, block);
  const Selector<kUp, F::kStripes> selector(plan, frame, scratch, block * kGroups);
  const int32_t stripes = sweep.stripes, steps = plan.steps, width = plan.width, paths = plan.parameters.paths;
  skewRows(plan, frame.images.censusLeft, block * kGroups, scratch.leftWords);
  skewRows(plan, frame.images.censusRight, block * kGroups, scratch.rightWords);
  if constexpr (F::kWords == 2) {
    skewRows(plan, frame.images.moreLeft, block * kGroups, scratch.moreLeftWords);
    skewRows(plan, frame.images.moreRight, block * kGroups, scratch.moreRightWords);
  }
  if (sweep.adaptive) preparePenalties<kUp>(plan, frame.images, scratch, block * kGroups);
  forgetAll(sweep);
  typename Sweep<F>::Along along;
  forEach<F::kStripes>(stripes, [&](int32_t v) __attribute__((always_inline)) { along.path[v] = F::Cells::splat(0); });
  along.raise = sweep.ceiling;
  if constexpr (F::kSelects && kWide) startWide(plan, scratch);
  if constexpr (F::kSelects && !kWide) startSelection(selector);

  const auto stepBytes = static_cast<int32_t>(plan.stepBytes());
  uint8_t* blockSums = frame.sums + static_cast<size_t>(block) * steps * plan.stepBytes();
  // Steps at which some right pixel is outside the image: at the start of down sweeps, at the end of up sweeps.
  const int32_t reach = plan.parameters.minDisparity + plan.parameters.numDisparities - 1;
  const int32_t outsideStart = kUp ? width - plan.parameters.minDisparity - 16 * stripes : 0;
  const int32_t borderStart = kUp ? width - reach : 0, borderEnd = kUp ? steps : reach + kLag;
  const bool cutOff = block * kGroups + kGroups > plan.height;
  const Wavefront wavefront(frame.sides[kUp ? 1 : 0], block, kUp ? block + 1 : block - 1, plan.blocks, steps);

  startRing(sweep);
  wavefront.wait(kLag + 4);
  sweep.joinNeighbour(-2);
  sweep.joinNeighbour(-1);
  int32_t turn = 0, index = 0;  // step of this run; slot whose right candidates restart
  const auto storedBias = F::kOneByte ? F::Cells::add(sweep.noExcess, sweep.noExcess) : sweep.noExcess;
  for (int32_t t = 0; t < steps; ++t, ++turn) {
    if (t % kRunSteps == 0) {
      if (t > 0) startRun(sweep, selector);
      turn = 0;
      fetchRows(plan, frame.images, (kUp ? block - 1 : block + 1) * kGroups, t);
      wavefront.report(t);
      wavefront.wait(t + kRunSteps + kLag + 4);
    }
    const bool border = t >= borderStart && t < borderEnd;
    const bool edge = t < kLag || t >= width || cutOff;
    uint8_t* oldest = settled(sweep.ring + static_cast<ptrdiff_t>(turn) * (Sweep<F>::kPlanes * Sweep<F>::kVector));
    sweep.pushRight(oldest, oldest + stripes * (Sweep<F>::kPlanes * Sweep<F>::kVector), t,
                    t >= outsideStart && t < borderEnd);
    uint8_t* sums = sumsAt<F>(blockSums, steps, stepBytes, t);
    using Vec = typename Sweep<F>::Vec;
    using Sums = typename Sweep<F>::Sums;
    if constexpr (!F::kSelects) {
      sweep.advance(along, t, oldest, border, [&](int32_t v, Vec, const Sums& own) __attribute__((always_inline)) {
        storeSums(sweep, own, storedBias, sums, v);
      });
    } else if constexpr (kWide) {
      sweep.advance(along, t, oldest, border, [&](int32_t v, Vec, const Sums& own) __attribute__((always_inline)) {
        noteWide(sweep, plan, scratch, own, sums, v);
      });
      selectWide(sweep, plan, scratch, t);
    } else {
      if (paths > 2) {
        const uint8_t* ahead = sums + kAheadSteps * stepBytes;
        constexpr int32_t kLines = F::kStripes * kGroups / 4;
        forEach<kLines>(stepBytes / 64, [&](int32_t i) __attribute__((always_inline)) { fetchAhead(ahead + i * 64); });
      }
      if (selector.wantsRight) selector.turnRight(t, turn, index);
      KeyStep<F> keys(sweep, selector, sums, t, oldest, turn, paths, border, edge);
      sweep.advance(along, t, oldest, border, [&](int32_t v, Vec cost, const Sums& own) __attribute__((always_inline)) {
        keys.take(v, cost, own);
      });
      selector.noteColumns(t, keys.lowest[0], keys.lowest[1]);
      if (t % 4 == 0 && t > 0) selector.pickWinners(t - 4);
      if (t > 4 && selector.wantsSecond) selector.pickSeconds(t - 5);
    }
    if (edge) {
      sweep.forgetAlong(along, sweep.insideAt(t));
      forget(sweep, t);
    }
    sweep.joinNeighbour(t);
    sweep.passOn(t);
    if (++index == stripes) index = 0;
  }
  wavefront.report(steps);
  if constexpr (F::kSelects) {
    if constexpr (kWide) {
      finishWide(plan, scratch, frame, block * kGroups);
    } else {
      if (selector.wantsRight) finishRight(selector, steps, turn - 1, index == 0 ? stripes - 1 : index - 1);
      finishSteps(selector, steps);
    }
    finishRows<kUp, kWide>(plan, frame, scratch, block * kGroups);
  }
}

template <class Shape>
SgmSweep sweepOfShape(bool up, bool selects) {
  if (selects) return up ? sweepBlock<Form<Shape, true, true>> : sweepBlock<Form<Shape, false, true>>;
  return up ? sweepBlock<Form<Shape, true, false>> : sweepBlock<Form<Shape, false, false>>;
}

/// 64 and 128 disparities with usual penalties have specialised shapes where registers are wide; all others share
/// shapes with loops. A shape is four functions that take a second to compile per instruction set.
SgmSweep chooseByteSweep(const SgmPlan& plan, bool up, bool selects) {
  const int32_t num = plan.parameters.numDisparities, paths = plan.parameters.paths;
  const bool oneByte = paths * plan.parameters.p2 <= 255;
  if (plan.parameters.words == 2) {
    if constexpr (kGroups > 1) {
      if (num == 128 && paths == 4 && oneByte)
        return sweepOfShape<Shape<NarrowCells, 8, 2, 1, true, true, 2>>(up, selects);
    }
    return plan.partials == 2 ? sweepOfShape<Shape<NarrowCells, 0, 0, 2, true, false, 2>>(up, selects)
                              : sweepOfShape<Shape<NarrowCells, 0, 0, 1, true, false, 2>>(up, selects);
  }
  if constexpr (kGroups > 2) {
    if (num == 128 && plan.parameters.adaptiveP2 == 0) {
      if (paths == 4 && oneByte) return sweepOfShape<Shape<NarrowCells, 8, 2, 1, false, true>>(up, selects);
      if (paths == 8 && plan.partials == 1) return sweepOfShape<Shape<NarrowCells, 8, 4, 1, false, false>>(up, selects);
    }
  }
  if constexpr (kGroups > 1) {
    if (num == 128 && paths == 4 && oneByte) return sweepOfShape<Shape<NarrowCells, 8, 2, 1, true, true>>(up, selects);
    if (num == 128 && paths == 8 && plan.partials == 1) {
      return sweepOfShape<Shape<NarrowCells, 8, 4, 1, true, false>>(up, selects);
    }
    if (num == 64 && paths == 4 && oneByte) return sweepOfShape<Shape<NarrowCells, 4, 2, 1, true, true>>(up, selects);
  }
  return plan.partials == 2 ? sweepOfShape<Shape<NarrowCells, 0, 0, 2, true, false>>(up, selects)
                            : sweepOfShape<Shape<NarrowCells, 0, 0, 1, true, false>>(up, selects);
}

SgmSweep chooseSweep(const SgmPlan& plan, bool up, bool selects) {
  if (plan.halves == 2) {
    return plan.parameters.words == 2 ? sweepOfShape<Shape<WideCells, 0, 0, 1, true, false, 2>>(up, selects)
                                      : sweepOfShape<Shape<WideCells, 0, 0, 1, true, false>>(up, selects);
  }
  if constexpr (kHasByteCells) return chooseByteSweep(plan, up, selects);
  return nullptr;
}

}  // namespace
