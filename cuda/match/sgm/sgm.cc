// SPDX-License-Identifier: Apache-2.0
// Opens the matcher: checks the parameters, plans memory, and distributes blocks over threads.
#include "sgm.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "../../../core/huge_pages.h"
#include "../../simd/kernels.h"
#include "../cost/hamming.h"
#include "carver.h"
#include "sgm_plan.h"

namespace depthwatt {
namespace {

Status outside(const char* name, int32_t low, int32_t high, int32_t got) {
  return Status::error(Code::kParameter, "Expected a whole number from %d to %d for %s, got %d.", low, high, name, got);
}

SgmPlan makePlan(const SgmParameters& parameters, int32_t width, int32_t height, const SgmKernels& kernels) {
  SgmPlan plan;
  plan.parameters = parameters;
  plan.width = width;
  plan.height = height;
  const int32_t groups = kernels.groups;
  plan.groups = groups;
  plan.stripes = (parameters.numDisparities + 15) / 16;
  while (1 << plan.stripeBits < plan.stripes) ++plan.stripeBits;
  const bool narrow = kernels.byteCells && parameters.p2 <= kMaxNarrowP2;
  plan.halves = narrow ? 1 : 2;
  // A side adds four excesses (8 paths) or two.
  plan.partials = narrow && parameters.paths == 8 && 4 * parameters.p2 > 255 ? 2 : 1;
  plan.ceiling = (narrow ? 255 : 65535) - parameters.p2;
  plan.steps = width + 2 * (groups - 1);
  plan.blocks = (height + groups - 1) / groups;
  plan.invalidSum = narrow ? (65535 >> plan.stripeBits < 4095 ? 65535 >> plan.stripeBits : 4095) : 65535;
  return plan;
}

/// Storage of the plan's tables.
struct Tables {
  uint32_t* outside = nullptr;
  uint8_t* padding = nullptr;
  uint16_t* numbers = nullptr;
  int32_t* cellOffset = nullptr;
};

void carveTables(const SgmPlan& plan, Carver& carver, Tables& tables) {
  carver.take(tables.outside, static_cast<size_t>(plan.steps) + 1);
  carver.take(tables.padding, plan.vectorBytes() * plan.stripes * plan.halves);
  carver.take(tables.numbers, plan.vectorBytes() / 2 * plan.stripes);
  carver.take(tables.cellOffset, static_cast<size_t>(plan.parameters.numDisparities) + 2);
}

void fillTables(SgmPlan& plan, const Tables& tables) {
  for (int32_t place = -1; place < plan.steps; ++place) {
    for (int32_t g = 0; g < plan.groups; ++g) {
      const int32_t x = place - 2 * g;
      if (x < 0 || x >= plan.width) tables.outside[place + 1] |= uint32_t{0xff} << (8 * g);
    }
  }
  const auto vector = static_cast<int32_t>(plan.vectorBytes());
  const int32_t num = plan.parameters.numDisparities;
  const int32_t cellBytes = plan.halves;
  for (int32_t v = 0; v < plan.stripes; ++v) {
    for (int32_t i = 0; i < vector * plan.halves; ++i) {
      const int32_t cell = i / cellBytes;
      const int32_t inGroup = plan.halves == 1 ? cell % 16 : cell % 8 + 8 * (i / vector);
      tables.padding[v * vector * plan.halves + i] = v + plan.stripes * inGroup >= num ? 0xff : 0;
    }
  }
  const int32_t excess = (plan.parameters.paths * (plan.parameters.p2 + 1)) << plan.stripeBits;
  for (int32_t i = 0; i < plan.stripes * vector / 2; ++i) {
    tables.numbers[i] = static_cast<uint16_t>(i / (vector / 2) - excess);
  }
  const int32_t invalid = 2 * plan.stripes * vector;
  for (int32_t d = -1; d <= num; ++d) {
    const int32_t j = d / plan.stripes, v = d % plan.stripes;
    tables.cellOffset[d + 1] = d < 0 || d >= num ? invalid : (2 * v + (j >> 3)) * vector + (j & 7) * 2;
  }
  plan.outside = tables.outside + 1;
  plan.padding = tables.padding;
  plan.numbers = reinterpret_cast<const uint8_t*>(tables.numbers);
  plan.cellOffset = tables.cellOffset;
}

void carveScratch(const SgmPlan& plan, Carver& carver, SgmScratch& scratch) {
  const size_t vector = plan.vectorBytes(), stripes = plan.stripes, groups = plan.groups, width = plan.width;
  carver.take(scratch.leftWords, plan.steps * groups + 2);
  carver.take(scratch.rightWords, (plan.steps + 1) * groups + 2);
  if (scratch.rightWords != nullptr) scratch.rightWords += groups;
  if (plan.parameters.words == 2) {
    carver.take(scratch.moreLeftWords, plan.steps * groups + 2);
    carver.take(scratch.moreRightWords, (plan.steps + 1) * groups + 2);
    if (scratch.moreRightWords != nullptr) scratch.moreRightWords += groups;
  }
  carver.take(scratch.penalties, 4 * groups * width);
  carver.take(scratch.ring, (stripes + kRunSteps) * static_cast<size_t>(plan.planes()) * vector);
  for (int32_t d = 0; d < 3; ++d)
    carver.take(scratch.slots[d], ((stripes + 1) * plan.halves * 2 * vector) << kSlotBits[d]);
  carver.take(scratch.keys, kKeptSteps * (2 * stripes + 1) * vector);
  carver.take(scratch.columns, kKeptSteps * 2 * vector);
  carver.take(scratch.rightKeys, 2 * (stripes + kRunSteps) * vector);
  carver.take(scratch.rightBest, 2 * stripes * vector);
  carver.take(scratch.rightFirst, 2 * stripes * vector);
  carver.take(scratch.leavingBest, plan.steps * groups + vector / 2);
  carver.take(scratch.leavingFirst, plan.steps * groups + vector / 2);
  // Four steps at once may read three beyond the last.
  const size_t picked = (plan.steps + 4) * groups;
  carver.take(scratch.picked.winner, picked);
  carver.take(scratch.picked.below, picked);
  carver.take(scratch.picked.best, picked);
  carver.take(scratch.picked.above, picked);
  carver.take(scratch.seconds, picked);
  if (plan.halves == 2) carver.take(scratch.rightRow, 2 * groups * width);
}

void carveSide(const SgmPlan& plan, Carver& carver, SgmSide& side) {
  const size_t entries = static_cast<size_t>(plan.steps) + 2 * kRowMargin;
  for (uint8_t*& row : side.rows) {
    carver.take(row, entries * plan.entryBytes());
    if (row != nullptr) row += kRowMargin * plan.entryBytes();
  }
  carver.take(side.progress, static_cast<size_t>(plan.blocks));
}

class LaneSgm : public Sgm {
 public:
  LaneSgm(const SgmPlan& plan, const SgmKernels& kernels, Workers& workers) : plan_(plan), workers_(workers) {
    for (int32_t up = 0; up < 2; ++up) {
      for (int32_t selects = 0; selects < 2; ++selects)
        sweeps_[up][selects] = kernels.chooseSweep(plan, up != 0, selects != 0);
    }
  }

  /// Returns false if there is not enough memory.
  bool allocate() {
    scratch_ = std::make_unique<SgmScratch[]>(static_cast<size_t>(workers_.count()));
    Carver counter(nullptr);
    Tables tables;
    carve(counter, tables);
    memory_ = HugePages::of(counter.used());
    if (memory_.get() == nullptr) return false;
    std::memset(memory_.get(), 0, memory_.bytes());  // touch it now, not in the first frame
    Carver carver(memory_.get());
    carve(carver, tables);
    fillTables(plan_, tables);
    for (SgmSide& side : frame_.sides) {
      for (int32_t i = 0; i < plan_.blocks; ++i) new (&side.progress[i]) std::atomic<int32_t>(0);
    }
    return true;
  }

  void compute(const SgmImages& images, const SgmResult& result) override {
    frame_.images = images;
    frame_.result = result;
    if (plan_.parameters.paths == 2) {
      reset(0);
      runHalf(0, plan_.blocks, plan_.blocks, plan_.blocks, true);
      return;
    }
    // Each side first stores the sums of its half, then selects in the other's half.
    const int32_t middle = plan_.blocks / 2;
    for (int32_t up = 0; up < 2; ++up) reset(up);
    runHalf(0, middle, middle, plan_.blocks, false);
    runHalf(middle, plan_.blocks, 0, middle, true);
  }

  size_t workspaceBytes() const override { return memory_.bytes(); }

 private:
  void carve(Carver& carver, Tables& tables) {
    carveTables(plan_, carver, tables);
    for (SgmSide& side : frame_.sides) carveSide(plan_, carver, side);
    for (int32_t i = 0; i < workers_.count(); ++i) carveScratch(plan_, carver, scratch_[static_cast<size_t>(i)]);
    if (plan_.parameters.paths > 2) {
      carver.take(frame_.sums, static_cast<size_t>(plan_.blocks) * plan_.steps * plan_.stepBytes());
    }
  }

  /// Clears the state: no path comes from outside the image.
  void reset(int32_t up) {
    const SgmSide& side = frame_.sides[up];
    const size_t margin = kRowMargin * plan_.entryBytes();
    const size_t bytes = plan_.steps * plan_.entryBytes() + 2 * margin;
    const int32_t rows = plan_.parameters.paths == 8 ? 3 : 1;
    for (int32_t i = 0; i < rows; ++i) {
      uint8_t* from = side.rows[i] - margin;
      std::memset(from, 0, bytes);
      const size_t entry = plan_.entryBytes(), cells = static_cast<size_t>(plan_.stripes) * plan_.halves * 16;
      for (size_t at = cells; at < bytes; at += entry) {
        if (plan_.halves == 1) std::memset(from + at, plan_.ceiling, 16);
        else std::fill_n(reinterpret_cast<uint16_t*>(from + at), 16, static_cast<uint16_t>(plan_.ceiling));
      }
    }
    for (int32_t i = 0; i < plan_.blocks; ++i) side.progress[i].store(0, std::memory_order_relaxed);
  }

  /// Sweeps blocks [downFirst, downEnd) from above and [upFirst, upEnd) from below. A thread takes the next block of
  /// its side, and of the other side when none is left.
  void runHalf(int32_t downFirst, int32_t downEnd, int32_t upFirst, int32_t upEnd, bool selects) {
    const int32_t counts[2] = {downEnd - downFirst, upEnd - upFirst};
    std::atomic<int32_t> next[2] = {{0}, {0}};
    workers_.each([&](int worker) {
      const SgmScratch& scratch = scratch_[static_cast<size_t>(worker)];
      for (int32_t turn = 0; turn < 2; ++turn) {
        const int32_t up = (worker + turn) & 1;
        for (;;) {
          const int32_t i = next[up].fetch_add(1, std::memory_order_relaxed);
          if (i >= counts[up]) break;
          sweeps_[up][selects ? 1 : 0](plan_, frame_, up != 0 ? upEnd - 1 - i : downFirst + i, scratch);
        }
      }
    });
  }

  SgmPlan plan_;
  Workers& workers_;
  SgmSweep sweeps_[2][2];
  HugePages memory_;
  std::unique_ptr<SgmScratch[]> scratch_;
  SgmFrame frame_;
};

}  // namespace

void sgmYield() { sched_yield(); }

Status checkSgmParameters(const SgmParameters& p) {
  const struct {
    const char* name;
    int32_t value, low, high;
  } ranges[] = {
      {"numDisparities", p.numDisparities, kMinNumDisparities, kMaxNumDisparities},
      {"minDisparity", p.minDisparity, 0, kMaxDisparity - p.numDisparities},
      {"p2", p.p2, 1, kMaxP2},
      {"p1", p.p1, 1, p.p2},
      {"adaptiveP2", p.adaptiveP2, 0, 255},
      {"uniqueness", p.uniqueness, 0, 99},
      {"outsideCost", p.outsideCost, 0, kNeverOutside},
      {"words", p.words, 1, 2},
  };
  for (const auto& range : ranges) {
    if (range.value < range.low || range.value > range.high) {
      return outside(range.name, range.low, range.high, range.value);
    }
  }
  if (p.paths != 2 && p.paths != 4 && p.paths != 8) {
    return Status::error(Code::kParameter, "Expected 2, 4 or 8 for paths, got %d.", p.paths);
  }
  return {};
}

Status Sgm::open(const SgmParameters& parameters, int32_t width, int32_t height, InstructionSet set, Workers& workers,
                 Sgm** opened) {
  if (const Status status = checkSgmParameters(parameters); !status.ok()) return status;
  if (width < 1 || width > 32768) return outside("width", 1, 32768, width);
  if (height < 1 || height > 32768) return outside("height", 1, 32768, height);
  const SgmKernels& kernels = kernelsFor<SgmKernels>(set);
  auto sgm = std::make_unique<LaneSgm>(makePlan(parameters, width, height, kernels), kernels, workers);
  if (!sgm->allocate()) {
    return Status::error(Code::kFailed, "Expected %zu MiB of memory for matching %d x %d x %d, got none.",
                         sgm->workspaceBytes() >> 20, width, height, parameters.numDisparities);
  }
  *opened = sgm.release();
  return {};
}

}  // namespace depthwatt
