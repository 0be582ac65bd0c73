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
  const int32_t wordCost = 32 * parameters.words;
  const int32_t largestCost = parameters.outsideMayWin() ? std::max(wordCost, parameters.outsideCost) : wordCost;
  plan.byteSums = parameters.paths * (largestCost + parameters.p2) < 255;
  plan.invalidSum = plan.byteSums ? 255 : 65535 >> kNumberBits;
  return plan;
}

class TiledSgm final : public GuidedSgm {
 public:
  TiledSgm(const GuidedPlan& plan, const GuidedKernels& kernels, Workers& workers) : plan_(plan), workers_(workers) {
    const bool two = plan.parameters.paths == 2;
    first_ = two ? nullptr : kernels.chooseGuidedSweep(plan, GuidedPass::kEdges);
    last_ = kernels.chooseGuidedSweep(plan, two ? GuidedPass::kTwoPaths : GuidedPass::kFourPaths);
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
    carver.take(frame_.edges, tiles * cells);
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
      carver.take(s.down, 9 * rowBytes);
      carver.take(s.line, tilesAcross * 2 * 8 * cells);
      carver.take(s.rows, 3 * 8 * cells);
      carver.take(s.field, static_cast<size_t>(plan_.fieldBytes));
      carver.take(s.tail, 8 * kWidestRegister);
      carver.take(s.picked, 5 * 8 * rowBytes);
      carver.take(s.rightBest, rowBytes);
    }
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

/// Chooses the blocks of tiles from the votes of the coarser level. A vote for a disparity counts for two blocks, pair - 1
/// and pair; votes are counted by pair. Votes are unpredictable, so that the inner loops have no branches.
class BlockChoice {
 public:
  static constexpr int32_t kTiles = 62;  ///< tiles side by side that are read together

  explicit BlockChoice(const SgmParameters& p)
      : first_(p.minDisparity), num_(p.numDisparities), count_(blocksOf(p.numDisparities)) {}

  /// Reads the votes of up to six coarse rows and the columns of up to kTiles tiles.
  void read(const CoarseVotes& coarse, int32_t y, int32_t endY, int32_t x, int32_t endX) {
    left_ = x;
    rows_ = endY - y;
    for (int32_t r = 0; r < rows_; ++r) {
      convert(coarse.winner.row(y + r) + x, endX - x, pairs_[r][0]);
      convert(coarse.second.row(y + r) + x, endX - x, pairs_[r][1]);
    }
  }

  /// Writes the blocks of a tile in rising order. @param first, end the coarse columns that vote, which are read
  void choose(int32_t first, int32_t end, uint8_t* blocks) {
    countVotes(first, end);
    uint64_t taken[kWords] = {};
    int32_t voted = 0;
    for (int32_t i = 0; i < count_; i += 64) {
      taken[i / 64] = votedMask(i);
      voted += __builtin_popcountll(taken[i / 64]);
    }
    if (voted == 0) taken[0] = 1, voted = 1;
    if (voted > kGuidedBlocks) keepBest(taken);
    else if (voted < kGuidedBlocks) addNeighbours(taken, voted);
    for (int32_t i = 0; i < kWords; ++i) {
      for (uint64_t word = taken[i]; word != 0; word &= word - 1)
        *blocks++ = static_cast<uint8_t>(64 * i + __builtin_ctzll(word));
    }
  }

 private:
  static constexpr int32_t kRows = 6, kMaxBlocks = kMaxNumDisparities / kBlockDisparities, kWords = kMaxBlocks / 64;
  static constexpr int32_t kNoPair = kMaxBlocks + 1, kTogether = 16;

  void convert(const int16_t* disparities, int32_t count, uint8_t* pairs) const {
    int32_t x = 0;
    for (; x + kTogether <= count; x += kTogether) convertSome(disparities + x, kTogether, pairs + x);
    if (x < count) convertSome(disparities + x, count - x, pairs + x);
  }
  void convertSome(const int16_t* disparities, int32_t count, uint8_t* pairs) const {
    using Words [[gnu::vector_size(kTogether * 2)]] = int16_t;
    using Pairs [[gnu::vector_size(kTogether)]] = uint8_t;
    Words coarse = {};
    std::memcpy(&coarse, disparities, static_cast<size_t>(count) * sizeof *disparities);
    const Words last = Words{} + static_cast<int16_t>(num_ - 1);
    const Words d = coarse + coarse - static_cast<int16_t>(first_), low = d & (d > 0);
    const Words within = low < last, k = (low & within) | (last & ~within), isVote = coarse >= 0;
    const Words pair = (((k + 2) >> 2) & isVote) | (~isVote & kNoPair);
    const Pairs narrow = __builtin_convertvector(pair, Pairs);
    std::memcpy(pairs, &narrow, sizeof narrow);
  }

  /// Counts the votes of each block, at most 216. Four tables, because adding to one place twice in a row is slow.
  void countVotes(int32_t first, int32_t end) {
    uint8_t counts[4][kMaxBlocks + 16];
    const int32_t used = (count_ + 15) / 16 * 16;
    for (auto& table : counts) std::memset(table, 0, static_cast<size_t>(used) + 1);
    for (int32_t y = 0; y < rows_; ++y) {
      const uint8_t *winner = pairs_[y][0] + first - left_, *second = pairs_[y][1] + first - left_;
      const auto add = [&](int32_t x) __attribute__((always_inline)) {
        ++counts[x & 1][winner[x]];
        ++counts[2 + (x & 1)][second[x]];
      };
      if (end - first == kRows) {
#pragma GCC unroll 6
        for (int32_t x = 0; x < kRows; ++x) add(x);
      } else {
        for (int32_t x = 0; x < end - first; ++x) add(x);
      }
    }
    for (int32_t b = 0; b < used; ++b) {
      const int32_t winners = counts[0][b] + counts[0][b + 1] + counts[1][b] + counts[1][b + 1];
      votes_[b] = static_cast<uint8_t>(2 * winners + counts[2][b] + counts[2][b + 1] + counts[3][b] + counts[3][b + 1]);
    }
    for (int32_t b = count_; b < used; ++b) votes_[b] = 0;
  }

  /// Returns a bit for each of 64 blocks from `from` on, set where the block has votes.
  uint64_t votedMask(int32_t from) const {
    uint64_t mask = 0;
    for (int32_t i = 0; i < 64 && from + i < count_; i += 8) {
      uint64_t bytes;
      std::memcpy(&bytes, votes_ + from + i, sizeof bytes);
      const uint64_t low = 0x7f7f7f7f7f7f7f7f;
      const uint64_t tops = (((bytes & low) + low) | bytes) & ~low;
      mask |= ((tops >> 7) * 0x0102040810204080) >> 56 << i;
    }
    return mask;
  }

  /// Keeps the blocks with most votes, of equal ones the lowest: those that fewer than kGuidedBlocks blocks precede.
  void keepBest(uint64_t (&taken)[kWords]) const {
    constexpr int32_t kKeys = 8;
    using Keys [[gnu::vector_size(kKeys * 2)]] = int16_t;
    int16_t keys[kMaxBlocks + kKeys];  // falling in the order of choice
    uint8_t numbers[kMaxBlocks];
    int32_t count = 0;
    for (int32_t i = 0; i < kWords; ++i) {
      for (uint64_t bits = taken[i]; bits != 0; bits &= bits - 1, ++count) {
        const int32_t b = 64 * i + __builtin_ctzll(bits);
        numbers[count] = static_cast<uint8_t>(b);
        keys[count] = static_cast<int16_t>((votes_[b] << 8 | (255 - b)) - 32768);
      }
      taken[i] = 0;
    }
    std::memset(keys + count, 0, sizeof(Keys));
    for (int32_t i = 0; i < count; i += kKeys) {
      Keys own, before = {};
      std::memcpy(&own, keys + i, sizeof own);
      for (int32_t k = 0; k < count; ++k) before -= keys[k] > own;
      for (int32_t k = 0; k < std::min(kKeys, count - i); ++k) {
        const int32_t b = numbers[i + k];
        taken[b / 64] |= static_cast<uint64_t>(before[k] < kGuidedBlocks) << (b % 64);
      }
    }
  }

  /// Adds neighbours of the taken blocks, those next to most votes first.
  void addNeighbours(uint64_t (&taken)[kWords], int32_t count) const {
    constexpr int32_t kPlaces = 2 * kGuidedBlocks;
    int32_t keys[kPlaces] = {}, used = 0;  // of neighbours that are not taken; 0: a free or a taken place
    uint8_t places[kMaxBlocks];            // of neighbours
    uint64_t adjacent[kWords] = {};        // blocks with a place
    const auto add = [&](int32_t b, int32_t worth) {
      if (b < 0 || b >= count_) return;
      const uint64_t bit = uint64_t{1} << (b % 64);
      if ((taken[b / 64] & bit) != 0) return;
      if ((adjacent[b / 64] & bit) == 0) {
        adjacent[b / 64] |= bit;
        places[b] = static_cast<uint8_t>(used);
        keys[used++] = 255 - b;
      }
      keys[places[b]] += worth << 8;
    };
    for (int32_t i = 0; i < kWords; ++i) {
      for (uint64_t bits = taken[i]; bits != 0; bits &= bits - 1) {
        const int32_t b = 64 * i + __builtin_ctzll(bits);
        add(b - 1, 1 + votes_[b]);
        add(b + 1, 1 + votes_[b]);
      }
    }
    for (; count < kGuidedBlocks; ++count) {
      int32_t best = 0;
      for (const int32_t key : keys) best = key > best ? key : best;
      const int32_t b = 255 - (best & 255);
      keys[places[b]] = 0;
      taken[b / 64] |= uint64_t{1} << (b % 64);
      add(b - 1, 1);
      add(b + 1, 1);
    }
  }

  int32_t first_, num_, count_, left_ = 0, rows_ = 0;
  uint8_t pairs_[kRows][2][4 * kTiles + kTogether];  ///< of winners and seconds
  uint8_t votes_[kMaxBlocks];
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
  blocks += static_cast<size_t>(first) * tiles * kGuidedBlocks;
  const auto endOf = [](int32_t tile, int32_t side, int32_t coarseSide) {
    return std::min((std::min(side, 8 * tile + 8) - 1) / 2 + 2, coarseSide);
  };
  const auto firstOf = [](int32_t tile) { return std::max(4 * tile - 1, 0); };
  for (int32_t j = first; j < end; ++j) {
    for (int32_t i = 0; i < tiles; ++i, blocks += kGuidedBlocks) {
      if (i % BlockChoice::kTiles == 0) {
        const int32_t last = std::min(i + BlockChoice::kTiles, tiles) - 1;
        choice.read(coarse, firstOf(j), endOf(j, height, coarse.winner.height), firstOf(i),
                    endOf(last, width, coarse.winner.width));
      }
      choice.choose(firstOf(i), endOf(i, width, coarse.winner.width), blocks);
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
