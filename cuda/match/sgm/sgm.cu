// SPDX-License-Identifier: Apache-2.0
// Semi-global matching on CUDA: chooses the kernels for a set of parameters, owns the volumes, orders the launches.
#include <new>

#include "../../gpu/device_buffer.h"
#include "../../gpu/kernels.h"
#include "sgm_cost.cuh"
#include "sgm_select.cuh"
#include "sgm_select_narrow.cuh"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kMaxVolumes = 4;

using LinesKernel = void (*)(LineArguments, int);
using SelectKernel = void (*)(SelectArguments);
using CostKernel = void (*)(CostArguments);

struct Choice {
  CostKernel cost;
  SelectKernel select;
  int selectThreads;
  int overrun;  ///< pixels that are read behind the last one
};

struct Lines {
  LinesKernel kernel;
  int lanes;  ///< of a line
};

template <int kLanes, int kPerLane, bool kWide>
LinesKernel linesFor(const SgmParameters& p) {
  const bool both = p.paths != 2;
  if (p.adaptiveP2 > 0) {
    return both ? linesKernel<kLanes, kPerLane, kWide, true, true> : linesKernel<kLanes, kPerLane, kWide, true, false>;
  }
  return both ? linesKernel<kLanes, kPerLane, kWide, false, true> : linesKernel<kLanes, kPerLane, kWide, false, false>;
}

/// lanes: 8, 16 or 32; more where 16 cells a lane would not hold the line, and always 32 where excesses are wide.
template <int kPadded>
Lines linesFor(const SgmParameters& p, bool wide, int lanes) {
  constexpr int kEight = kPadded / 16 > 8 ? kPadded / 16 : 8, kSixteen = kPadded / 16 > 16 ? kPadded / 16 : 16;
  if (wide) return {linesFor<32, kPadded / 32, true>(p), 32};
  if (lanes <= 8) return {linesFor<kEight, kPadded / kEight, false>(p), kEight};
  if (lanes <= 16) return {linesFor<kSixteen, kPadded / kSixteen, false>(p), kSixteen};
  return {linesFor<32, kPadded / 32, false>(p), 32};
}

Lines linesFor(const SgmParameters& p, int padded, bool wide, int lanes) {
  switch (padded) {
    case 64: return linesFor<64>(p, wide, lanes);
    case 128: return linesFor<128>(p, wide, lanes);
    case 256: return linesFor<256>(p, wide, lanes);
    default: return linesFor<512>(p, wide, lanes);
  }
}

template <int kPadded>
Choice choiceFor(const SgmParameters& p, bool wide) {
  const bool four = p.paths == 8;
  if (wide) {
    return {costKernel<kPadded>, four ? selectKernel<kPadded / 32, true, 4> : selectKernel<kPadded / 32, true, 2>,
            32 * kSelectWarps, 0};
  }
  const SelectKernel bytes = four ? selectNarrowKernel<kPadded, 4, true> : selectNarrowKernel<kPadded, 2, true>;
  const SelectKernel pairs = four ? selectNarrowKernel<kPadded, 4, false> : selectNarrowKernel<kPadded, 2, false>;
  return {costKernel<kPadded>, p.p2 <= 63 ? bytes : pairs, 32 * kNarrowWarps, narrowOverrun<kPadded>()};
}

Choice choiceFor(const SgmParameters& p, int padded, bool wide) {
  switch (padded) {
    case 64: return choiceFor<64>(p, wide);
    case 128: return choiceFor<128>(p, wide);
    case 256: return choiceFor<256>(p, wide);
    default: return choiceFor<512>(p, wide);
  }
}

/// What is read behind the last pixel is never used, but it is there and has a value.
Status allocateCells(DeviceBuffer<uint8_t>& volume, size_t cells, size_t overrun) {
  DEPTHWATT_TRY(volume.allocate(cells + overrun));
  return cudaStatus(cudaMemset(volume.get() + cells, 0, overrun), "device memory");
}

/// Lanes that walk a line of a set, as measured best on an H200, whole and in partitions (README.md): where every line could
/// have a pair of warps and a scheduler still had fewer than two, the chain of dependent steps binds and 32 lanes are best;
/// with more, the instructions bind and few lanes are.
int lanesFor(int set, const SgmParameters& p, int width, int height, int multiprocessors) {
  const double warps = 2.0 * lineCount(set, width, height) / (4.0 * multiprocessors);
  if (set != kRows) return warps > 2 ? 8 : 16;
  const bool longest = p.paths != 8 || width > 2 * height;  // rows end last
  return warps > 4 ? 8 : warps > 2 || !longest ? 16 : 32;
}

}  // namespace

struct SgmDevice {
  SgmParameters parameters;
  int width = 0, height = 0;
  int padded = 128;
  bool wide = false;
  int volumes = 2;
  Choice choice = {};
  Lines lines[kMaxVolumes] = {};
  size_t selectSharedBytes = 0;
  DeviceBuffer<uint8_t> cost;
  DeviceBuffer<uint8_t> excess[kMaxVolumes];
  // One stream per pair of directions: they share the costs and nothing else.
  cudaStream_t streams[kMaxVolumes] = {};
  cudaEvent_t costReady = nullptr;
  cudaEvent_t done[kMaxVolumes] = {};

  ~SgmDevice() {
    for (int v = 0; v < kMaxVolumes; ++v) {
      if (streams[v] != nullptr) cudaStreamDestroy(streams[v]);
      if (done[v] != nullptr) cudaEventDestroy(done[v]);
    }
    if (costReady != nullptr) cudaEventDestroy(costReady);
  }
};

SgmWorkspace::SgmWorkspace() : device_(nullptr) {}
SgmWorkspace::~SgmWorkspace() { delete device_; }

Status SgmWorkspace::open(const SgmParameters& parameters, int32_t width, int32_t height, const SgmTuning& tuning) {
  delete device_;
  device_ = new (std::nothrow) SgmDevice;
  if (device_ == nullptr) return Status::error(Code::kFailed, "Expected memory for the matcher, there is none.");
  SgmDevice& d = *device_;
  d.parameters = parameters;
  d.width = width, d.height = height;
  const int num = parameters.numDisparities;
  d.padded = num <= 64 ? 64 : num <= 128 ? 128 : num <= 256 ? 256 : 512;
  d.wide = parameters.p2 > 127;
  d.volumes = parameters.paths == 8 ? 4 : 2;
  d.choice = choiceFor(parameters, d.padded, d.wide);
  int multiprocessors = tuning.multiprocessors;
  if (multiprocessors == 0) {
    DEPTHWATT_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  }
  for (int v = 0; v < d.volumes; ++v) {
    const int asked = v == kRows ? tuning.rowLanes : tuning.columnLanes;
    d.lines[v] = linesFor(parameters, d.padded, d.wide,
                          asked > 0 ? asked : lanesFor(v, parameters, width, height, multiprocessors));
  }
  const size_t cells = static_cast<size_t>(width) * height * d.padded;
  const size_t overrun = static_cast<size_t>(d.choice.overrun) * d.padded;
  DEPTHWATT_TRY(allocateCells(d.cost, cells, overrun));
  for (int v = 0; v < d.volumes; ++v) {
    DEPTHWATT_TRY(allocateCells(d.excess[v], cells * (d.wide ? 2 : 1), overrun));
    DEPTHWATT_CUDA(cudaStreamCreateWithFlags(&d.streams[v], cudaStreamNonBlocking));
    DEPTHWATT_CUDA(cudaEventCreateWithFlags(&d.done[v], cudaEventDisableTiming));
  }
  DEPTHWATT_CUDA(cudaEventCreateWithFlags(&d.costReady, cudaEventDisableTiming));
  d.selectSharedBytes = static_cast<size_t>(width) * Row::kBytesPerPixel;
  return cudaStatus(cudaFuncSetAttribute(reinterpret_cast<const void*>(d.choice.select),
                                         cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(d.selectSharedBytes)),
                    "shared memory of a row");
}

size_t SgmWorkspace::bytes() const {
  size_t bytes = device_->cost.bytes();
  for (const DeviceBuffer<uint8_t>& volume : device_->excess) bytes += volume.bytes();
  return bytes;
}

Status SgmWorkspace::compute(const uint32_t* censusLeft, const uint32_t* censusRight, const uint8_t* greyLeft,
                             bool leftRight, int16_t* disparityQ4, int16_t* disparity, int16_t* rightDisparity,
                             uint8_t* confidence, cudaStream_t stream) {
  SgmDevice& d = *device_;
  const SgmParameters& p = d.parameters;
  const CostArguments costs = {censusLeft, censusRight, d.cost.get(), d.width, d.height, p.minDisparity, p.numDisparities};
  d.choice.cost<<<dim3((d.width + kCostPixels - 1) / kCostPixels, d.height), 256, 0, stream>>>(costs);
  DEPTHWATT_TRY(launched("costKernel"));
  DEPTHWATT_CUDA(cudaEventRecord(d.costReady, stream));

  for (int v = 0; v < d.volumes; ++v) {
    DEPTHWATT_CUDA(cudaStreamWaitEvent(d.streams[v], d.costReady, 0));
    const LineArguments lines = {d.cost.get(), greyLeft, d.excess[v].get(), d.width, d.height,
                                 p.numDisparities, p.p1, p.p2, p.adaptiveP2};
    const int perBlock = (p.paths == 2 ? kWarpsPerBlock : kWarpsPerBlock / 2) * (32 / d.lines[v].lanes);
    const int blocks = (lineCount(v, d.width, d.height) + perBlock - 1) / perBlock;
    d.lines[v].kernel<<<blocks, 32 * kWarpsPerBlock, 0, d.streams[v]>>>(lines, v);
    DEPTHWATT_TRY(launched("linesKernel"));
    DEPTHWATT_CUDA(cudaEventRecord(d.done[v], d.streams[v]));
    DEPTHWATT_CUDA(cudaStreamWaitEvent(stream, d.done[v], 0));
  }

  SelectArguments select = {};
  select.cost = d.cost.get();
  for (int v = 0; v < d.volumes; ++v) select.excess[v] = d.excess[v].get();
  select.disparityQ4 = disparityQ4, select.disparity = disparity;
  select.rightDisparity = rightDisparity, select.confidence = confidence;
  select.width = d.width, select.height = d.height;
  select.minDisparity = p.minDisparity, select.numDisparities = p.numDisparities;
  select.paths = p.paths, select.uniqueness = p.uniqueness;
  select.subpixel = p.subpixel, select.leftRight = leftRight;
  d.choice.select<<<d.height, d.choice.selectThreads, d.selectSharedBytes, stream>>>(select);
  return launched("selectKernel");
}

}  // namespace gpu
}  // namespace depthwatt
