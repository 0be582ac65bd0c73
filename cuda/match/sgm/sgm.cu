// SPDX-License-Identifier: Apache-2.0
// Semi-global matching on CUDA: chooses the kernels for a set of parameters, owns the volumes, orders the launches.
//   rowsBeginKernel   costs, and the first half of both walks along the rows        -> costs, sums
//   linesKernel       columns (and on streams of their own each pair of diagonals)  -> sums
//   rowsSelectKernel  second half of the rows, selection, left-right check          -> disparities
// Where a sum and its index do not fit 16 bits together, linesKernel ends the rows and selectKernel selects.
#include <new>

#include "../../gpu/device_buffer.h"
#include "../../gpu/kernels.h"
#include "sgm_begin.cuh"
#include "sgm_lines.cuh"
#include "sgm_rows.cuh"
#include "sgm_select.cuh"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kMaxPaddedSelecting = 256;  ///< above it an index leaves no room for a sum
constexpr int kMaxVolumes = 3;  ///< rows and columns, each pair of diagonals

using BeginKernel = void (*)(LineArguments);
using LinesKernel = void (*)(LineArguments, int);
using RowsKernel = void (*)(LineArguments, SelectArguments);
using SelectKernel = void (*)(SelectArguments);

/// The kernels of one number of lanes a line.
struct Walks {
  BeginKernel begin;
  LinesKernel lines;
  RowsKernel select[2];  ///< 2 and 4 paths, 8 paths; null where keys cannot fit 16 bits
  int lanes;
};

template <int kLanes, int kPairs, bool kWide, bool kAdaptive, bool kSelects>
struct WalksOf {
  static Walks get() {
    return {rowsBeginKernel<kLanes, kPairs, kWide, kAdaptive>,
            linesKernel<kLanes, kPairs, kWide, kAdaptive>,
            {rowsSelectKernel<kLanes, kPairs, kAdaptive, 1>, rowsSelectKernel<kLanes, kPairs, kAdaptive, 3>},
            kLanes};
  }
};

template <int kLanes, int kPairs, bool kWide, bool kAdaptive>
struct WalksOf<kLanes, kPairs, kWide, kAdaptive, false> {
  static Walks get() {
    return {rowsBeginKernel<kLanes, kPairs, kWide, kAdaptive>, linesKernel<kLanes, kPairs, kWide, kAdaptive>, {}, kLanes};
  }
};

/// lanes: 8 or 32; 16 where 8 pairs a lane would not hold the line, and always 32 where excesses are wide.
template <int kPadded, bool kAdaptive>
Walks walksFor(bool wide, int lanes) {
  constexpr int kHalf = kPadded / 2, kFew = kHalf / 8 > 8 ? kHalf / 8 : 8;
  constexpr bool kSelects = kPadded <= kMaxPaddedSelecting;
  if (wide) return WalksOf<32, kHalf / 32, true, kAdaptive, false>::get();
  if (lanes < 32) return WalksOf<kFew, kHalf / kFew, false, kAdaptive, kSelects>::get();
  return WalksOf<32, kHalf / 32, false, kAdaptive, kSelects>::get();
}

template <int kPadded>
Walks walksFor(bool wide, bool adaptive, int lanes) {
  return adaptive ? walksFor<kPadded, true>(wide, lanes) : walksFor<kPadded, false>(wide, lanes);
}

Walks walksFor(int padded, bool wide, bool adaptive, int lanes) {
  switch (padded) {
    case 64: return walksFor<64>(wide, adaptive, lanes);
    case 128: return walksFor<128>(wide, adaptive, lanes);
    case 256: return walksFor<256>(wide, adaptive, lanes);
    default: return walksFor<512>(wide, adaptive, lanes);
  }
}

template <int kPadded>
SelectKernel selectFor(bool wide, bool eight) {
  if (wide) return eight ? selectKernel<kPadded / 64, true, 3> : selectKernel<kPadded / 64, true, 1>;
  return eight ? selectKernel<kPadded / 64, false, 3> : selectKernel<kPadded / 64, false, 1>;
}

SelectKernel selectFor(int padded, bool wide, bool eight) {
  switch (padded) {
    case 64: return selectFor<64>(wide, eight);
    case 128: return selectFor<128>(wide, eight);
    case 256: return selectFor<256>(wide, eight);
    default: return selectFor<512>(wide, eight);
  }
}

/// Lanes that walk a line of a set, as measured best on an H200, whole and in partitions (docs/2-concepts/cuda.md): where a
/// scheduler has few walks the chain of dependent steps binds and 32 lanes are best; with many, the instructions bind.
int lanesFor(int set, int padded, int width, int height, int multiprocessors) {
  const double warps = 2.0 * lineCount(set, width, height) / (4.0 * multiprocessors);
  const double many = set == kRows ? 20 : padded <= 128 ? 6 : 12;
  return warps > many ? 8 : 32;
}

Status shareMemory(const void* kernel, size_t bytes) {
  return cudaStatus(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
                    "shared memory of a row");
}

}  // namespace

struct SgmDevice {
  SgmParameters parameters;
  int width = 0, height = 0;
  int padded = 128;
  int sets = 2;           ///< of lines: rows, columns and with 8 paths the diagonals
  bool rowsSelect = true;
  Walks walks[kLineSets] = {};
  SelectKernel select = nullptr;
  size_t sharedBytes = 0;  ///< of the kernel that selects
  DeviceBuffer<uint8_t> cost, sums[kMaxVolumes];
  DeviceBuffer<uint32_t> state, rightKeys;
  // Each pair of diagonals runs beside the columns: they share the costs and nothing else.
  cudaStream_t streams[kLineSets] = {};
  cudaEvent_t costReady = nullptr;
  cudaEvent_t done[kLineSets] = {};

  ~SgmDevice() {
    for (int set = 0; set < kLineSets; ++set) {
      if (streams[set] != nullptr) cudaStreamDestroy(streams[set]);
      if (done[set] != nullptr) cudaEventDestroy(done[set]);
    }
    if (costReady != nullptr) cudaEventDestroy(costReady);
  }

  /// Volumes: rows and columns share the first.
  int volumeOf(int set) const { return set < kDiagonals ? 0 : set - kColumns; }
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
  const int num = parameters.numDisparities, p2 = parameters.p2, paths = parameters.paths;
  d.padded = num <= 64 ? 64 : num <= 128 ? 128 : num <= 256 ? 256 : 512;
  d.sets = paths == 8 ? kLineSets : kDiagonals;
  const bool eight = paths == 8;
  int multiprocessors = tuning.multiprocessors, sharedLimit = 0;
  if (multiprocessors == 0) {
    DEPTHWATT_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  }
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&sharedLimit, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  // A byte holds the three excesses that stand there when rows select, and with 8 paths the four of the diagonals; else four.
  const size_t tileBytes = sizeof(uint32_t) * kWarpsPerBlock * 32 * (d.padded / 2);
  const int largestKey = (paths * (kMaxMatchingCost + p2) + 1) * (d.padded / 2);
  d.rowsSelect = !tuning.separateSelection && d.padded <= kMaxPaddedSelecting && largestKey <= 0xffff &&
                 (eight ? 4 : 3) * p2 <= 255 && tileBytes <= static_cast<size_t>(sharedLimit);
  const bool wide = !d.rowsSelect && 4 * p2 > 255;
  for (int set = 0; set < d.sets; ++set) {
    const int asked = set == kRows ? tuning.rowLanes : tuning.columnLanes;
    d.walks[set] = walksFor(d.padded, wide, parameters.adaptiveP2 > 0,
                            asked > 0 ? asked : lanesFor(set, d.padded, width, height, multiprocessors));
  }
  const size_t cells = static_cast<size_t>(width) * height * d.padded;
  DEPTHWATT_TRY(d.cost.allocate(cells));
  for (int v = 0; v < (eight ? kMaxVolumes : 1); ++v) DEPTHWATT_TRY(d.sums[v].allocate(cells * (wide ? 2 : 1)));
  DEPTHWATT_TRY(d.state.allocate(static_cast<size_t>(height) * d.padded));
  for (int set = kDiagonals; set < d.sets; ++set) {
    DEPTHWATT_CUDA(cudaStreamCreateWithFlags(&d.streams[set], cudaStreamNonBlocking));
    DEPTHWATT_CUDA(cudaEventCreateWithFlags(&d.done[set], cudaEventDisableTiming));
  }
  DEPTHWATT_CUDA(cudaEventCreateWithFlags(&d.costReady, cudaEventDisableTiming));
  if (d.rowsSelect) {
    DEPTHWATT_TRY(d.rightKeys.allocate(static_cast<size_t>(height) * (width + d.padded / 2)));
    d.sharedBytes = tileBytes;
    return shareMemory(reinterpret_cast<const void*>(d.walks[kRows].select[eight]), d.sharedBytes);
  }
  d.select = selectFor(d.padded, wide, eight);
  d.sharedBytes = static_cast<size_t>(width) * kSelectBytesPerPixel;
  return shareMemory(reinterpret_cast<const void*>(d.select), d.sharedBytes);
}

size_t SgmWorkspace::bytes() const {
  size_t bytes = device_->cost.bytes() + device_->state.bytes() + device_->rightKeys.bytes();
  for (const DeviceBuffer<uint8_t>& volume : device_->sums) bytes += volume.bytes();
  return bytes;
}

Status SgmWorkspace::compute(const uint32_t* censusLeft, const uint32_t* censusRight, const uint8_t* greyLeft,
                             bool leftRight, int16_t* disparityQ4, int16_t* disparity, int16_t* rightDisparity,
                             uint8_t* confidence, cudaStream_t stream) {
  SgmDevice& d = *device_;
  const SgmParameters& p = d.parameters;
  const auto blocks = [&](int set) {
    const int perBlock = kWarpsPerBlock / 2 * (32 / d.walks[set].lanes);
    return (lineCount(set, d.width, d.height) + perBlock - 1) / perBlock;
  };
  constexpr int kThreads = 32 * kWarpsPerBlock;
  LineArguments lines = {};
  lines.censusLeft = censusLeft, lines.censusRight = censusRight, lines.grey = greyLeft;
  lines.cost = d.cost.get(), lines.sums = d.sums[0].get(), lines.state = d.state.get();
  lines.width = d.width, lines.height = d.height;
  lines.minDisparity = p.minDisparity, lines.numDisparities = p.numDisparities;
  lines.p1 = p.p1, lines.p2 = p.p2, lines.adaptiveP2 = p.adaptiveP2;
  lines.both = p.paths != 2;

  const Walks& rows = d.walks[kRows];
  rows.begin<<<blocks(kRows), kThreads, 0, stream>>>(lines);
  DEPTHWATT_TRY(launched("rowsBeginKernel"));
  if (d.sets > kDiagonals) DEPTHWATT_CUDA(cudaEventRecord(d.costReady, stream));
  for (int set = kColumns; set < d.sets; ++set) {
    lines.sums = d.sums[d.volumeOf(set)].get();
    lines.addFirst = set == kColumns;
    const cudaStream_t on = set == kColumns ? stream : d.streams[set];
    if (set != kColumns) DEPTHWATT_CUDA(cudaStreamWaitEvent(on, d.costReady, 0));
    d.walks[set].lines<<<blocks(set), kThreads, 0, on>>>(lines, set);
    DEPTHWATT_TRY(launched("linesKernel"));
    if (set != kColumns) DEPTHWATT_CUDA(cudaEventRecord(d.done[set], on));
  }
  for (int set = kDiagonals; set < d.sets; ++set) DEPTHWATT_CUDA(cudaStreamWaitEvent(stream, d.done[set], 0));
  lines.sums = d.sums[0].get();

  SelectArguments select = {};
  select.cost = d.cost.get();
  for (int v = 0; v < kMaxVolumes; ++v) select.sums[v] = d.sums[v].get();
  select.disparityQ4 = disparityQ4, select.disparity = disparity;
  select.rightDisparity = rightDisparity, select.confidence = confidence;
  select.rightKeys = d.rightKeys.get();
  select.width = d.width, select.height = d.height;
  select.minDisparity = p.minDisparity, select.numDisparities = p.numDisparities;
  select.paths = p.paths, select.uniqueness = p.uniqueness;
  select.subpixel = p.subpixel, select.leftRight = leftRight;
  if (d.rowsSelect) {
    rows.select[p.paths == 8]<<<blocks(kRows), kThreads, d.sharedBytes, stream>>>(lines, select);
    return launched("rowsSelectKernel");
  }
  rows.lines<<<blocks(kRows), kThreads, 0, stream>>>(lines, kRows);
  DEPTHWATT_TRY(launched("linesKernel"));
  d.select<<<d.height, 32 * kSelectWarps, d.sharedBytes, stream>>>(select);
  return launched("selectKernel");
}

}  // namespace gpu
}  // namespace depthwatt
