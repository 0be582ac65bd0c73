// SPDX-License-Identifier: Apache-2.0
// The contract of a stage: one step from captured images to published depth. A stage is a folder of the same shape everywhere, and
// a line in stages.h. chain.h gives it its images and decides where they lie. Plain C++14: nvcc reads it too. For a stage x:
//
//   x.stage.cc   const StageFacts& xFacts();
//                Status openXOnCpu(const StageTask&, const CpuContext&, std::unique_ptr<CpuStage>*);
//   x.stage.cu   namespace gpu: Status openXOnGpu(const StageTask&, std::unique_ptr<GpuStage>*);  see device/gpu_stage.h.
//                Absent: the CUDA backend refuses settings with this stage on, and "auto" takes the CPU.
#pragma once

#include <cstring>
#include <memory>
#include <utility>

#include "../core/image.h"
#include "../core/status.h"
#include "../core/workers.h"
#include "frame.h"
#include "setting.h"

namespace depthwatt {

/// The images that a stage may write, as bits of StageFacts::writes and StageFacts::inPlace.
enum StageOutput : uint32_t {
  kWritesOther = 0,  ///< grey, colours, limits, results other than the disparity and its confidence
  kWritesDisparity = 1,
  kWritesConfidence = 2,
};

/// The images whose disparity a stage reads: those that are matched (half size at half resolution), the window of the rectified
/// images that is matched, or the whole rectified images.
enum class Scale { kMatched, kWindow, kWhole };

struct StageFacts {
  const char* name = "";  ///< as in stages.h
  const Setting* settings = nullptr;
  int32_t settingCount = 0;
  uint32_t writes = kWritesOther;
  uint32_t inPlace = 0;        ///< what of `writes` it changes where it stands; the rest goes to other memory
  bool clobbersInput = false;  ///< it uses its input's memory for what it writes apart
  bool remembers = false;      ///< the result depends on earlier frames, so frames are computed in order
  Scale reads = Scale::kMatched, leaves = Scale::kMatched;  ///< which images its disparity belongs to, before and after
  /// Whether the stage runs. Null: always.
  bool (*isOn)(const EngineParameters& p) = nullptr;
  /// What ranges alone cannot tell: kParameter naming settings, or ok. Null: nothing.
  Status (*check)(const EngineParameters& p) = nullptr;
  /// How often this stage and the neighbours with the same function run one after the other. Null: once.
  int32_t (*rounds)(const EngineParameters& p) = nullptr;
  /// How far from a pixel the result of one run depends on the input, pixels of the matched images.
  int32_t reach = 0;

  template <size_t n>
  void has(const Setting (&list)[n]) {
    settings = list;
    settingCount = static_cast<int32_t>(n);
  }
};

/// What a stage is opened for.
struct StageTask {
  const EngineParameters& frame;
  Region window;                  ///< the part of the rectified images that is matched
  int32_t width = 0, height = 0;  ///< of the images that are matched: the window's, or half of it
  MatchSearch search;             ///< in their pixels

  /// A setting's stored value, in pixels of the matched images.
  int32_t at(const char* key) const {
    const int32_t value = frame.at(key);
    if (!frame.halfResolution || value == kNoSuchSetting) return value;
    switch (settingOf(key)->atHalf) {
      case AtHalf::kLength: return (value + 1) / 2;
      case AtHalf::kArea: return ((value + 1) / 2 + 1) / 2;
      case AtHalf::kSame: break;
    }
    return value;
  }

 private:
  const Setting* settingOf(const char* key) const {
    for (int stage = 0; stage < kStageCount; ++stage) {
      const StageFacts& facts = *frame.settings.stages[stage];
      for (int32_t i = 0; i < facts.settingCount; ++i) {
        if (std::strcmp(facts.settings[i].key, key) == 0) return &facts.settings[i];
      }
    }
    return nullptr;
  }
};

/// A rectified pair: 0 left, 1 right. Colours are empty (data = null) where nobody reads them.
struct StereoImages {
  ImageView<uint8_t> grey[2];
  ImageView<Rgb8> rgb[2];
};

/// A result encoded for the wire; data is null where it is not asked for.
struct EncodedBody {
  uint8_t* data = nullptr;
  uint32_t* bytes = nullptr;
};

/// The images of one run of a stage, in host or device memory. On the device all rows are packed.
struct StageImages {
  const uint8_t* captured[2] = {};
  StereoImages whole, window, matched;  ///< the rectified pair; its part that is matched; the images that are matched
  ImageView<uint8_t> matcherGrey[2];    ///< what the matcher compares: matched.grey, or that denoised
  ImageView<uint8_t> limit;             ///< what a confidence may be at most, per block (refine/blocks.h)
  ImageView<int16_t> disparityIn, disparityOut;  ///< 1/16 px; the same memory where the stage works in place
  ImageView<uint8_t> confidenceIn, confidenceOut;
  ImageView<uint16_t> depthMillimetres;
  uint8_t* points = nullptr;
  int32_t* dropped = nullptr;  ///< [kDropCauses] pixels that the threshold dropped
  EncodedBody depthBody, disparityBody;
};

/// What stages on the CPU compute with.
struct CpuContext {
  InstructionSet instructionSet;
  Workers& workers;
};

/// An opened stage on the CPU. Everything is made when it is opened; run() allocates nothing.
class CpuStage {
 public:
  virtual ~CpuStage() = default;
  virtual Status run(const StageImages& images) = 0;
  /// From the next frame on. leftMap, rightMap: replace the maps it was opened with; null: as opened. Between frames only.
  virtual void adapt(const Adaptation&, const int32_t* leftMap, const int32_t* rightMap) {
    (void)leftMap, (void)rightMap;
  }
  /// Clears what the stage remembers of earlier frames. Called between frames only.
  virtual void forget() {}
  /// False while an adaptation makes the stage unnecessary: frames then skip it.
  virtual bool active() const { return true; }
  virtual size_t workspaceBytes() const { return 0; }
};

namespace detail {

template <class Rows>
class RowsStage final : public CpuStage {
 public:
  RowsStage(Workers& workers, int32_t height, Rows rows) : workers_(workers), height_(height), rows_(std::move(rows)) {}
  Status run(const StageImages& images) override {
    workers_.rows(height_, [&](int32_t first, int32_t end) { rows_(images, first, end); });
    return {};
  }

 private:
  Workers& workers_;
  const int32_t height_;
  const Rows rows_;
};

}  // namespace detail

/// A stage that computes rows [first, end) of its result by itself: rows(images, first, end).
template <class Rows>
std::unique_ptr<CpuStage> rowsStage(const CpuContext& cpu, int32_t height, Rows rows) {
  return std::unique_ptr<CpuStage>(new detail::RowsStage<Rows>(cpu.workers, height, std::move(rows)));
}

}  // namespace depthwatt
