// SPDX-License-Identifier: Apache-2.0
// The matcher sgm on the CPU: the census of both images, match/sgm, then the left-right check.
#include "../../../core/workers.h"
#include "../../refine/left_right/left_right.h"
#include "../../prepare/half/half.h"
#include "../../simd/kernels.h"
#include "../cost/census/census.h"
#include "../cost/gradient_census/gradient_census.h"
#include "../cost/two_gradient_census/two_gradient_census.h"
#include "../cost/wide_census/wide_census.h"
#include "../mirror.h"
#include "sgm.h"
#include "sgm_task.h"

namespace depthwatt {
namespace {

constexpr Setting kParameters[] = {
    word(
        "cost", "twoGradientCensus gradientCensus census wideCensus",
        "Pixel description to compare. twoGradientCensus: 8 neighbours and both gradients; gradientCensus: 5x5 census and horizontal gradient; census: the paper's 9x7 census; wideCensus: 62 bits, most accurate and slowest."),
    oneOf("paths", "2 4 8", 4, "", "Directions of aggregation. More give smoother results and take more time."),
    wholeNumber("p1", 1, kMaxP2, 10, "cost",
                "Penalty of a disparity step of one pixel, at most p2. Raise it for smoother slanted surfaces."),
    wholeNumber(
        "p2", 1, kMaxP2, 24, "cost",
        "Penalty of a larger disparity step. Raise it for smoother surfaces, lower it to keep small objects. Above 127 the CPU is slower."),
    wholeNumber(
        "adaptiveP2", 0, 255, 2, "",
        "Lowers p2 at grey edges, to max(p1, p2 - (adaptiveP2 x grey difference) / 16). Raise it for sharper object edges. 0: off."),
    wholeNumber(
        "uniqueness", 0, 99, 0, "%",
        "How much higher the cost of every other disparity must be; otherwise the pixel is invalid. Raise it to drop ambiguous pixels. 0: off."),
    wholeNumber(
        "outsideCost", 0, kNeverOutside, 6, "cost",
        "Cost of a disparity that points outside the right image. If it wins, the pixel becomes a hole. 63: it never wins."),
    word(
        "rightView", "diagonal own",
        "Right-image match for the left-right check. diagonal: read from the left image's costs; own: a separate match, more accurate at about twice the time."),
    word(
        "search", "full coarseToFine auto",
        "Disparities to compare at each pixel. full: all of them; coarseToFine: those near a match at half the size, for ranges above 64; auto: coarseToFine where it is measured to be faster."),
    flag("subpixel", true, "Interpolates the disparity to 1/16 px. Turn it off for whole pixels."),
};

constexpr QualityStep kSteps[] = {{"paths", 4}, {"paths", 2}};

BrokenRule check(const MatcherChoice& choice, const MatchSearch& search, bool halfResolution) {
  if (choice.at("p1") > choice.at("p2")) {
    return BrokenRule::of({"match.sgm.p1", "match.sgm.p2"}, "expected at most match.sgm.p2, which is %d, got %d",
                          choice.at("p2"), choice.at("p1"));
  }
  if (choice.at("search") == kCoarseToFine && choice.at("paths") > 4) {
    return BrokenRule::of({"match.sgm.paths", "match.sgm.search"},
                          "expected 2 or 4 with match.sgm.search coarseToFine, got %d", choice.at("paths"));
  }
  if (choice.at("search") == kCoarseToFine && choice.at("p2") > kMaxGuidedP2) {
    return BrokenRule::of({"match.sgm.p2", "match.sgm.search"},
                          "expected at most %d with match.sgm.search coarseToFine, got %d", kMaxGuidedP2,
                          choice.at("p2"));
  }
  // Half of the search must still have 8 disparities of the half images.
  if (halfResolution && search.numDisparities < 2 * kMinNumDisparities) {
    return BrokenRule::of({"match.numDisparities", "match.halfResolution"},
                          "expected %d to %d with match.halfResolution, got %d", 2 * kMinNumDisparities,
                          kMaxNumDisparities, search.numDisparities);
  }
  return {};
}

constexpr MatcherFacts kFacts = {
    "sgm",
    "semi-global matching",
    ImagesNeeded::kGrey,
    false,
    kParameters,
    sizeof kParameters / sizeof *kParameters,
    // Half resolution with 4 paths costs less than full resolution with 2, and is better on KITTI.
    {kSteps, sizeof kSteps / sizeof *kSteps, 1, "paths", 0},
    check,
    false,
    nullptr,
    chooseSgmSearch};

/// Computes the census of both images of a pair and owns its memory.
class CensusPair {
 public:
  CensusPair(MatchingCost cost, int32_t width, int32_t height, InstructionSet set, Workers& workers)
      : width_(width), height_(height), workers_(workers), wide_(cost == MatchingCost::kWideCensus),
        census_(chooseCensus(cost, set)), wideCensus_(kernelsFor<WideCensusKernels>(set).wideCensus) {
    const size_t pixels = static_cast<size_t>(width) * height;
    for (int side = 0; side < 2; ++side) {
      words_[side].resize(pixels);
      if (wide_) more_[side].resize(pixels);
    }
  }

  /// Returns the images for sgm. They stay valid until the next call.
  SgmImages compute(ImageView<const uint8_t> left, ImageView<const uint8_t> right) {
    const ImageView<const uint8_t> images[2] = {left, right};
    workers_.rows(height_, [&](int32_t first, int32_t end) {
      for (int side = 0; side < 2; ++side) {
        if (wide_) wideCensus_(images[side], view(words_[side]), view(more_[side]), first, end);
        else census_(images[side], view(words_[side]), first, end);
      }
    });
    return {view(words_[0]).asConst(), view(words_[1]).asConst(), left, view(more_[0]).asConst(),
            view(more_[1]).asConst()};
  }

  size_t bytes() const {
    return (words_[0].size() + words_[1].size() + more_[0].size() + more_[1].size()) * sizeof(uint32_t);
  }

 private:
  static CensusRows<uint8_t> chooseCensus(MatchingCost cost, InstructionSet set) {
    switch (cost) {
      case MatchingCost::kTwoGradientCensus: return kernelsFor<TwoGradientCensusKernels>(set).twoGradientCensus;
      case MatchingCost::kGradientCensus: return kernelsFor<GradientCensusKernels>(set).gradientCensus;
      case MatchingCost::kWideCensus:  // of two words
      case MatchingCost::kCensus: break;
    }
    return kernelsFor<CensusKernels>(set).census8;
  }
  ImageView<uint32_t> view(std::vector<uint32_t>& image) const { return packedView(image.data(), width_, height_); }

  const int32_t width_, height_;
  Workers& workers_;
  const bool wide_;
  const CensusRows<uint8_t> census_;
  const WideCensusRows wideCensus_;
  std::vector<uint32_t> words_[2], more_[2];
};

/// Returns whether a range is too large to be searched completely.
inline bool hasCoarserLevel(const SgmParameters& parameters) { return parameters.numDisparities > kFullRange; }

/// All levels of coarse-to-fine search. It allocates its memory at open.
class CoarseToFine {
 public:
  CoarseToFine(InstructionSet set, Workers& workers)
      : set_(set), workers_(workers), half_(kernelsFor<HalfKernels>(set).half) {}

  /// @param parameters of the finest level, which has a coarser one
  Status open(SgmParameters parameters, MatchingCost cost, int32_t width, int32_t height) {
    for (bool coarse = false;; coarse = true) {
      levels_.push_back(std::make_unique<Level>(parameters, cost, width, height, coarse, set_, workers_));
      GuidedSgm* opened = nullptr;
      const Status status = GuidedSgm::open(parameters, width, height, coarse, set_, workers_, &opened);
      levels_.back()->search.reset(opened);
      if (!status.ok() || !hasCoarserLevel(parameters)) return status;
      parameters = coarserParameters(parameters);
      width = halfSide(width);
      height = halfSide(height);
    }
  }

  void compute(ImageView<const uint8_t> left, ImageView<const uint8_t> right, const SgmResult& result) {
    levels_[0]->grey[0] = left;
    levels_[0]->grey[1] = right;
    for (size_t i = 1; i < levels_.size(); ++i) {
      const Level& finer = *levels_[i - 1];
      Level& level = *levels_[i];
      workers_.rows(level.height, [&](int32_t first, int32_t end) {
        for (int side = 0; side < 2; ++side) half_(finer.grey[side], level.own(side), first, end);
      });
    }
    for (size_t i = levels_.size(); i-- > 0;) {
      Level& level = *levels_[i];
      const SgmImages images = level.census.compute(level.grey[0], level.grey[1]);
      if (i + 1 < levels_.size()) {
        const CoarseVotes votes = levels_[i + 1]->votes();
        workers_.rows(tilesAlong(level.height), [&](int32_t first, int32_t end) {
          chooseBlocks(level.parameters, level.width, level.height, votes, level.search->blocks(), first, end);
        });
      }
      if (i > 0) level.search->compute(images, level.votes());
      else level.search->compute(images, result);
    }
  }

  size_t workspaceBytes() const {
    size_t bytes = 0;
    for (const auto& level : levels_) {
      bytes += level->census.bytes() + level->halves[0].size() + level->halves[1].size() +
               (level->winner.size() + level->second.size()) * sizeof(int16_t) + level->search->workspaceBytes();
    }
    return bytes;
  }

 private:
  struct Level {
    Level(const SgmParameters& p, MatchingCost cost, int32_t w, int32_t h, bool coarse, InstructionSet set,
          Workers& workers)
        : parameters(p), width(w), height(h), census(cost, w, h, set, workers) {
      const size_t pixels = coarse ? static_cast<size_t>(w) * h : 0;
      for (int side = 0; side < 2; ++side) {
        halves[side].resize(pixels);
        grey[side] = own(side).asConst();
      }
      winner.resize(pixels);
      second.resize(pixels);
    }
    ImageView<uint8_t> own(int side) { return packedView(halves[side].data(), width, height); }
    CoarseVotes votes() { return {packedView(winner.data(), width, height), packedView(second.data(), width, height)}; }

    const SgmParameters parameters;
    const int32_t width, height;
    CensusPair census;
    ImageView<const uint8_t> grey[2];
    std::vector<uint8_t> halves[2];       ///< coarse levels only
    std::vector<int16_t> winner, second;  ///< coarse levels only
    std::unique_ptr<GuidedSgm> search;
  };

  const InstructionSet set_;
  Workers& workers_;
  const HalfRows half_;
  std::vector<std::unique_ptr<Level>> levels_;  ///< the finest first
};

class SgmOnCpu final : public CpuMatcher {
 public:
  SgmOnCpu(const MatchTask& task, InstructionSet set, Workers& workers)
      : task_(task), set_(set), workers_(workers), leftRight_(kernelsFor<LeftRightKernels>(set).leftRight) {
    const size_t pixels = static_cast<size_t>(task.width) * task.height;
    disparity_.resize(pixels);
    if (task.leftRight) rightDisparity_.resize(pixels);
    for (std::vector<uint8_t>& image : mirrored_) image.resize(hasOwnRightView(task) ? pixels : 0);
  }

  Status open() {
    const SgmParameters parameters = sgmParametersFrom(task_);
    const MatchingCost cost = matchingCostFrom(task_);
    if (searchesCoarseToFine(task_) && hasCoarserLevel(parameters)) {
      coarseToFine_ = std::make_unique<CoarseToFine>(set_, workers_);
      return coarseToFine_->open(parameters, cost, task_.width, task_.height);
    }
    census_ = std::make_unique<CensusPair>(cost, task_.width, task_.height, set_, workers_);
    Sgm* opened = nullptr;
    const Status status = Sgm::open(parameters, task_.width, task_.height, set_, workers_, &opened);
    sgm_.reset(opened);
    return status;
  }

  void compute(const MatcherImages& images, const MatcherResult& result) override {
    const bool own = hasOwnRightView(task_);
    if (own) matchFromRight(images, result);
    const ImageView<int16_t> rightView = task_.leftRight ? view(rightDisparity_) : ImageView<int16_t>{};
    winners(images.left, images.right,
            {result.disparityQ4, view(disparity_), own ? ImageView<int16_t>{} : rightView, result.confidence});
    if (!task_.leftRight) return;
    const LeftRightImages check{view(disparity_).asConst(), rightView.asConst(), result.disparityQ4, result.confidence};
    workers_.rows(task_.height, [&](int32_t first, int32_t end) { leftRight_(check, first, end); });
  }

  size_t workspaceBytes() const override {
    return mirrored_[0].size() + mirrored_[1].size() + (disparity_.size() + rightDisparity_.size()) * sizeof(int16_t) +
           (coarseToFine_ ? coarseToFine_->workspaceBytes() : census_->bytes() + sgm_->workspaceBytes());
  }

 private:
  void winners(ImageView<const uint8_t> left, ImageView<const uint8_t> right, const SgmResult& result) {
    if (coarseToFine_) coarseToFine_->compute(left, right, result);
    else sgm_->compute(census_->compute(left, right), result);
  }

  /// Matches the right view as the left one of the mirrored pair. The left view overwrites the result's images
  /// afterwards.
  void matchFromRight(const MatcherImages& images, const MatcherResult& result) {
    const ImageView<uint8_t> left = view(mirrored_[0]), right = view(mirrored_[1]);
    workers_.rows(task_.height, [&](int32_t first, int32_t end) {
      mirrorColumns(images.right, left, first, end);
      mirrorColumns(images.left, right, first, end);
    });
    winners(left.asConst(), right.asConst(), {result.disparityQ4, view(disparity_), {}, result.confidence});
    workers_.rows(task_.height, [&](int32_t first, int32_t end) {
      mirrorColumns(view(disparity_).asConst(), view(rightDisparity_), first, end);
    });
  }

  template <class T>
  ImageView<T> view(std::vector<T>& image) const {
    return packedView(image.data(), task_.width, task_.height);
  }

  const MatchTask task_;
  const InstructionSet set_;
  Workers& workers_;
  const LeftRightRows leftRight_;
  std::vector<int16_t> disparity_, rightDisparity_;
  std::vector<uint8_t> mirrored_[2];            ///< with rightView own
  std::unique_ptr<CoarseToFine> coarseToFine_;  ///< or the two below
  std::unique_ptr<CensusPair> census_;
  std::unique_ptr<Sgm> sgm_;
};

}  // namespace

const MatcherFacts& sgmFacts() { return kFacts; }

Status openSgmOnCpu(const MatchTask& task, InstructionSet set, Workers& workers, std::unique_ptr<CpuMatcher>* opened) {
  std::unique_ptr<SgmOnCpu> sgm(new SgmOnCpu(task, set, workers));
  const Status status = sgm->open();
  if (status.ok()) *opened = std::move(sgm);
  return status;
}

}  // namespace depthwatt
