// SPDX-License-Identifier: Apache-2.0
// Every buffer of the CPU backend, made at open, and the stages that work on them; see cpu_backend.h.
#include "cpu_backend.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "../output/bodies.h"
#include "../match/registry.h"
#include "../engine/match_scope.h"
#include "../refine/median/median.h"
#include "../refine/upscale/upscale.h"
#include "../stages.h"
#include "../simd/kernels.h"

namespace depthwatt {
namespace {

using Clock = std::chrono::steady_clock;

class CpuBackend final : public Backend, private Stages {
 public:
  CpuBackend(const EngineParameters& parameters, const Kernels& kernels, int threads)
      : p_(parameters), scope_(matchScopeOf(parameters)), kernels_(kernels), workers_(threads) {}

  Status open() {
    greyRight_.resize(static_cast<size_t>(p_.width) * p_.height);
    const size_t pixels = static_cast<size_t>(scope_.width) * scope_.height;
    certainty_.resize(pixels);
    if (!p_.measuresConfidence)
      limit_.resize(static_cast<size_t>(blockColumnsOf(scope_.width)) * blockRowsOf(scope_.height));
    if (p_.halfResolution) {
      for (std::vector<uint8_t>* image : {&halfLeft_, &halfRight_, &halfConfidence_}) image->resize(pixels);
      halfRefined_.resize(pixels);
    }
    if (p_.repetitions > 1) {
      keptDisparity_.resize(pixels);
      keptConfidence_.resize(pixels);
    }
    // Filling, boundary and median need their input apart from their result.
    if (fills() || p_.boundary || p_.median) matched_.resize(pixels);
    if (p_.boundary && p_.median) beforeMedian_.resize(pixels);
    if (furtherRounds() > 0) furtherRound_.resize(pixels);
    if (fills() && (p_.boundary || p_.median)) filled_.resize(pixels);
    if (p_.repair) {
      beforeRepair_.resize(pixels);
      sureBeforeRepair_.resize(pixels);
    }
    if (p_.speckle.minPixels > 0) speckleScratch_.resize(speckleScratchWords(scope_.width, scope_.height));
    if (p_.adaptation.denoise != Denoise::kOff) {
      for (std::vector<uint8_t>& image : guide_) image.resize(pixels);
      for (std::vector<uint8_t>& image : smooth_) image.resize(pixels);
    }
    for (int side = 0; side < 2; ++side) {
      if (!needsRgb(p_, side)) continue;
      if (side == 1 || !p_.leftRgb) rgb_[side].resize(static_cast<size_t>(p_.width) * p_.height);
      halfRgb_[side].resize(p_.halfResolution ? pixels : 0);
    }
    return openCpuMatcher(matchTaskOf(p_, scope_), kernels_, workers_, &matcher_);
  }

  Status run(int, const FrameInput& input, FrameOutput& output) override {
    input_ = input;
    output_ = &output;
    for (double& milliseconds : output.stageMilliseconds) milliseconds = std::nan("");
    const auto timed = [&](Stage which, auto&& run) {
      const Clock::time_point start = Clock::now();
      const Status status = run();
      output.stageMilliseconds[which] = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
      return status;
    };
    const Status status = forEachStage(p_, [&](Stage which, Status (Stages::*step)()) {
      return timed(which, [&] { return runStage(p_, *this, which, step); });
    });
    if (!status.ok() || !encodes(p_)) return status;
    return timed(kEncode, [&] {
      for (int32_t i = p_.repeatedStage == kEncode ? p_.repetitions : 1; i > 0; --i) encode();
      return Status();
    });
  }

  Status adapt(const Adaptation& adaptation, const int32_t* leftMap, const int32_t* rightMap) override {
    smoothRange_ = adaptation.smoothRange;
    movedMaps_[0] = leftMap;
    movedMaps_[1] = rightMap;
    // Of captured images the left map repeats a few outer rows; the others need none, and reading by one takes twenty times as long.
    capturedFrom_ = capturedEnd_ = 0;
    if (leftMap == nullptr || !p_.leftMap.empty()) return {};
    const auto asCaptured = [&](int32_t y) {
      const int32_t* row = leftMap + 2 * static_cast<size_t>(p_.width) * y;
      for (int32_t x = 0; x < p_.width; ++x) {
        if (row[2 * x] != 32 * x || row[2 * x + 1] != 32 * y) return false;
      }
      return true;
    };
    while (capturedFrom_ < p_.height && !asCaptured(capturedFrom_)) ++capturedFrom_;
    capturedEnd_ = capturedFrom_;
    while (capturedEnd_ < p_.height && asCaptured(capturedEnd_)) ++capturedEnd_;
    return {};
  }

  size_t workspaceBytes() const override {
    return greyRight_.size() + 2 * (guide_[0].size() + smooth_[0].size()) + halfLeft_.size() + halfRight_.size() +
           halfConfidence_.size() + certainty_.size() + limit_.size() + sureBeforeRepair_.size() +
           (rgb_[0].size() + rgb_[1].size() + halfRgb_[0].size() + halfRgb_[1].size()) * sizeof(Rgb8) +
           (matched_.size() + filled_.size() + beforeMedian_.size() + furtherRound_.size() + halfRefined_.size() +
            beforeRepair_.size()) *
               sizeof(int16_t) +
           speckleScratch_.size() * sizeof(int32_t) + (p_.leftMap.size() + p_.rightMap.size()) * sizeof(int32_t) +
           matcher_->workspaceBytes();
  }
  const char* instructionSet() const override { return nameOf(kernels_.instructionSet); }
  int threads() const override { return workers_.count(); }

 private:
  Status rectify() override {
    const RectifySource left{input_.left, p_.inputWidth, p_.inputHeight, p_.leftStrideBytes, p_.leftFormat};
    const RectifySource right{input_.right, p_.inputWidth, p_.inputHeight, p_.rightStrideBytes, p_.rightFormat};
    const int32_t *leftMap = mapOf(0, p_.leftMap), *rightMap = mapOf(1, p_.rightMap);
    const ImageView<uint8_t> leftGrey = whole(output_->left), rightGrey = whole(greyRight_.data());
    // Of the right image, and of colours for the matcher, nothing but the window's rows is looked at.
    const auto ofWindow = [&](int32_t first, int32_t end) {
      const int32_t from = std::min(std::max(first, scope_.window.y), end);
      return std::pair{from, std::max(from, std::min(end, scope_.window.y + scope_.window.height))};
    };
    const auto leftRows = [&](const int32_t* map, int32_t first, int32_t end) {
      if (p_.leftRgb) {
        withColours(left, map, leftGrey, whole(output_->leftRgb), first, end);
      } else if (needsRgb(p_, 0)) {
        const auto [from, to] = ofWindow(first, end);
        kernels_.rectify(left, map, leftGrey, first, from);
        withColours(left, map, leftGrey, whole(rgb_[0].data()), from, to);
        kernels_.rectify(left, map, leftGrey, to, end);
      } else {
        kernels_.rectify(left, map, leftGrey, first, end);
      }
    };
    workers_.rows(p_.height, [&](int32_t first, int32_t end) {
      const int32_t capturedFrom = std::min(std::max(first, capturedFrom_), end),
                    capturedEnd = std::min(std::max(first, capturedEnd_), end);
      leftRows(leftMap, first, capturedFrom);
      leftRows(nullptr, capturedFrom, capturedEnd);
      leftRows(leftMap, capturedEnd, end);
      const auto [from, to] = ofWindow(first, end);
      if (needsRgb(p_, 1)) withColours(right, rightMap, rightGrey, whole(rgb_[1].data()), from, to);
      else kernels_.rectify(right, rightMap, rightGrey, from, to);
    });
    return {};
  }

  const int32_t* mapOf(int side, const std::vector<int32_t>& opened) const {
    return movedMaps_[side] != nullptr ? movedMaps_[side] : opened.empty() ? nullptr : opened.data();
  }

  Status half() override {
    workers_.rows(scope_.height, [&](int32_t first, int32_t end) {
      kernels_.half(windowOf(output_->left).asConst(), view(halfLeft_.data()), first, end);
      kernels_.half(windowOf(greyRight_.data()).asConst(), view(halfRight_.data()), first, end);
      for (int side = 0; side < 2; ++side) {
        if (needsRgb(p_, side))
          kernels_.halfRgb(windowOf(rgbOf(side)).asConst(), view(halfRgb_[side].data()), first, end);
      }
    });
    return {};
  }

  Status match() override {
    if (smoothRange_ == 0) {
      matcher_->compute({left(), right(), rgb(0), rgb(1)}, {matched(), certainty()});
      return {};
    }
    const ImageView<uint8_t> smooth[2] = {view(smooth_[0].data()), view(smooth_[1].data())};
    const ImageView<uint8_t> guide[2] = {view(guide_[0].data()), view(guide_[1].data())};
    workers_.rows(scope_.height, [&](int32_t first, int32_t end) {
      kernels_.smooth(left(), guide[0], first, end);
      kernels_.smooth(right(), guide[1], first, end);
    });
    workers_.rows(scope_.height, [&](int32_t first, int32_t end) {
      kernels_.bilateral(left(), guide[0].asConst(), smoothRange_, smooth[0], first, end);
      kernels_.bilateral(right(), guide[1].asConst(), smoothRange_, smooth[1], first, end);
    });
    matcher_->compute({smooth[0].asConst(), smooth[1].asConst(), rgb(0), rgb(1)}, {matched(), certainty()});
    return {};
  }

  Status speckle() override {
    speckleFilter(scope_.speckle, matched(), certainty(), speckleScratch_.data(), workers_);
    return {};
  }

  Status confidence() override {
    const bool estimates = p_.matcher.facts->estimates;
    const int32_t columns = blockColumnsOf(scope_.width), rows = blockRowsOf(scope_.height);
    const ImageView<uint8_t> limit = packedView(limit_.data(), columns, rows);
    if (!p_.measuresConfidence) {
      workers_.rows(rows, [&](int32_t first, int32_t end) {
        kernels_.ambiguity({left(), right(), matched().asConst()}, limit, first, end);
      });
    }
    workers_.rows(scope_.height, [&](int32_t first, int32_t end) {
      const ImageView<const int16_t> disparities = matched().asConst();
      if (p_.measuresConfidence)
        kernels_.windowConfidence(p_.measure, {left(), right(), disparities, certainty().asConst(), estimates}, sure(),
                                  first, end);
      else
        kernels_.confidence(left(), disparities, certainty().asConst(), estimates, limit.asConst(), sure(), first, end);
    });
    if (p_.repair) repairOutliers();
    return {};
  }

  /// Each pass from a copy, because its pixels look at each other.
  void repairOutliers() {
    const ImageView<int16_t> disparities = view(beforeRepair_.data());
    const ImageView<uint8_t> sures = view(sureBeforeRepair_.data());
    for (int32_t pass = 0; pass < kRepairPasses; ++pass) {
      copyInPlace(matched(), sure(), disparities, sures);
      workers_.rows(scope_.height, [&](int32_t first, int32_t end) {
        kernels_.repair(pass == 1, {disparities.asConst(), sures.asConst()}, {matched(), sure()}, first, end);
      });
    }
  }

  Status fill() override {
    fillHoles(scope_.fill, left(), matched().asConst(), filled(), sure(), workers_);
    return {};
  }

  Status boundary() override {
    const ImageView<int16_t> result = p_.median ? view(beforeMedian_.data()) : refined();
    workers_.rows(scope_.height, [&](int32_t first, int32_t end) {
      kernels_.boundary(left(), beforeBoundary().asConst(), result, first, end);
    });
    return {};
  }

  Status median() override {
    const ImageView<const int16_t> input = (p_.boundary ? view(beforeMedian_.data()) : beforeBoundary()).asConst();
    workers_.rows(scope_.height, [&](int32_t first, int32_t end) { kernels_.median(input, refined(), first, end); });
    const ImageView<int16_t> edged = view(furtherRound_.data());
    for (int32_t round = 0; round < furtherRounds(); ++round) {
      workers_.rows(scope_.height, [&](int32_t first, int32_t end) {
        kernels_.boundary(left(), refined().asConst(), edged, first, end);
      });
      workers_.rows(scope_.height,
                    [&](int32_t first, int32_t end) { kernels_.median(edged.asConst(), refined(), first, end); });
    }
    return {};
  }

  Status upscale() override {
    workers_.rows(scope_.window.height, [&](int32_t first, int32_t end) {
      kernels_.upscale(p_.upscaleThresholdQ4, windowOf(output_->left).asConst(), view(halfRefined_.data()).asConst(),
                       windowOf(output_->disparityQ4), first, end);
      upscaleConfidence(view(halfConfidence_.data()).asConst(), windowOf(output_->confidence), first, end);
    });
    return {};
  }

  Status region() override {
    workers_.rows(p_.height, [&](int32_t first, int32_t end) {
      for (int32_t y = first; y < end; ++y) {
        const bool within = y >= p_.region.y && y < p_.region.y + p_.region.height;
        const int32_t from = within ? p_.region.x : p_.width, to = within ? p_.region.x + p_.region.width : p_.width;
        for (const auto& [begin, stop] : {std::pair{0, from}, std::pair{to, p_.width}}) {
          std::fill(whole(output_->disparityQ4).row(y) + begin, whole(output_->disparityQ4).row(y) + stop,
                    kInvalidDisparity);
          std::fill(whole(output_->confidence).row(y) + begin, whole(output_->confidence).row(y) + stop, uint8_t{0});
        }
      }
    });
    return {};
  }

  Status keepInput() override {
    return copyInPlace(matched(), certainty(), view(keptDisparity_.data()), view(keptConfidence_.data()));
  }
  Status restoreInput() override {
    return copyInPlace(view(keptDisparity_.data()), view(keptConfidence_.data()), matched(), certainty());
  }

  Status depth() override {
    workers_.rows(p_.height, [&](int32_t first, int32_t end) {
      kernels_.depthMillimetres(p_.geometry, whole(output_->disparityQ4).asConst(), whole(output_->depthMillimetres),
                                first, end);
    });
    return {};
  }

  /// Grey and colours; of a camera without colours its grey three times.
  void withColours(const RectifySource& source, const int32_t* map, ImageView<uint8_t> grey, ImageView<Rgb8> out,
                   int32_t first, int32_t end) const {
    if (hasColours(source.format)) return kernels_.rectifyRgb(source, map, out, grey, first, end);
    kernels_.rectify(source, map, grey, first, end);
    for (int32_t y = first; y < end; ++y) {
      for (int32_t x = 0; x < out.width; ++x) out.row(y)[x] = {grey.row(y)[x], grey.row(y)[x], grey.row(y)[x]};
    }
  }

  void encode() {
    // Two independent bodies: each is one thread's work.
    workers_.each([&](int worker) {
      if (worker == 0 && p_.encodeDepth != Encoding::kNone) encodeDepthBody(p_, *output_);
      if (worker == (workers_.count() > 1 ? 1 : 0) && p_.encodeDisparity != Encoding::kNone)
        encodeDisparityBody(p_, *output_);
    });
  }

  Status copyInPlace(ImageView<int16_t> fromDisparity, ImageView<uint8_t> fromConfidence, ImageView<int16_t> disparity,
                     ImageView<uint8_t> confidence) {
    workers_.rows(scope_.height, [&](int32_t first, int32_t end) {
      for (int32_t y = first; y < end; ++y) {
        std::copy_n(fromDisparity.row(y), scope_.width, disparity.row(y));
        std::copy_n(fromConfidence.row(y), scope_.width, confidence.row(y));
      }
    });
    return {};
  }

  /// Of the rectified images.
  template <class T>
  ImageView<T> whole(T* data) const {
    return packedView(data, p_.width, p_.height);
  }
  /// The part of them that is matched.
  template <class T>
  ImageView<T> windowOf(T* data) const {
    const ImageView<T> all = whole(data);
    return {all.row(scope_.window.y) + scope_.window.x, scope_.window.width, scope_.window.height, all.strideBytes};
  }
  /// Of a buffer for the images that are matched and refined: the window, or half of it.
  template <class T>
  ImageView<T> view(T* data) const {
    return packedView(data, scope_.width, scope_.height);
  }
  ImageView<const uint8_t> left() {
    return (p_.halfResolution ? view(halfLeft_.data()) : windowOf(output_->left)).asConst();
  }
  ImageView<const uint8_t> right() {
    return (p_.halfResolution ? view(halfRight_.data()) : windowOf(greyRight_.data())).asConst();
  }
  /// Of the rectified images: the left one may be a result.
  Rgb8* rgbOf(int side) { return side == 0 && p_.leftRgb ? output_->leftRgb : rgb_[side].data(); }
  ImageView<const Rgb8> rgb(int side) {
    if (!needsRgb(p_, side)) return {};
    return (p_.halfResolution ? view(halfRgb_[side].data()) : windowOf(rgbOf(side))).asConst();
  }
  /// What the matcher says of its disparities, and what comes of it.
  ImageView<uint8_t> certainty() { return view(certainty_.data()); }
  ImageView<uint8_t> sure() { return p_.halfResolution ? view(halfConfidence_.data()) : windowOf(output_->confidence); }

  /// Where the last stage before upscaling writes.
  ImageView<int16_t> refined() {
    return p_.halfResolution ? view(halfRefined_.data()) : windowOf(output_->disparityQ4);
  }
  /// Where the matcher writes, and the stages up to filling work in place.
  ImageView<int16_t> matched() { return matched_.empty() ? refined() : view(matched_.data()); }
  int32_t furtherRounds() const { return p_.boundary && p_.median ? p_.rounds - 1 : 0; }
  bool fills() const { return p_.fill.method != FillMethod::kOff; }
  ImageView<int16_t> filled() { return filled_.empty() ? refined() : view(filled_.data()); }
  ImageView<int16_t> beforeBoundary() { return fills() ? filled() : matched(); }

  const EngineParameters p_;
  const MatchScope scope_;
  const Kernels& kernels_;
  Workers workers_;
  std::vector<uint8_t> greyRight_, halfLeft_, halfRight_, halfConfidence_, keptConfidence_, certainty_;
  std::vector<Rgb8> rgb_[2], halfRgb_[2];  ///< only for a matcher that needs them
  std::vector<int16_t> matched_, filled_, beforeMedian_, furtherRound_, halfRefined_, keptDisparity_, beforeRepair_;
  std::vector<uint8_t> sureBeforeRepair_, limit_;
  std::vector<int32_t> speckleScratch_;
  std::unique_ptr<CpuMatcher> matcher_;
  std::vector<uint8_t> guide_[2], smooth_[2];   ///< only where noise may be filtered
  const int32_t* movedMaps_[2] = {};            ///< in place of those that were opened
  int32_t capturedFrom_ = 0, capturedEnd_ = 0;  ///< rows that the moved left map leaves as they were captured
  int32_t smoothRange_ = 0;
  FrameInput input_;
  FrameOutput* output_ = nullptr;
};

int threadsFor(int32_t asked) {
  const int online = static_cast<int>(std::thread::hardware_concurrency());
  return asked > 0 ? asked : (online > 0 ? online : 1);
}

}  // namespace

Status openCpuBackend(const EngineParameters& parameters, std::unique_ptr<Backend>* backend) {
  const Kernels* kernels = nullptr;
  Status status = chooseKernels(parameters.instructionSet.c_str(), &kernels);
  if (!status.ok()) return status;
  try {
    auto opened = std::make_unique<CpuBackend>(parameters, *kernels, threadsFor(parameters.threads));
    status = opened->open();
    if (status.ok()) *backend = std::move(opened);
    return status;
  } catch (const std::bad_alloc&) {
    return Status::error(Code::kMemoryExhausted,
                         "Expected enough memory for %dx%d with %d disparities, the allocation failed.",
                         parameters.width, parameters.height, parameters.search.numDisparities);
  } catch (const std::system_error& error) {
    return noThread(error);
  }
}

}  // namespace depthwatt
