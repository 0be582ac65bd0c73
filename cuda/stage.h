// SPDX-License-Identifier: Apache-2.0
// The contract of a stage: one step from captured images to published depth. A stage is a folder with the same files everywhere
// and a line in stages.h. chain.h gives it its images. Plain C++14: nvcc reads it too. For a stage x:
//
//   x.stage.cc   const StageFacts& xFacts();
//                Status openXOnCpu(const StageTask&, const CpuContext&, std::unique_ptr<CpuStage>*);
//   x.stage.cu   namespace gpu: Status openXOnGpu(const StageTask&, std::unique_ptr<GpuStage>*);  see device/gpu_stage.h.
//                Missing: the CUDA backend rejects settings with this stage on, and "auto" uses the CPU.
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

struct Voxel;

/// The images that a stage may write, as bits of StageFacts::writes and StageFacts::inPlace.
enum StageOutput : uint32_t {
  kWritesOther = 0,  ///< grey, colours, limits, results other than the disparity and its confidence
  kWritesDisparity = 1,
  kWritesConfidence = 2,
};

/// The images that a stage's disparity belongs to: the matched ones (half size at half resolution), the matched window
/// of the rectified images, or the whole rectified images.
enum class Scale { kMatched, kWindow, kWhole };

struct StageFacts {
  const char* name = "";  ///< as in stages.h
  const Setting* settings = nullptr;
  int32_t settingCount = 0;
  uint32_t writes = kWritesOther;
  uint32_t inPlace = 0;        ///< outputs of `writes` that it changes in place; the others go to other memory
  bool clobbersInput = false;  ///< it overwrites its input, also for outputs that are not in place
  bool remembers = false;      ///< the result depends on earlier frames, so frames are computed in order
  Scale reads = Scale::kMatched, leaves = Scale::kMatched;  ///< the images of its disparity, before and after
  /// Returns whether the stage runs. Null: always.
  bool (*isOn)(const EngineParameters& p) = nullptr;
  /// Checks rules between settings: kParameter naming settings, or ok. Null: none.
  Status (*check)(const EngineParameters& p) = nullptr;
  /// Returns how often this stage and its neighbours with the same function run in turn. Null: once.
  int32_t (*rounds)(const EngineParameters& p) = nullptr;
  /// The distance from a pixel within which the result of one run depends on the input, in pixels of the matched
  /// images.
  int32_t reach = 0;

  template <size_t n>
  void has(const Setting (&list)[n]) {
    settings = list;
    settingCount = static_cast<int32_t>(n);
  }
};

/// The parameters of an opened stage.
struct StageTask {
  const EngineParameters& frame;
  Region window;                  ///< the part of the rectified images that is matched
  int32_t width = 0, height = 0;  ///< size of the matched images: the window's, or half of it
  MatchSearch search;             ///< in pixels of the matched images

  /// Returns a setting's stored value, in pixels of the matched images.
  int32_t at(const char* key) const {
    const int32_t value = frame.at(key);
    if (!frame.halfResolution || value == kNoSuchSetting) return value;
    switch (findSetting(key)->atHalf) {
      case AtHalf::kLength: return (value + 1) / 2;
      case AtHalf::kArea: return ((value + 1) / 2 + 1) / 2;
      case AtHalf::kSame: break;
    }
    return value;
  }

 private:
  const Setting* findSetting(const char* key) const {
    for (int stage = 0; stage < kStageCount; ++stage) {
      const StageFacts& facts = *frame.settings.stages[stage];
      for (int32_t i = 0; i < facts.settingCount; ++i) {
        if (std::strcmp(facts.settings[i].key, key) == 0) return &facts.settings[i];
      }
    }
    return nullptr;
  }
};

/// A rectified pair: 0 left, 1 right. Colours are empty (data = null) if no stage reads them.
struct StereoImages {
  ImageView<uint8_t> grey[2];
  ImageView<Rgb8> rgb[2];
};

/// A result encoded for the wire; data is null if it is not requested.
struct EncodedBody {
  uint8_t* data = nullptr;
  uint32_t* bytes = nullptr;
};

/// The images of one run of a stage, in host or device memory. Device rows are packed.
struct StageImages {
  const uint8_t* captured[2] = {};
  StereoImages whole, window, matched;  ///< the rectified pair; its part that is matched; the images that are matched
  ImageView<uint8_t> denoisedGrey[2];   ///< matched.grey, or its denoised version
  ImageView<uint8_t> matcherGrey[2];    ///< what the matcher compares: denoisedGrey, or the average over time
  ImageView<uint8_t> limit;             ///< the largest confidence allowed, per block (blocks.h)
  ImageView<int16_t> disparityIn, disparityOut;  ///< 1/16 px; the same memory where the stage works in place
  ImageView<uint8_t> confidenceIn, confidenceOut;
  ImageView<uint16_t> depthMillimetres;
  uint8_t* points = nullptr;
  Voxel* voxels = nullptr;
  ImageView<uint16_t> registered;  ///< depth in another camera's image, millimetres
  ImageView<uint8_t> registeredConfidence;
  double* floor = nullptr;     ///< [kFloorNumbers]
  uint8_t* grid = nullptr;     ///< [gridCells]
  int32_t* dropped = nullptr;  ///< [kDropCauses] pixels that the threshold dropped
  EncodedBody depthBody, disparityBody;
};

/// The resources of CPU stages.
struct CpuContext {
  InstructionSet instructionSet;
  Workers& workers;
};

/// An opened CPU stage. It allocates everything when it is opened; run() allocates nothing.
class CpuStage {
 public:
  virtual ~CpuStage() = default;
  virtual Status run(const StageImages& images) = 0;
  /// Applies an adaptation from the next frame on. leftMap and rightMap replace the maps given at open; null restores
  /// those. Call between frames only.
  virtual void adapt(const Adaptation&, const int32_t* leftMap, const int32_t* rightMap) {
    (void)leftMap, (void)rightMap;
  }
  /// Clears the stage's memory of earlier frames. Call between frames only.
  virtual void forget() {}
  /// Returns false if the adaptation makes the stage unnecessary: frames then skip it.
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

/// A stage whose rows are independent: rows(images, first, end) computes rows [first, end).
template <class Rows>
std::unique_ptr<CpuStage> rowsStage(const CpuContext& cpu, int32_t height, Rows rows) {
  return std::unique_ptr<CpuStage>(new detail::RowsStage<Rows>(cpu.workers, height, std::move(rows)));
}

}  // namespace depthwatt
