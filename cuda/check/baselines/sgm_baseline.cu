// SPDX-License-Identifier: Apache-2.0
// Launches the forms of semi-global matching; see sgm_baseline.h.
#include "sgm_baseline.h"

#include "../../match/cost/census/census_gpu.h"
#include "linear_texture.h"
#include "sgm_baseline.cuh"

namespace depthwatt {
namespace gpu {
namespace baseline {
namespace {

/// The first 2, 4 or 8 are the path set; the last one of each set walks against the order of rows or columns.
constexpr Direction kDirections[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}};

using WalkKernel = void (*)(SgmArguments, Direction, int);
using SelectKernel = void (*)(SgmArguments);

template <Costs kCosts, bool kSelects, bool kSeven>
WalkKernel warpWalk(int padded) {
  switch (padded / kWarpDisparities) {
    case 1: return warpWalkKernel<1, kCosts, kSelects, kSeven>;
    case 2: return warpWalkKernel<2, kCosts, kSelects, kSeven>;
    case 3: return warpWalkKernel<3, kCosts, kSelects, kSeven>;
    default: return warpWalkKernel<4, kCosts, kSelects, kSeven>;
  }
}

/// Returns the kernel of one path of a form in which a warp walks a slice.
WalkKernel warpWalkFor(SgmForm form, int path, bool last, int padded) {
  const bool alongRows = kDirections[path].y == 0;
  switch (form) {
    case SgmForm::kWarp: return warpWalk<Costs::kVolume, false, false>(padded);
    case SgmForm::kSelecting:
      return last ? warpWalk<Costs::kVolume, true, false>(padded) : warpWalk<Costs::kVolume, false, false>(padded);
    case SgmForm::kFused:
      if (alongRows) {
        return path == 0 ? warpWalk<Costs::kCensusKept, false, false>(padded)
                         : warpWalk<Costs::kCensus, false, false>(padded);
      }
      return warpWalkFor(SgmForm::kSelecting, path, last, padded);
    case SgmForm::kNoCosts:
      return last ? warpWalk<Costs::kCensus, true, false>(padded) : warpWalk<Costs::kCensus, false, false>(padded);
    default: return last ? warpWalk<Costs::kCensus, true, true>(padded) : warpWalk<Costs::kCensus, false, true>(padded);
  }
}

}  // namespace

const char* sgmFormName(SgmForm form) {
  switch (form) {
    case SgmForm::kThread: return "one thread a slice, global memory";
    case SgmForm::kPlanes: return "one block a slice, uncoalesced";
    case SgmForm::kTexture: return "one block a slice, texture";
    case SgmForm::kBlock: return "one block a slice";
    case SgmForm::kWarp: return "one warp a slice, u8x4";
    case SgmForm::kSelecting: return "u8x4, fused selection";
    case SgmForm::kFused: return "u8x4, fused selection and cost";
    case SgmForm::kNoCosts: return "u8x4, no cost volume";
    default: return "u8x4 of 7 bits, no cost volume";
  }
}

bool sgmFormSuits(SgmForm form, const SgmParameters& p) {
  return p.minDisparity == 0 && p.words == 1 && p.adaptiveP2 == 0 && p.outsideCost == kOutside &&
         kOutside + p.p2 <= 255 &&
         (form != SgmForm::kSeven || (31 + p.p1 + p.p2 <= 127 && p.numDisparities % kWarpDisparities == 0));
}

SgmBaseline::~SgmBaseline() {
  if (texture_ != 0) cudaDestroyTextureObject(texture_);
}

Status SgmBaseline::open(SgmForm form, const SgmParameters& parameters, int width, int height) {
  if (!sgmFormSuits(form, parameters))
    return Status::error(Code::kFailed, "This baseline does not compute these settings.");
  form_ = form, parameters_ = parameters, width_ = width, height_ = height;
  const int multiple = form >= SgmForm::kWarp ? kWarpDisparities : 32;
  padded_ = (parameters.numDisparities + multiple - 1) / multiple * multiple;
  const size_t pixels = static_cast<size_t>(width) * height, cells = pixels * padded_;
  for (DeviceBuffer<uint32_t>& words : census_) DEPTHWATT_TRY(words.allocate(pixels));
  DEPTHWATT_TRY(cost_.allocate(form >= SgmForm::kNoCosts ? 0 : cells));
  const int volumes = parameters.paths - (form >= SgmForm::kSelecting ? 1 : 0);
  for (int path = 0; path < volumes; ++path) DEPTHWATT_TRY(paths_[path].allocate(cells));
  return form == SgmForm::kTexture ? createLinearTexture(cost_.get(), cells, &texture_) : Status();
}

Status SgmBaseline::compute(const uint8_t* left, const uint8_t* right, int16_t* disparity, cudaStream_t stream) {
  SgmArguments a = {};
  a.censusLeft = census_[0].get(), a.censusRight = census_[1].get(), a.cost = cost_.get();
  for (int path = 0; path < 8; ++path) a.paths[path] = paths_[path].get();
  a.disparity = disparity, a.costTexture = texture_;
  a.width = width_, a.height = height_, a.numDisparities = parameters_.numDisparities, a.padded = padded_;
  a.p1 = parameters_.p1, a.p2 = parameters_.p2, a.pathCount = parameters_.paths;
  const auto blocks = [](int items, int perBlock) { return static_cast<unsigned>((items + perBlock - 1) / perBlock); };
  const unsigned rows = static_cast<unsigned>(height_), across = static_cast<unsigned>(width_);
  const unsigned threads = static_cast<unsigned>(padded_);
  if (form_ == SgmForm::kThread) {
    const uint8_t* images[2] = {left, right};
    for (int side = 0; side < 2; ++side) {
      naiveCensusKernel<<<dim3(blocks(width_, 128), rows), 128, 0, stream>>>(images[side], census_[side].get(), width_,
                                                                             height_);
    }
    const int cells = width_ * a.numDisparities;
    naiveCostsKernel<ByDisparity, false><<<dim3(blocks(cells, 128), rows), 128, 0, stream>>>(a);
  } else {
    DEPTHWATT_TRY(census(left, right, census_[0].get(), census_[1].get(), width_, height_, stream));
    const dim3 tiles(blocks(width_, kTile), rows);
    const unsigned num = static_cast<unsigned>(a.numDisparities);
    if (form_ == SgmForm::kPlanes) {
      naiveCostsKernel<ByPlane, true><<<dim3(blocks(width_, 128), rows, num), 128, 0, stream>>>(a);
    } else if (form_ < SgmForm::kWarp) {
      tiledCostsKernel<ByDisparity><<<tiles, threads, 0, stream>>>(a);
    } else if (form_ < SgmForm::kFused) {
      tiledCostsKernel<ByLane><<<tiles, threads, 0, stream>>>(a);
    }
  }
  DEPTHWATT_TRY(launched("costs"));
  for (int path = 0; path < a.pathCount; ++path) {
    const Direction r = kDirections[path];
    const int slices = sliceCount(r, width_, height_);
    const unsigned grid = static_cast<unsigned>(slices);
    if (form_ == SgmForm::kThread) {
      threadWalkKernel<<<blocks(slices, 32), 32, 0, stream>>>(a, r, path);
    } else if (form_ == SgmForm::kPlanes) {
      blockWalkKernel<ByPlane, false><<<grid, threads, 0, stream>>>(a, r, path);
    } else if (form_ == SgmForm::kTexture) {
      blockWalkKernel<ByDisparity, true><<<grid, threads, 0, stream>>>(a, r, path);
    } else if (form_ == SgmForm::kBlock) {
      blockWalkKernel<ByDisparity, false><<<grid, threads, 0, stream>>>(a, r, path);
    } else {
      const WalkKernel walk = warpWalkFor(form_, path, path + 1 == a.pathCount, padded_);
      walk<<<blocks(slices, kWalkWarps), 32 * kWalkWarps, 0, stream>>>(a, r, path);
    }
    DEPTHWATT_TRY(launched("walk"));
  }
  if (form_ >= SgmForm::kSelecting) return {};
  const dim3 grid(across, rows);
  const SelectKernel select = form_ == SgmForm::kPlanes ? blockSelectKernel<ByPlane>
                              : form_ == SgmForm::kWarp ? blockSelectKernel<ByLane>
                                                        : blockSelectKernel<ByDisparity>;
  select<<<grid, threads, 0, stream>>>(a);
  return launched("selection");
}

}  // namespace baseline
}  // namespace gpu
}  // namespace depthwatt
