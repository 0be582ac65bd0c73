// SPDX-License-Identifier: Apache-2.0
// Opens a level of coarse-to-fine search, chooses the blocks of its tiles, and distributes tile rows over threads.
#include "sgm.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "../../../core/huge_pages.h"
#include "../../simd/kernels.h"
#include "carver.h"
#include "guided_plan.h"

namespace depthwatt {
namespace {

constexpr size_t kWidestRegister = 64;

GuidedPlan makeGuidedPlan(const SgmParameters& parameters, int32_t width, int32_t height, bool coarse) {
  GuidedPlan plan;
  plan.parameters = parameters;
  plan.width = width;
  plan.height = height;
  plan.tilesAcross = tilesAlong(width);
  plan.tilesDown = tilesAlong(height);
  plan.tileBlocks = parameters.numDisparities <= kFullRange ? kMaxTileBlocks : kGuidedBlocks;
  plan.rowBytes = (width + 127) / 64 * 64;
  const int32_t blocks = std::max(blocksOf(parameters.numDisparities), plan.tileBlocks);
  plan.rightUnits = width + parameters.minDisparity + blocks * kBlockDisparities;
  plan.fieldBytes = (blocks * kBlockDisparities + 2) * kUnitBytes;
  plan.coarse = coarse;
  return plan;
}

class TiledSgm final : public GuidedSgm {
 public:
  TiledSgm(const GuidedPlan& plan, const GuidedKernels& kernels, Workers& workers) : plan_(plan), workers_(workers) {
    const bool two = plan.parameters.paths == 2;
    first_ = two ? nullptr : kernels.chooseGuidedSweep(plan, GuidedPass::kStores);
    last_ = kernels.chooseGuidedSweep(plan, two ? GuidedPass::kSelects : GuidedPass::kAddsAndSelects);
  }

  /// Returns false if there is not enough memory.
  bool allocate() {
    scratch_ = std::make_unique<GuidedScratch[]>(static_cast<size_t>(workers_.count()));
    Carver counter(nullptr);
    carve(counter);
    memory_ = HugePages::of(counter.used());
    if (memory_.get() == nullptr) return false;
    std::memset(memory_.get(), 0, memory_.bytes());  // touch it now, not in the first frame
    Carver carver(memory_.get());
    carve(carver);
    for (int32_t i = 0; i < workers_.count(); ++i) std::memset(scratch_[i].field, 0xff, plan_.fieldBytes);
    std::memset(outside_ + static_cast<size_t>(plan_.width) * kUnitBytes, 0xff,
                static_cast<size_t>(plan_.rightUnits - plan_.width) * kUnitBytes);
    const SgmParameters& p = plan_.parameters;
    for (int32_t i = 0; i < 256; ++i)
      penalties_[i] = static_cast<uint8_t>(std::max(p.p1, p.p2 - ((p.adaptiveP2 * i) >> 4)));
    for (int32_t i = 0; i < plan_.tilesDown; ++i) new (&frame_.progress[i]) std::atomic<int32_t>(0);
    const int32_t tiles = plan_.tilesAcross * plan_.tilesDown;
    for (int32_t i = 0; i < tiles * plan_.tileBlocks; ++i) blocks_[i] = static_cast<uint8_t>(i % plan_.tileBlocks);
    plan_.outside = outside_;
    plan_.penalties = penalties_;
    frame_.blocks = blocks_;
    return true;
  }

  uint8_t* blocks() override { return blocks_; }

  void compute(const SgmImages& images, const SgmResult& result) override {
    frame_.result = result;
    run(images);
  }
  void compute(const SgmImages& images, const CoarseVotes& votes) override {
    frame_.votes = votes;
    run(images);
  }

  size_t workspaceBytes() const override { return memory_.bytes(); }

 private:
  void carve(Carver& carver) {
    const auto rowBytes = static_cast<size_t>(plan_.rowBytes), rightUnits = static_cast<size_t>(plan_.rightUnits);
    const auto cells = static_cast<size_t>(plan_.cellBytes()), tilesAcross = static_cast<size_t>(plan_.tilesAcross);
    const size_t tiles = tilesAcross * plan_.tilesDown, planes = static_cast<size_t>(plan_.planes());
    carver.take(outside_, rightUnits * kUnitBytes);
    carver.take(penalties_, 256);
    carver.take(blocks_, tiles * plan_.tileBlocks);
    carver.take(frame_.edge, tilesAcross * cells);
    carver.take(frame_.progress, static_cast<size_t>(plan_.tilesDown));
    for (int32_t i = 0; i < workers_.count(); ++i) {
      GuidedScratch& s = scratch_[static_cast<size_t>(i)];
      carver.take(s.set, 1);
      carver.take(s.left, planes * rowBytes * kUnitBytes);
      uint8_t* margin = nullptr;  // for the columns that whole registers add beyond the image
      carver.take(margin, 1);
      carver.take(s.right, planes * rightUnits * kUnitBytes);
      carver.take(s.along, rowBytes * kUnitBytes);
      carver.take(s.alongRows, 8 * rowBytes);
      carver.take(s.down, 8 * rowBytes);
      carver.take(s.columns, 2 * 8 * cells);
      carver.take(s.rows, 2 * 8 * cells);
      carver.take(s.field, static_cast<size_t>(plan_.fieldBytes));
      carver.take(s.tail, 8 * kWidestRegister);
      carver.take(s.picked, 5 * 8 * rowBytes);
      carver.take(s.rightBest, rowBytes);
    }
    if (plan_.parameters.paths > 2) carver.take(frame_.sums, tiles * 8 * cells);
  }

  void run(const SgmImages& images) {
    frame_.images = images;
    if (first_ != nullptr) sweep(first_, false);
    sweep(last_, first_ != nullptr);
  }

  void sweep(GuidedSweep tileRows, bool up) {
    for (int32_t i = 0; i < plan_.tilesDown; ++i) frame_.progress[i].store(0, std::memory_order_relaxed);
    std::atomic<int32_t> next{0};
    workers_.each([&](int worker) {
      for (;;) {
        const int32_t i = next.fetch_add(1, std::memory_order_relaxed);
        if (i >= plan_.tilesDown) break;
        tileRows(plan_, frame_, up ? plan_.tilesDown - 1 - i : i, scratch_[static_cast<size_t>(worker)]);
      }
    });
  }

  GuidedPlan plan_;
  Workers& workers_;
  GuidedSweep first_, last_;
  HugePages memory_;
  std::unique_ptr<GuidedScratch[]> scratch_;
  uint8_t* outside_ = nullptr;
  uint8_t* penalties_ = nullptr;
  uint8_t* blocks_ = nullptr;
  GuidedFrame frame_;
};

/// Chooses the blocks of one tile from their votes.
class BlockChoice {
 public:
  explicit BlockChoice(const SgmParameters& p) : first_(p.minDisparity), num_(p.numDisparities) {}

  /// Votes for a disparity of the coarser level, or for nothing if it is invalid. Without branches: votes are
  /// unpredictable.
  template <int32_t kPart>
  void vote(int32_t coarse, int32_t weight) {
    const int32_t k = std::min(std::max(2 * coarse - first_, 0), num_ - 1);
    const int32_t pair = ((k - 2) >> 2) + 1;
    pairs_[kPart][coarse < 0 ? kNoPair : pair] += weight;
  }

  /// Writes the blocks in rising order and forgets the votes.
  void choose(uint8_t* blocks) {
    const int32_t count = blocksOf(num_);
    int32_t taken = 0;
    for (int32_t block = 0; block < count; ++block) {
      votes_[block + 1] = pairs_[0][block] + pairs_[0][block + 1] + pairs_[1][block] + pairs_[1][block + 1];
      candidates_[voted_] = block;
      voted_ += votes_[block + 1] != 0 ? 1 : 0;
    }
    if (voted_ == 0) take(0, taken, count);
    if (voted_ <= kGuidedBlocks) {
      for (int32_t i = 0; i < voted_; ++i) take(candidates_[i], taken, count);
    } else {
      // A larger key has more votes, or as many and a lower number.
      uint32_t keys[kMaxBlocks];
      for (int32_t i = 0; i < voted_; ++i)
        keys[i] = static_cast<uint32_t>(votes_[candidates_[i] + 1]) << 8 | static_cast<uint32_t>(255 - candidates_[i]);
      for (int32_t n = 0; n < kGuidedBlocks; ++n) {
        uint32_t best = 0;
        for (int32_t i = 0; i < voted_; ++i) best = keys[i] > best ? keys[i] : best;
        for (int32_t i = 0; i < voted_; ++i) keys[i] = keys[i] == best ? 0 : keys[i];
        take(255 - static_cast<int32_t>(best & 255), taken, count);
      }
    }
    while (taken < kGuidedBlocks) {
      int32_t best = 0;
      for (int32_t i = 0; i < besideCount_; ++i) {
        const uint32_t key =
            static_cast<uint32_t>(worth_[beside_[i] + 1]) << 8 | static_cast<uint32_t>(255 - beside_[i]);
        if (!isTaken(beside_[i])) best = std::max(best, static_cast<int32_t>(key));
      }
      take(255 - (best & 255), taken, count);
    }
    for (int32_t i = 0; i < besideCount_; ++i) worth_[beside_[i] + 1] = 0;
    for (auto& pairs : pairs_) std::memset(pairs, 0, static_cast<size_t>(count + 1) * sizeof *pairs);
    besideCount_ = voted_ = 0;
    for (uint64_t& word : taken_) {
      for (; word != 0; word &= word - 1)
        *blocks++ = static_cast<uint8_t>(64 * (&word - taken_) + __builtin_ctzll(word));
    }
  }

 private:
  static constexpr int32_t kMaxBlocks = kMaxNumDisparities / kBlockDisparities;

  static constexpr int32_t kNoPair = kMaxBlocks + 1;

  bool isTaken(int32_t block) const { return (taken_[block / 64] >> (block % 64) & 1) != 0; }
  void take(int32_t block, int32_t& taken, int32_t count) {
    taken_[block / 64] |= uint64_t{1} << (block % 64);
    ++taken;
    for (const int32_t beside : {block - 1, block + 1}) {
      if (beside < 0 || beside >= count) continue;
      if (worth_[beside + 1] == 0) beside_[besideCount_++] = beside;
      worth_[beside + 1] += 1 + votes_[block + 1];
    }
  }

  int32_t first_, num_, voted_ = 0, besideCount_ = 0;
  int32_t candidates_[kMaxBlocks + 1];  ///< blocks with votes
  int32_t beside_[2 * kGuidedBlocks];   ///< neighbours of taken blocks
  /// Votes for the blocks i - 1 and i, in two parts: adding to one place twice in a row is slow.
  int32_t pairs_[2][kMaxBlocks + 2] = {};
  int32_t votes_[kMaxBlocks + 2] = {};    ///< by block + 1
  int32_t worth_[kMaxBlocks + 2] = {};    ///< by block + 1: 1 + votes of the taken neighbours
  uint64_t taken_[kMaxBlocks / 64] = {};  ///< a bit each
};

}  // namespace

Status checkGuidedParameters(const SgmParameters& p) {
  if (const Status status = checkSgmParameters(p); !status.ok()) return status;
  if (p.paths > 4)
    return Status::error(Code::kParameter, "Expected 2 or 4 paths for coarse-to-fine search, got %d.", p.paths);
  if (p.p2 > kMaxGuidedP2) {
    return Status::error(Code::kParameter, "Expected p2 of at most %d for coarse-to-fine search, got %d.", kMaxGuidedP2,
                         p.p2);
  }
  return {};
}

void chooseBlocks(const SgmParameters& p, int32_t width, int32_t height, const CoarseVotes& coarse, uint8_t* blocks,
                  int32_t first, int32_t end) {
  BlockChoice choice(p);
  const int32_t tiles = tilesAlong(width);
  const int32_t lastX = coarse.winner.width - 1, lastY = coarse.winner.height - 1;
  for (int32_t j = first; j < end; ++j) {
    const int32_t y0 = std::max(4 * j - 1, 0), y1 = std::min((std::min(height, 8 * j + 8) - 1) / 2 + 1, lastY);
    for (int32_t i = 0; i < tiles; ++i) {
      const int32_t x0 = std::max(4 * i - 1, 0), x1 = std::min((std::min(width, 8 * i + 8) - 1) / 2 + 1, lastX);
      for (int32_t y = y0; y <= y1; ++y) {
        const int16_t* winner = coarse.winner.row(y);
        const int16_t* second = coarse.second.row(y);
        for (int32_t x = x0; x <= x1; ++x) {
          if (((x - x0) & 1) == 0) choice.vote<0>(winner[x], 2);
          else choice.vote<1>(winner[x], 2);
          choice.vote<0>(second[x], 1);
        }
      }
      choice.choose(blocks + (static_cast<size_t>(j) * tiles + i) * kGuidedBlocks);
    }
  }
}

Status GuidedSgm::open(const SgmParameters& parameters, int32_t width, int32_t height, bool coarse, InstructionSet set,
                       Workers& workers, GuidedSgm** opened) {
  if (const Status status = checkGuidedParameters(parameters); !status.ok()) return status;
  auto sgm = std::make_unique<TiledSgm>(makeGuidedPlan(parameters, width, height, coarse),
                                        kernelsFor<GuidedKernels>(set), workers);
  if (!sgm->allocate()) {
    return Status::error(Code::kFailed, "Expected memory for matching %d x %d x %d coarse to fine, got none.", width,
                         height, parameters.numDisparities);
  }
  *opened = sgm.release();
  return {};
}

}  // namespace depthwatt
