// SPDX-License-Identifier: Apache-2.0
// One step of a sweep: costs, and the directions of one side. sgm_plan.h describes the layout of cells. Compiled once
// per instruction set.
//
// Everything that a step uses is copied into the Sweep: a vector store may alias any field behind a reference, which
// would make the compiler read it again. For the same reason rarely used code takes a copy of the Sweep, never its
// address.

namespace {

/// Compile-time constants. kStripes and kDirections (2: along the row and down, 4: with both diagonals) are constants
/// in the usual cases and 0 if they are known only at run time.
template <class CellsParam, int32_t kStripesParam, int32_t kDirectionsParam, int32_t kPartialsParam,
          bool kAdaptiveParam, bool kOneByteParam, int32_t kWordsParam = 1>
struct Shape {
  using Cells = CellsParam;
  static constexpr int32_t kStripes = kStripesParam, kDirections = kDirectionsParam, kPartials = kPartialsParam;
  /// kAdaptive: P2 may adapt. kOneByte: the excesses of all directions of both sides add up to less than 256.
  static constexpr int32_t kWords = kWordsParam;  ///< of a pixel
  static constexpr bool kAdaptive = kAdaptiveParam, kOneByte = kOneByteParam;
};
template <class ShapeParam, bool kUpParam, bool kSelectsParam>
struct Form : ShapeParam {
  static constexpr bool kUp = kUpParam, kSelects = kSelectsParam;
};

template <class F>
struct Sweep {
  using Cells = typename F::Cells;
  using Vec = typename Cells::Vec;
  static constexpr int32_t kStripes = F::kStripes, kHalves = Cells::kHalves, kPartials = F::kPartials;
  static constexpr bool kUp = F::kUp;
  static constexpr int32_t kMaxStripes = kStripes != 0 ? kStripes : 32;
  static constexpr int32_t kVector = kGroups * 16;
  /// A vector and, before it (down) or after it (up), the group that the neighbouring block contributes.
  static constexpr int32_t kPair = 2 * kVector;
  static constexpr int32_t kRead = kUp ? 16 : kVector - 16, kWrite = kUp ? 0 : kVector;
  static constexpr int32_t kPassedOn = kUp ? 0 : kVector + 16 * (kGroups - 1);
  static constexpr int32_t kJoined = kUp ? kVector : kVector - 16;
  static constexpr int32_t kWords = F::kWords, kPlanes = 4 * kWords + 1, kOutside = 4 * kWords * kVector;
  static constexpr int32_t kEntries = kStripes == 0 ? 0 : (kStripes + 1) * kHalves;
  /// True: the sums hold path costs. False: they hold excesses, because path costs would not fit.
  static constexpr bool kSumsPaths = kHalves == 2;

  int32_t stripes, width, height, steps, firstRow;
  bool adaptive, eightPaths;
  int32_t rightPlace;  ///< the right pixel that step 0 reads; down sweeps advance from it, up sweeps go back
  const uint32_t* rightWords;
  const uint32_t* moreRightWords;
  const uint32_t* outside;
  const uint8_t* padding;
  const uint16_t* penalties;
  const uint32_t* leftWords;
  const uint32_t* moreLeftWords;
  uint8_t* ring;
  uint8_t* slots[3];
  uint8_t* rows[3];
  Vec infinite, ceiling, p1;
  Bytes outsideCost;
  Vec noExcess;  ///< the sum of the ceilings of a side's directions, subtracted from its sum of excesses

  /// The path costs of the previous pixel of the row, stripe by stripe, and its `raise` (see pathRaise). In registers if
  /// the number of stripes is a constant.
  struct Along {
    Vec path[kMaxStripes];
    Vec raise;
  };
  /// A step's sums of one stripe: of path costs if kSumsPaths, else of excesses, each with a ceiling.
  struct Sums {
    Vec partial[kPartials];
  };

  [[gnu::always_inline]] Sweep(const SgmPlan& plan, const SgmFrame& frame, const SgmScratch& scratch, int32_t block)
      : stripes(kStripes != 0 ? kStripes : plan.stripes), width(plan.width), height(plan.height), steps(plan.steps),
        firstRow(block * kGroups), adaptive(plan.parameters.adaptiveP2 > 0), eightPaths(plan.parameters.paths == 8),
        rightPlace(kUp ? plan.steps - plan.parameters.minDisparity - 16 * stripes : -plan.parameters.minDisparity),
        rightWords(scratch.rightWords), moreRightWords(scratch.moreRightWords), outside(plan.outside),
        padding(plan.padding), penalties(scratch.penalties), leftWords(scratch.leftWords),
        moreLeftWords(scratch.moreLeftWords), ring(scratch.ring), infinite(Cells::splat(-1)),
        ceiling(Cells::splat(plan.ceiling)), p1(Cells::splat(plan.parameters.p1)),
        outsideCost(splatBytes(static_cast<uint8_t>(plan.parameters.outsideCost))) {
    for (int32_t d = 0; d < 3; ++d) {
      slots[d] = scratch.slots[d];
      rows[d] = frame.sides[kUp ? 1 : 0].rows[d];
    }
    noExcess = Cells::splat(-((diagonals() ? 4 : 2) / kPartials) * plan.ceiling);
  }

  static constexpr int32_t rank(int32_t group) { return kUp ? kGroups - 1 - group : group; }
  [[gnu::always_inline]] uint8_t* slot(int32_t direction, int32_t step) const {
    const int32_t number = step & ((1 << kSlotBits[direction]) - 1);
    return settled(slots[direction] + static_cast<ptrdiff_t>(number * ((stripes + 1) * kHalves * kPair)));
  }

  /// Adds a pixel of each row's right census to the ring: step t's first stripe (down) or last (up) is that of
  /// `stripes` steps ago, shifted by a byte. The other stripes were added in earlier steps.
  [[gnu::always_inline]] void pushRight(const uint8_t* from, uint8_t* to, int32_t t, bool withOutside) const {
    const int32_t place = greater(kUp ? rightPlace - t : rightPlace + t, -1);
    Bytes fresh[4 * kWords];
    spreadWords(rightWords + place * kGroups, fresh);
    if constexpr (kWords == 2) spreadWords(moreRightWords + place * kGroups, fresh + 4);
    forEach<4 * kWords>(4 * kWords, [&](int32_t b) __attribute__((always_inline)) {
      const Bytes old = loadBytes(from + b * kVector);
      storeBytes(to + b * kVector, kUp ? shiftDownBytes(old, fresh[b]) : shiftUpBytes(old, fresh[b]));
    });
    if (!withOutside) return;
    const Bytes old = loadBytes(from + kOutside), beyond = spreadBytes(outside[place]);
    storeBytes(to + kOutside, kUp ? shiftDownBytes(old, beyond) : shiftUpBytes(old, beyond));
  }

  /// Returns stripe v's right census in the ring. @param oldest what this step pushed out
  [[gnu::always_inline]] const uint8_t* ringAt(const uint8_t* oldest, int32_t v) const {
    const int32_t age = kUp ? stripes - 1 - v : v;
    return oldest + (stripes - age) * (kPlanes * kVector);
  }

  [[gnu::always_inline]] void spreadLeft(int32_t t, Bytes* left) const {
    const int32_t at = (kUp ? steps - 1 - t : t) * kGroups;
    spreadWords(leftWords + at, left);
    if constexpr (kWords == 2) spreadWords(moreLeftWords + at, left + 4);
  }

  /// Returns stripe v's costs minus the ceiling.
  [[gnu::always_inline]] Vec costAt(const Bytes* left, const uint8_t* oldest, int32_t v, bool border) const {
    const uint8_t* right = ringAt(oldest, v);
    Bytes c = popcountBytes(xorBytes(left[0], loadBytes(right)));
    c = addBytes(c, popcountBytes(xorBytes(left[1], loadBytes(right + kVector))));
    c = addBytes(c, popcountBytes(xorBytes(left[2], loadBytes(right + 2 * kVector))));
    c = addBytes(c, popcountBytes(xorBytes(left[3], loadBytes(right + 3 * kVector))));
    if constexpr (kWords == 2) {
      forEach<4>(4, [&](int32_t b) __attribute__((always_inline)) {
        c = addBytes(c, popcountBytes(xorBytes(left[4 + b], loadBytes(right + (4 + b) * kVector))));
      });
    }
    if (border) c = chooseBytes(loadBytes(right + kOutside), outsideCost, c);
    return Cells::sub(Cells::fromCost(c), ceiling);
  }

  /// The state of one direction within a pixel: the old path costs around the current stripe.
  struct Walk {
    Vec before, here, afterLast, raise, cap, lowest;
  };
  [[gnu::always_inline]] Walk startWalk(Vec first, Vec last, Vec raise, Vec cap) const {
    return {Cells::up(last, infinite), first, Cells::down(first, infinite), raise, cap, infinite};
  }
  /// Returns the new path costs of the current stripe. @param after the old ones of the next stripe
  [[gnu::always_inline]] Vec walk(Walk& w, Vec after, Vec cost, int32_t v, Vec& excess) const {
    const Vec reached = Cells::min(w.here, Cells::addSaturated(Cells::min(w.before, after), p1));
    excess = Cells::addSaturated(reached, w.raise);
    if constexpr (F::kAdaptive) excess = Cells::min(excess, w.cap);
    Vec path = Cells::add(excess, cost);
    if constexpr (kSumsPaths) excess = path;
    if constexpr (kStripes == 0) path = Cells::orBits(path, Cells::load(paddingAt(v), kVector));
    w.lowest = Cells::min(w.lowest, path);
    w.before = w.here;
    w.here = after;
    return path;
  }
  /// Returns ceiling - m, where m is the smallest path cost of the pixel: added to a path cost L it gives ceiling + (L
  /// - m).
  [[gnu::always_inline]] Vec pathRaise(const Walk& w) const {
    return Cells::sub(ceiling, Cells::lowestInGroup(w.lowest));
  }

  /// A compile-time constant if the shape implies it: two partial sums occur only with eight paths.
  [[gnu::always_inline]] bool diagonals() const {
    if constexpr (F::kDirections == 2) return false;
    if constexpr (F::kDirections == 4 || kPartials == 2) return true;
    return eightPaths;
  }

  /// Computes one step of one diagonal. Calls emit(v, sums) when a stripe's sums are complete.
  template <class Emit>
  [[gnu::always_inline]] void followDiagonal(const Vec* cost, Sums* sums, const uint8_t* from, uint8_t* to,
                                             int32_t partial, bool first, Vec cap, Emit&& emit) const {
    const auto load = [&](int32_t v)
                          __attribute__((always_inline)) { return Cells::load(from + v * kHalves * kPair, kPair); };
    Walk w = startWalk(load(0), load(stripes - 1), load(stripes), cap);
    forEach<kStripes>(stripes, [&](int32_t v) __attribute__((always_inline)) {
      Vec excess;
      Cells::store(to + v * kHalves * kPair, kPair,
                   walk(w, v + 1 < stripes ? load(v + 1) : w.afterLast, cost[v], v, excess));
      sums[v].partial[partial] = first ? excess : Cells::add(sums[v].partial[partial], excess);
      emit(v, cost[v], sums[v]);
    });
    Cells::store(to + stripes * kHalves * kPair, kPair, pathRaise(w));
  }

  /// Computes all directions of step t. Calls emit(v, cost, sums) as soon as a stripe's sums are complete: storing them
  /// or selecting from them then fills the gaps of the arithmetic, and so do the costs.
  template <class Emit>
  [[gnu::always_inline]] void advance(Along& along, int32_t t, const uint8_t* oldest, bool border, Emit&& emit) const {
    Bytes left[4 * kWords];
    spreadLeft(t, left);
    Vec cost[F::kDirections == 2 ? 1 : kMaxStripes];
    Sums sums[F::kDirections == 2 ? 1 : kMaxStripes];
    const uint8_t* above = slot(kVertical, t - 2) + kRead;
    uint8_t* below = slot(kVertical, t) + kWrite;
    const auto load = [&](int32_t v)
                          __attribute__((always_inline)) { return Cells::load(above + v * kHalves * kPair, kPair); };
    Walk across = startWalk(along.path[0], along.path[stripes - 1], along.raise, capAt(3, t));
    Walk down = startWalk(load(0), load(stripes - 1), load(stripes), capAt(kVertical, t));
    forEach<kStripes>(stripes, [&](int32_t v) __attribute__((always_inline)) {
      const int32_t at = F::kDirections == 2 ? 0 : v;
      cost[at] = costAt(left, oldest, v, border);
      Vec excess, more;
      along.path[v] = walk(across, v + 1 < stripes ? along.path[v + 1] : across.afterLast, cost[at], v, excess);
      Cells::store(below + v * kHalves * kPair, kPair,
                   walk(down, v + 1 < stripes ? load(v + 1) : down.afterLast, cost[at], v, more));
      sums[at].partial[0] = Cells::add(excess, more);
      if (!diagonals()) emit(v, cost[at], sums[at]);
    });
    along.raise = pathRaise(across);
    Cells::store(below + stripes * kHalves * kPair, kPair, pathRaise(down));
    if constexpr (F::kDirections != 2) {
      if (!diagonals()) return;
      const auto later = [](int32_t, Vec, const Sums&) __attribute__((always_inline)) {};
      followDiagonal(cost, sums, slot(kBehind, t - 3) + kRead, slot(kBehind, t) + kWrite, kPartials - 1, kPartials == 2,
                     capAt(kBehind, t), later);
      followDiagonal(cost, sums, slot(kAhead, t - 1) + kRead, slot(kAhead, t) + kWrite, kPartials - 1, false,
                     capAt(kAhead, t), emit);
    }
  }

  [[gnu::always_inline]] const uint8_t* paddingAt(int32_t v) const { return padding + v * kHalves * kVector; }

  [[gnu::always_inline]] Vec capAt(int32_t direction, int32_t t) const {
    if (!F::kAdaptive || !adaptive) return infinite;
    uint16_t caps[kGroups];
    forEach<kGroups>(kGroups, [&](int32_t g) __attribute__((always_inline)) {
      const int32_t position = lesser(greater(t - 2 * rank(g), 0), width - 1);
      const int32_t x = kUp ? width - 1 - position : position;
      caps[g] = penalties[(direction * kGroups + g) * width + x];
    });
    return Cells::fromRows(caps);
  }

  /// Copies the neighbouring block's row into the predecessors of step t + 2, or of step t + 1 for the diagonal whose
  /// predecessor is one step away. If this ran later, the load of a vector would wait for these stores.
  [[gnu::always_inline]] void joinNeighbour(int32_t t) const {
    join(slot(kVertical, t), rows[kVertical], t + 2);
    if (diagonals()) {
      join(slot(kBehind, t - 1), rows[kBehind], t + 1);
      join(slot(kAhead, t), rows[kAhead], t + 2);
    }
  }
  [[gnu::always_inline]] void join(uint8_t* to, const uint8_t* row, int32_t position) const {
    const uint8_t* from = row + position * static_cast<ptrdiff_t>((stripes + 1) * kHalves * 16);
    forEach<kEntries>((stripes + 1) * kHalves, [&](int32_t n) __attribute__((always_inline)) {
      copyGroup(to + n * kPair + kJoined, from + n * 16);
    });
  }

  /// Stores the last row's path costs of step t for the next block.
  [[gnu::always_inline]] void passOn(int32_t t) const {
    const int32_t position = t - 2 * (kGroups - 1);
    if (position < 0 || position >= width) return;
    forEach<3>(3, [&](int32_t direction) __attribute__((always_inline)) {
      if (direction > 0 && !diagonals()) return;
      const uint8_t* from = slot(direction, t) + kPassedOn;
      uint8_t* to = rows[direction] + position * static_cast<ptrdiff_t>((stripes + 1) * kHalves * 16);
      forEach<kEntries>((stripes + 1) * kHalves,
                        [&](int32_t n) __attribute__((always_inline)) { copyGroup(to + n * 16, from + n * kPair); });
    });
  }

  /// Restarts the path along the row after every pixel outside the image: all its costs are equal there.
  [[gnu::always_inline]] void forgetAlong(Along& along, Bytes inside) const {
    forEach<kStripes>(stripes, [&](int32_t v) __attribute__((always_inline)) {
      along.path[v] = Cells::choose(inside, along.path[v], Cells::splat(0));
    });
    along.raise = Cells::choose(inside, along.raise, ceiling);
  }

  /// Returns 0xff in the groups whose pixel of step t is inside the image.
  [[gnu::always_inline]] Bytes insideAt(int32_t t) const {
    alignas(64) uint8_t inside[kVector];
    for (int32_t g = 0; g < kGroups; ++g) {
      const int32_t position = t - 2 * rank(g);
      const bool is = position >= 0 && position < width && firstRow + g < height;
      std::memset(inside + 16 * g, is ? 0xff : 0, 16);
    }
    return loadBytes(inside);
  }
};

/// Fills the ring before step 0: only pixels outside the image (down), or the last `numDisparities` columns (up).
template <class F>
[[gnu::noinline]] void startRing(const Sweep<F> sweep) {
  constexpr int32_t kEntry = Sweep<F>::kPlanes * Sweep<F>::kVector, kOutside = Sweep<F>::kOutside;
  const int32_t stripes = sweep.stripes;
  for (int32_t i = 0; i < stripes + kRunSteps; ++i) {
    storeBytes(sweep.ring + i * kEntry + kOutside, splatBytes(F::kUp ? 0 : 0xff));
  }
  if (!F::kUp) return;
  for (int32_t t = 1 - 16 * stripes; t < 0; ++t) {
    uint8_t* entry = sweep.ring + (t + 16 * stripes) % stripes * kEntry;
    sweep.pushRight(entry, entry, t, true);
  }
}

/// The same for the paths across rows.
template <class F>
[[gnu::noinline]] void forget(const Sweep<F> sweep, int32_t t) {
  using Cells = typename F::Cells;
  const Bytes inside = sweep.insideAt(t);
  const auto clear = [&](uint8_t* at, int32_t stride) {
    for (int32_t v = 0; v <= sweep.stripes; ++v) {
      uint8_t* p = at + v * Cells::kHalves * stride;
      const auto start = v < sweep.stripes ? Cells::splat(0) : sweep.ceiling;
      Cells::store(p, stride, Cells::choose(inside, Cells::load(p, stride), start));
    }
  };
  for (int32_t d = 0; d < (sweep.diagonals() ? 3 : 1); ++d) clear(sweep.slot(d, t) + Sweep<F>::kWrite, Sweep<F>::kPair);
}

template <class F>
[[gnu::noinline]] void forgetAll(const Sweep<F> sweep) {
  using Cells = typename F::Cells;
  constexpr int32_t kVector = Sweep<F>::kVector, kCell = Cells::kHalves * kVector;
  const auto clear = [&](uint8_t* at, int32_t width) {
    for (int32_t i = 0; i < width * (sweep.stripes + 1); ++i) {
      Cells::store(at + i * kCell, kVector, i < width * sweep.stripes ? Cells::splat(0) : sweep.ceiling);
    }
  };
  for (int32_t d = 0; d < (sweep.diagonals() ? 3 : 1); ++d) {
    for (int32_t i = 0; i < 1 << kSlotBits[d]; ++i) clear(sweep.slot(d, i), 2);
  }
}

}  // namespace
