// SPDX-License-Identifier: Apache-2.0
// Exponential-step aggregation on CUDA; see exponential.h: the memory for one size and set of parameters, and the
// launches.
#include <memory>

#include "../../device/launch.cuh"
#include "exponential_first_round.cuh"
#include "exponential_prepare.cuh"
#include "exponential_winners.cuh"
#include "exponential_workspace.h"

namespace depthwatt {
namespace gpu {
namespace {

template <class Colour>
Status prepare(const Preparation<Colour>& preparation, const Shape& shape, const ExponentialParameters& p,
               const LaunchShape& pixels) {
  return launch("prepareKernel", p.slope > 0 ? prepareKernel<true, Colour> : prepareKernel<false, Colour>, pixels,
                preparation, shape, p);
}

}  // namespace

Status ExponentialWorkspace::open(const ExponentialParameters& parameters, int32_t width, int32_t height) {
  p_ = parameters;
  width_ = width;
  height_ = height;
  passes_.resize(2 * kMaxSteps);
  passes_.resize(static_cast<size_t>(exponentialPasses(p_, width, height, passes_.data())));
  const int32_t eights = (p_.numDisparities + kEight - 1) / kEight;
  int device = 0, multiprocessors = 1;
  DEPTHWATT_CUDA(cudaGetDevice(&device));
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const int32_t parts = (width + kMaxAcross - 1) / kMaxAcross;
  across_ = ((width + parts - 1) / parts + 31) / 32 * 32;
  rounds_.clear();
  for (size_t i = 0; i < passes_.size(); ++i) {
    const ExponentialPass& pass = passes_[i];
    if (pass.alongX || rounds_.empty() || rounds_.back().step != pass.step || rounds_.back().passY >= 0)
      rounds_.push_back({pass.step, -1, -1, 0, 0});
    (pass.alongX ? rounds_.back().passX : rounds_.back().passY) = static_cast<int32_t>(i);
  }
  for (ExponentialRound& round : rounds_) {
    const int32_t apart = round.passY >= 0 ? round.step : 1, chain = (height + apart - 1) / apart;
    // Choose the fewest rows per multiprocessor, with two blocks or more on each if there are enough. Each segment
    // averages one extra row along x at each end.
    int64_t least = -1;
    for (int32_t rows = 1; rows <= chain; ++rows) {
      const int32_t segments = (chain + rows - 1) / rows;
      const int64_t blocks = static_cast<int64_t>(parts) * eights * apart * segments;
      int64_t turns = (blocks + multiprocessors - 1) / multiprocessors;
      if (turns < 2) turns = 2;
      const int64_t work = turns * (2 * rows + (segments > 1 ? 2 : 0));
      if (least < 0 || work < least) least = work, round.segmentRows = rows, round.segments = segments;
    }
  }
  const size_t pixels = static_cast<size_t>(width) * height;
  DEPTHWATT_TRY(devicePasses_.allocate(passes_.size()));
  DEPTHWATT_TRY(weights_.allocate(passes_.size() * pixels));
  for (DeviceBuffer<uint4>& cells : cells_) DEPTHWATT_TRY(cells.allocate(static_cast<size_t>(eights) * pixels));
  if (p_.colourDistance == ColourDistance::kLab) {
    const std::unique_ptr<LabTables> tables(new LabTables);
    fillLabTables(tables.get());
    DEPTHWATT_TRY(lab_.allocate(pixels));
    DEPTHWATT_TRY(labTables_.allocate(1));
    DEPTHWATT_CUDA(cudaMemcpy(labTables_.get(), tables.get(), sizeof *tables, cudaMemcpyHostToDevice));
  }
  if (passes_.empty()) return {};
  return cudaStatus(cudaMemcpy(devicePasses_.get(), passes_.data(), devicePasses_.bytes(), cudaMemcpyHostToDevice),
                    "weights of colours");
}

Status ExponentialWorkspace::compute(const uint8_t* left, const uint8_t* right, const Rgb8* leftRgb,
                                     const ExponentialDeviceResult& result, cudaStream_t stream) {
  const Shape shape = {width_, height_, p_.numDisparities};
  const size_t pixels = static_cast<size_t>(width_) * height_;
  const dim3 block(kBlockX, kBlockY);
  const unsigned eights = static_cast<unsigned>((p_.numDisparities + kEight - 1) / kEight);
  const bool overlaps = waitsForKernelBefore(reinterpret_cast<const void*>(roundKernel<true, true>));
  const int passCount = static_cast<int>(passes_.size());
  LaunchShape pixelsShape = {dim3((width_ + kBlockX - 1) / kBlockX, (height_ + kBlockY - 1) / kBlockY), block, 0,
                             stream, overlaps};
  const bool makesCosts = p_.slope == 0 && p_.gradientCost == 0 && !rounds_.empty() && rounds_[0].step == 1 &&
                          rounds_[0].passX >= 0 && rounds_[0].passY >= 0;
  pixelsShape.grid.z = static_cast<unsigned>(partCount(passCount)) + (makesCosts ? 0 : p_.slope > 0 ? 1 : eights);
  if (lab_.get() == nullptr) {
    DEPTHWATT_TRY(prepare<Rgb8>({left, right, leftRgb, devicePasses_.get(), weights_.get(), cells_[0].get(), passCount},
                                shape, p_, pixelsShape));
  } else {
    const LaunchShape labShape = {dim3(static_cast<unsigned>((pixels + 127) / 128)), dim3(128), 0, stream, overlaps};
    DEPTHWATT_TRY(
        launch("labKernel", labKernel, labShape, leftRgb, labTables_.get(), lab_.get(), static_cast<int>(pixels)));
    DEPTHWATT_TRY(
        prepare<Lab>({left, right, lab_.get(), devicePasses_.get(), weights_.get(), cells_[0].get(), passCount}, shape,
                     p_, pixelsShape));
  }
  Round round = {cells_[0].get(), cells_[1].get(), nullptr, nullptr, 0, 0, shape};
  for (const ExponentialRound& one : rounds_) {
    const bool x = one.passX >= 0, y = one.passY >= 0;
    round.weightsX = x ? weights_.get() + one.passX * pixels : nullptr;
    round.weightsY = y ? weights_.get() + one.passY * pixels : nullptr;
    round.step = one.step, round.segmentRows = one.segmentRows;
    const dim3 parts((width_ + across_ - 1) / across_, (y ? one.step : 1) * one.segments, eights);
    const LaunchShape roundShape = {parts, dim3(across_), 0, stream, overlaps};
    if (makesCosts && &one == rounds_.data()) {
      const Costs costs = {left, right, p_.minDisparity, static_cast<float>(p_.truncation),
                           static_cast<float>(p_.cost)};
      DEPTHWATT_TRY(launch("firstRoundKernel", firstRoundKernel, roundShape, round, costs));
    } else {
      const auto kernel = x && y ? roundKernel<true, true> : x ? roundKernel<true, false> : roundKernel<false, true>;
      DEPTHWATT_TRY(launch("roundKernel", kernel, roundShape, round));
    }
    uint4* const next = const_cast<uint4*>(round.from);
    round.from = round.to, round.to = next;
  }
  pixelsShape.grid.z = 1;
  return launch("winnersKernel", winnersKernel, pixelsShape, round.from, result, shape, p_.minDisparity, p_.subpixel);
}

}  // namespace gpu
}  // namespace depthwatt
