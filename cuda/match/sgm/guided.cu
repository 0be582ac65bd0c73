// SPDX-License-Identifier: Apache-2.0
// Coarse-to-fine search on CUDA: owns the volumes and orders the launches of each level.
//   guidedChooseKernel   votes of the coarser level     -> blocks of the tiles
//   guidedCostsKernel    census and grey                -> costs, adaptive P2
//   guidedLinesKernel    rows and columns in one launch -> sums of excesses, a volume each; costs added to one of them
//   guidedVotesKernel    coarse levels: winners and weak second best disparities
//   guidedSelectKernel   the finest level: disparities, left-right check
#include <new>
#include <vector>

#include "../../device/device_buffer.h"
#include "../../device/launch.cuh"
#include "guided_costs.cuh"
#include "guided_lines.cuh"
#include "guided_select.cuh"
#include "guided_workspace.h"

namespace depthwatt {
namespace gpu {
namespace {

using CostsKernel = void (*)(GuidedArguments);
using LinesKernel = void (*)(GuidedArguments, int);
using VotesKernel = void (*)(GuidedArguments, GuidedVotes, int);
using SelectKernel = void (*)(GuidedArguments, SelectArguments);
using ChooseKernel = void (*)(GuidedArguments, GuidedVotes, uint8_t*);

template <int kLanes>
CostsKernel costsFor(int words, bool adaptive) {
  if (words == 2) return adaptive ? guidedCostsKernel<kLanes, 2, true> : guidedCostsKernel<kLanes, 2, false>;
  return adaptive ? guidedCostsKernel<kLanes, 1, true> : guidedCostsKernel<kLanes, 1, false>;
}

template <int kLanes>
LinesKernel linesFor(bool adaptive) {
  return adaptive ? guidedLinesKernel<kLanes, true> : guidedLinesKernel<kLanes, false>;
}

ChooseKernel chooseFor(int blocks) {
  return blocks <= 32 ? guidedChooseKernel<1> : blocks <= 64 ? guidedChooseKernel<2> : guidedChooseKernel<4>;
}

/// Returns whether the sums of all cells fit bytes, and no cell is beyond the range.
bool sumsFitBytes(const SgmParameters& p) {
  const int bits = p.words == 2 ? kMaxMatchingCost : 32;  // of the census, at most
  const int cost = p.outsideCost > bits ? p.outsideCost : bits;
  const int cells = p.numDisparities > kFullRange ? kBlockDisparities : kFullRange;
  return p.numDisparities % cells == 0 && p.paths * (cost + p.p2) <= 255;
}

Status allowShared(const void* kernel, int bytes) {
  return cudaStatus(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                    "shared memory of coarse-to-fine search");
}

struct Level {
  SgmParameters parameters;
  int width = 0, height = 0, tilesAcross = 0, tilesDown = 0;
  int blocks = 0;
  CostsKernel costs = nullptr;
  LinesKernel lines = nullptr;
  dim3 costBlocks;
  int costBytes = 0, lineBytes = 0, rowStrips = 0, strips = 0;
  bool guided() const { return parameters.numDisparities > kFullRange; }
  size_t tiles() const { return static_cast<size_t>(tilesAcross) * tilesDown; }

  template <int kLanes>
  void choose() {
    using Costs = GuidedCostShape<kLanes>;
    using Lines = GuidedLinesShape<kLanes>;
    const bool adaptive = parameters.adaptiveP2 > 0;
    costs = costsFor<kLanes>(parameters.words, adaptive);
    lines = linesFor<kLanes>(adaptive);
    costBlocks = dim3((tilesAcross + Costs::kTiles - 1) / Costs::kTiles, tilesDown);
    costBytes = Costs::sharedBytes(blocks, parameters.words);
    lineBytes = 2 * Lines::warpBytes(blocks);
    rowStrips = (tilesDown + Lines::kTiles - 1) / Lines::kTiles;
    strips = rowStrips + (tilesAcross + Lines::kTiles - 1) / Lines::kTiles;
  }
  size_t volumeBytes() const { return tiles() * (guided() ? GuidedShape<2>::kTileBytes : GuidedShape<4>::kTileBytes); }
};

}  // namespace

struct GuidedDevice {
  std::vector<Level> levels;
  SelectKernel select = nullptr;
  bool overlaps = false;  ///< launches overlap the end of the previous kernel
  DeviceBuffer<uint8_t> volumes[3];
  DeviceBuffer<uint2> p2[2];
  DeviceBuffer<uint8_t> lists;
  DeviceBuffer<uint32_t> votes;  ///< of the level that was matched last
};

GuidedWorkspace::GuidedWorkspace() : device_(nullptr) {}
GuidedWorkspace::~GuidedWorkspace() { delete device_; }

Status GuidedWorkspace::open(const SgmParameters& parameters, int32_t width, int32_t height) {
  delete device_;
  device_ = new (std::nothrow) GuidedDevice;
  if (device_ == nullptr) return Status::error(Code::kFailed, "Not enough memory for the matcher.");
  GuidedDevice& d = *device_;
  size_t volumeBytes = 0;
  for (SgmParameters p = parameters;; p = coarserParameters(p)) {
    Level level;
    level.parameters = p;
    level.width = width, level.height = height;
    level.tilesAcross = tilesAlong(width), level.tilesDown = tilesAlong(height);
    level.blocks = level.guided() ? blocksOf(p.numDisparities) : kFullRange / kBlockDisparities;
    if (level.guided()) level.choose<2>();
    else level.choose<4>();
    if (level.volumeBytes() > volumeBytes) volumeBytes = level.volumeBytes();
    d.levels.push_back(level);
    if (!level.guided()) break;
    width = (width + 1) / 2, height = (height + 1) / 2;  // as prepare/half rounds
  }
  const Level& finest = d.levels[0];
  for (size_t i = d.levels.size(); i-- > 0;) {  // of levels with the same kernels the finest one needs most memory
    const Level& level = d.levels[i];
    const void* const lines = reinterpret_cast<const void*>(level.lines);
    DEPTHWATT_TRY(allowShared(reinterpret_cast<const void*>(level.costs), level.costBytes));
    DEPTHWATT_TRY(allowShared(lines, level.lineBytes));
    DEPTHWATT_CUDA(
        cudaFuncSetAttribute(lines, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  }
  for (DeviceBuffer<uint8_t>& volume : d.volumes) DEPTHWATT_TRY(volume.allocate(volumeBytes));
  for (DeviceBuffer<uint2>& image : d.p2) {
    if (parameters.adaptiveP2 > 0) DEPTHWATT_TRY(image.allocate(finest.tiles() * kTileSide));
  }
  DEPTHWATT_TRY(d.lists.allocate(finest.tiles() * kGuidedBlocks));
  DEPTHWATT_TRY(d.votes.allocate(static_cast<size_t>(d.levels[1].width) * d.levels[1].height));
  d.overlaps = waitsForKernelBefore(reinterpret_cast<const void*>(finest.costs));
  d.select = sumsFitBytes(parameters) ? guidedSelectKernel<2, true> : guidedSelectKernel<2, false>;
  return allowShared(reinterpret_cast<const void*>(d.select), 4 * finest.width);
}

size_t GuidedWorkspace::bytes() const {
  size_t bytes = device_->lists.bytes() + device_->votes.bytes() + device_->p2[0].bytes() + device_->p2[1].bytes();
  for (const DeviceBuffer<uint8_t>& volume : device_->volumes) bytes += volume.bytes();
  return bytes;
}

int GuidedWorkspace::levels() const { return static_cast<int>(device_->levels.size()); }
int32_t GuidedWorkspace::width(int level) const { return device_->levels[static_cast<size_t>(level)].width; }
int32_t GuidedWorkspace::height(int level) const { return device_->levels[static_cast<size_t>(level)].height; }

Status GuidedWorkspace::compute(int index, const GuidedImages& images, const GuidedResult& result, cudaStream_t stream,
                                int kernels) {
  const GuidedDevice& d = *device_;
  const Level& level = d.levels[static_cast<size_t>(index)];
  const SgmParameters& p = level.parameters;
  GuidedArguments a = {};
  a.censusLeft = images.censusLeft, a.censusRight = images.censusRight;
  a.moreLeft = images.moreLeft, a.moreRight = images.moreRight;
  a.grey = images.greyLeft;
  a.lists = reinterpret_cast<const uint2*>(d.lists.get());
  a.cost = d.volumes[0].get(), a.rows = d.volumes[1].get(), a.columns = d.volumes[2].get();
  a.p2Rows = d.p2[0].get(), a.p2Columns = d.p2[1].get();
  a.width = level.width, a.height = level.height;
  a.tilesAcross = level.tilesAcross, a.tilesDown = level.tilesDown;
  a.minDisparity = p.minDisparity, a.numDisparities = p.numDisparities, a.paths = p.paths;
  a.p1 = p.p1, a.p2 = p.p2, a.adaptiveP2 = p.adaptiveP2, a.outsideCost = p.outsideCost;
  a.blocks = level.blocks, a.one = 1;
  a.costPaths = sumsFitBytes(p) ? p.paths : 0;
  const auto shape = [&](dim3 grid, int threads, int sharedBytes) {
    return LaunchShape{grid, dim3(threads), static_cast<size_t>(sharedBytes), stream, d.overlaps};
  };
  if (level.guided()) {
    const Level& coarser = d.levels[static_cast<size_t>(index) + 1];
    const GuidedVotes votes = {d.votes.get(), coarser.width, coarser.height, p.minDisparity, p.numDisparities};
    const unsigned groups = static_cast<unsigned>((level.tiles() + kChooseWarps - 1) / kChooseWarps);
    DEPTHWATT_TRY(launch("guidedChooseKernel", chooseFor(level.blocks), shape(groups, 32 * kChooseWarps, 0), a, votes,
                         d.lists.get()));
  }
  if (kernels < 2) return {};
  DEPTHWATT_TRY(launch("guidedCostsKernel", level.costs,
                       shape(level.costBlocks, GuidedCostShape<2>::kThreads, level.costBytes), a));
  if (kernels < 3) return {};
  DEPTHWATT_TRY(launch("guidedLinesKernel", level.lines, shape(level.strips, 64, level.lineBytes), a, level.rowStrips));
  if (kernels < 4) return {};
  if (index > 0) {
    const SgmParameters& finer = d.levels[static_cast<size_t>(index) - 1].parameters;
    const GuidedVotes votes = {d.votes.get(), level.width, level.height, finer.minDisparity, finer.numDisparities};
    const bool fits = sumsFitBytes(p);
    VotesKernel kernel = fits ? guidedVotesKernel<4, true> : guidedVotesKernel<4, false>;
    if (level.guided()) kernel = fits ? guidedVotesKernel<2, true> : guidedVotesKernel<2, false>;
    return launch("guidedVotesKernel", kernel, shape(level.height, kGuidedSelectThreads, 0), a, votes,
                  p.holeColumns(level.width));
  }
  SelectArguments s = {};
  s.disparityQ4 = result.disparityQ4, s.disparity = result.disparity, s.confidence = result.confidence;
  s.width = level.width, s.height = level.height;
  s.minDisparity = p.minDisparity, s.numDisparities = p.numDisparities;
  s.paths = p.paths, s.uniqueness = p.uniqueness, s.subpixel = p.subpixel, s.leftRight = result.leftRight;
  s.outsideMayWin = p.outsideMayWin(), s.holeColumns = p.holeColumns(level.width);
  return launch("guidedSelectKernel", d.select, shape(level.height, kGuidedSelectThreads, 4 * level.width), a, s);
}

}  // namespace gpu
}  // namespace depthwatt
