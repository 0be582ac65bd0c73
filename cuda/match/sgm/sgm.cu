// SPDX-License-Identifier: Apache-2.0
// Semi-global matching on CUDA: chooses the kernels for a set of parameters, owns the volumes, orders the launches.
//   costsKernel       matching costs                                                -> costs
//   linesKernel       the first half of both walks along the rows, columns, diagonals -> sums
//   rowsSelectKernel  second half of the rows, selection, left-right check          -> disparities
// Columns add to the sums of the rows in one volume while those sums fit bytes; or rows and columns have a volume each,
// and where that leaves schedulers idle, run in parallel. The pairs of diagonals have a volume and a stream each, or
// share both. In sequence, firstRowsKernel replaces costsKernel and linesKernel for the rows. With two paths, whose walks
// only go forward, downKernel computes costs and columns, and rowsSelectKernel walks whole rows. Above P2 = 127 and 256
// disparities linesKernel finishes the rows and selectKernel selects.
#include <new>

#include "../../device/device_buffer.h"
#include "../../device/launch.cuh"
#include "sgm_costs.cuh"
#include "sgm_down.cuh"
#include "sgm_first.cuh"
#include "sgm_lines.cuh"
#include "sgm_rows.cuh"
#include "sgm_select.cuh"
#include "sgm_workspace.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kMaxPaddedSelecting = 256;  ///< above it a tile of keys takes too much shared memory
constexpr int kMaxNarrowP2 = 127;         ///< above it the sum of two excesses does not fit a byte
constexpr int kMaxVolumes = 4;            ///< rows, columns (or both in the first), each pair of diagonals

using CostsKernel = void (*)(LineArguments);
using LinesKernel = void (*)(LineArguments, int, int);
using RowsKernel = void (*)(LineArguments, SelectArguments);
using SelectKernel = void (*)(SelectArguments);

/// A kernel and the dynamic shared memory of its block: once, and for each slot of its ring.
template <class Kernel>
struct Walk {
  Kernel kernel = nullptr;
  int bytes = 0, slotBytes = 0, lanes = 32;
  size_t sharedBytes(int slots) const { return static_cast<size_t>(bytes) + static_cast<size_t>(slotBytes) * slots; }
};

template <int kLanes, int kPairs, bool kWide>
Walk<LinesKernel> chooseLines(bool adaptive) {
  Walk<LinesKernel> w;
  w.kernel = adaptive ? linesKernel<kLanes, kPairs, kWide, true> : linesKernel<kLanes, kPairs, kWide, false>;
  w.slotBytes = LinesRing<kLanes, kPairs, kWide>::kBlockBytes, w.lanes = kLanes;
  return w;
}

/// @param lanes 8 or 32; 16 where 8 pairs a lane would not hold the line, and always 32 where excesses are wide
template <int kPadded>
Walk<LinesKernel> linesFor(bool wide, bool adaptive, int lanes) {
  constexpr int kHalf = kPadded / 2, kFew = kHalf / 8 > 8 ? kHalf / 8 : 8;
  if (wide) return chooseLines<32, kHalf / 32, true>(adaptive);
  return lanes < 32 ? chooseLines<kFew, kHalf / kFew, false>(adaptive) : chooseLines<32, kHalf / 32, false>(adaptive);
}

Walk<LinesKernel> linesFor(int padded, bool wide, bool adaptive, int lanes) {
  switch (padded) {
    case 64: return linesFor<64>(wide, adaptive, lanes);
    case 128: return linesFor<128>(wide, adaptive, lanes);
    case 256: return linesFor<256>(wide, adaptive, lanes);
    default: return linesFor<512>(wide, adaptive, lanes);
  }
}

template <int kPairs, int kVolumes, bool kLong>
Walk<RowsKernel> chooseRows(bool adaptive) {
  Walk<RowsKernel> w;
  w.kernel =
      adaptive ? rowsSelectKernel<kPairs, true, kVolumes, kLong> : rowsSelectKernel<kPairs, false, kVolumes, kLong>;
  w.bytes = rowsWalkBytes<kPairs, kVolumes>();
  return w;
}

template <int kPairs, bool kLong>
Walk<RowsKernel> rowsFor(bool adaptive, int volumes) {
  switch (volumes) {
    case 1: return chooseRows<kPairs, 1, kLong>(adaptive);
    case 2: return chooseRows<kPairs, 2, kLong>(adaptive);
    case 3: return chooseRows<kPairs, 3, kLong>(adaptive);
    default: return chooseRows<kPairs, 4, kLong>(adaptive);
  }
}

/// @param padded up to kMaxPaddedSelecting. @param longKeys false for up to 64
Walk<RowsKernel> rowsFor(int padded, bool adaptive, int volumes, bool longKeys) {
  switch (padded) {
    case 64: return rowsFor<1, false>(adaptive, volumes);
    case 128: return longKeys ? rowsFor<2, true>(adaptive, volumes) : rowsFor<2, false>(adaptive, volumes);
    default: return longKeys ? rowsFor<4, true>(adaptive, volumes) : rowsFor<4, false>(adaptive, volumes);
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

template <int kWords>
CostsKernel costsFor(int padded) {
  switch (padded) {
    case 64: return costsKernel<64, kWords>;
    case 128: return costsKernel<128, kWords>;
    case 256: return costsKernel<256, kWords>;
    default: return costsKernel<512, kWords>;
  }
}

/// Returns the kernel for costs and the first half of the rows. @param padded up to kMaxPaddedSelecting
CostsKernel firstRowsFor(int padded, bool adaptive) {
  switch (padded) {
    case 64: return adaptive ? firstRowsKernel<1, true> : firstRowsKernel<1, false>;
    case 128: return adaptive ? firstRowsKernel<2, true> : firstRowsKernel<2, false>;
    default: return adaptive ? firstRowsKernel<4, true> : firstRowsKernel<4, false>;
  }
}

template <int kLanes, int kPairs, int kWords>
Walk<CostsKernel> chooseDown(bool adaptive) {
  Walk<CostsKernel> w;
  w.kernel = adaptive ? downKernel<kLanes, kPairs, true, kWords> : downKernel<kLanes, kPairs, false, kWords>;
  w.lanes = kLanes;
  return w;
}

/// Returns the kernel for costs and columns with two paths. @param padded up to kMaxPaddedSelecting
template <int kWords>
Walk<CostsKernel> downFor(int padded, bool adaptive, int lanes) {
  const bool few = lanes < 32;
  switch (padded) {
    case 64: return few ? chooseDown<8, 4, kWords>(adaptive) : chooseDown<32, 1, kWords>(adaptive);
    case 128: return few ? chooseDown<8, 8, kWords>(adaptive) : chooseDown<32, 2, kWords>(adaptive);
    default: return few ? chooseDown<16, 8, kWords>(adaptive) : chooseDown<32, 4, kWords>(adaptive);
  }
}

/// Returns the pixels of a row that a block of costsKernel computes.
int costPixels(int padded) { return CostShape<64>::kPixels * 64 / padded; }

/// Returns the warps per scheduler if two of them walk each line of a set.
double warpsPerScheduler(int lines, int multiprocessors) { return 2.0 * lines / (4.0 * multiprocessors); }

/// Returns the lanes per line of a set, as measured best on an H200, whole and in partitions (docs/guides/speed.md).
/// With few walks per scheduler the chain of dependent steps is the limit and 32 lanes are best; with many,
/// instructions are.
int lanesFor(int set, int padded, bool parallel, int width, int height, int multiprocessors) {
  const double many = set == kRows || padded > 128 ? 12 : parallel ? 4.5 : 6;
  return warpsPerScheduler(lineCount(set, width, height), multiprocessors) > many ? 8 : 32;
}

/// Returns whether with 8 paths both pairs of diagonals share a volume, one after the other, which saves a quarter to
/// two fifths of the memory. On an H200 it is as fast at 640x480, faster at 1920x1080 and on 16 and 8 multiprocessors,
/// and 15 to 20 % slower between them.
bool oneForDiagonalsFor(int width, int height, int multiprocessors) {
  const double many = warpsPerScheduler(width + height, multiprocessors);
  return many <= 4.5 || many > 9;
}

/// Returns whether rows and columns run in parallel. It takes one more volume: with 8 paths a fifth more memory for 3
/// to 5 % less time with one P2 (up to 9 % more with an adaptive one); with 4 paths half as much memory again for 2 to
/// 6 %.
bool runsInParallel(int paths, bool adaptive, int width, int height, int multiprocessors) {
  return paths == 8 && warpsPerScheduler(width + height, multiprocessors) <= (adaptive ? 4.5 : 9);
}

/// With two paths and more than so many warps for the columns of each scheduler, 8 lanes walk a column, else 32.
constexpr double kFewDownLanes = 12;

/// Returns whether the largest sum of a candidate and an index below `indices` fit 16 bits.
bool keysFit(const SgmParameters& p, int indices) {
  const int bits = p.words == 2 ? kMaxMatchingCost : 32;  // of the census, at most
  const int cost = p.outsideMayWin() && p.outsideCost > bits ? p.outsideCost : bits;
  return (p.paths * (cost + p.p2) + 1) * indices <= 0xffff;
}

/// Sets a block's shared memory. A walk requests all shared memory for its blocks together; by default the driver gives
/// them about half and the rest to a cache that copies bypass.
Status shareMemory(const void* kernel, size_t bytes, bool walks = true) {
  if (walks) {
    DEPTHWATT_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  }
  return cudaStatus(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
                    "shared memory of a row");
}

}  // namespace

struct SgmDevice {
  SgmParameters parameters;
  int width = 0, height = 0;
  int padded = 128;
  int stages = 4;
  int sets = 2;  ///< of lines: rows, columns and with 8 paths the diagonals
  bool rowsSelect = true;
  Walk<LinesKernel> walks[kLineSets];
  Walk<RowsKernel> rows;
  bool apart = false;     ///< rows and columns have a volume each
  bool parallel = false;  ///< and run at once
  SelectKernel select = nullptr;
  CostsKernel costs = nullptr;
  CostsKernel firstRows = nullptr;  ///< if set: replaces costs and the first half of the rows
  Walk<CostsKernel> down;           ///< if set: replaces everything before the selection
  size_t sharedBytes = 0;           ///< of the selecting kernel
  int slots = 3;                    ///< of the kernels' rings on this device
  bool overlaps = false;            ///< launches overlap the end of the previous kernel
  DeviceBuffer<uint8_t> cost, sums[kMaxVolumes];
  DeviceBuffer<uint32_t> state, rightKeys;
  // Each pair of diagonals runs in parallel with the columns: they share only the costs.
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

  bool oneForDiagonals = false;  ///< both pairs share a volume, one after the other
  int volumeIndex(int set) const {
    const int straight = apart ? 2 : 1;  // volumes of rows and columns
    if (set < kDiagonals) return apart ? set : 0;
    return straight + (oneForDiagonals ? 0 : set - kDiagonals);
  }
  int volumes() const { return 1 + volumeIndex(sets - 1); }
};

SgmWorkspace::SgmWorkspace() : device_(nullptr) {}
SgmWorkspace::~SgmWorkspace() { delete device_; }

Status SgmWorkspace::open(const SgmParameters& parameters, int32_t width, int32_t height, const SgmTuning& tuning) {
  delete device_;
  device_ = new (std::nothrow) SgmDevice;
  if (device_ == nullptr) return Status::error(Code::kFailed, "Not enough memory for the matcher.");
  SgmDevice& d = *device_;
  d.parameters = parameters;
  d.width = width, d.height = height, d.stages = tuning.stages;
  const int num = parameters.numDisparities, p2 = parameters.p2, paths = parameters.paths;
  d.padded = num <= 64 ? 64 : num <= 128 ? 128 : num <= 256 ? 256 : 512;
  d.sets = paths == 8 ? kLineSets : kDiagonals;
  const bool eight = paths == 8;
  int multiprocessors = tuning.multiprocessors, sharedLimit = 0, major = 0;
  if (multiprocessors == 0) {
    DEPTHWATT_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  }
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&sharedLimit, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  d.slots = ringSlots(major >= 8);
  d.rowsSelect = !tuning.separateSelection && d.padded <= kMaxPaddedSelecting && p2 <= kMaxNarrowP2;
  const bool wide = !d.rowsSelect && 4 * p2 > 255;
  d.oneForDiagonals =
      d.rowsSelect && eight && 4 * p2 <= 255 && tuning.parallel <= 0 &&
      (tuning.oneForDiagonals != 0 ? tuning.oneForDiagonals > 0 : oneForDiagonalsFor(width, height, multiprocessors));
  d.parallel =
      d.rowsSelect && paths > 2 && !d.oneForDiagonals &&
      (tuning.parallel != 0 ? tuning.parallel > 0
                            : runsInParallel(paths, parameters.adaptiveP2 > 0, width, height, multiprocessors));
  d.apart = d.parallel || (d.rowsSelect && paths > 2 && 3 * p2 > 255);
  for (int set = 0; set < d.sets; ++set) {
    const int asked = set == kRows ? tuning.rowLanes : tuning.columnLanes;
    d.walks[set] = linesFor(d.padded, wide, parameters.adaptiveP2 > 0,
                            asked > 0 ? asked : lanesFor(set, d.padded, d.parallel, width, height, multiprocessors));
    DEPTHWATT_TRY(shareMemory(reinterpret_cast<const void*>(d.walks[set].kernel), d.walks[set].sharedBytes(d.slots)));
  }
  const size_t cells = static_cast<size_t>(width) * height * d.padded;
  DEPTHWATT_TRY(d.cost.allocate(cells));
  for (int v = 0; v < d.volumes(); ++v) DEPTHWATT_TRY(d.sums[v].allocate(cells * (wide ? 2 : 1)));
  DEPTHWATT_TRY(d.state.allocate(static_cast<size_t>(height) * d.padded));
  d.costs = parameters.words == 2 ? costsFor<2>(d.padded) : costsFor<1>(d.padded);
  d.overlaps = waitsForKernelBefore(reinterpret_cast<const void*>(d.costs));
  // With 8 paths and with a 62-bit census, costs in a separate kernel are faster (docs/internals/cuda-limits.md).
  const bool adaptive = parameters.adaptiveP2 > 0;
  if (d.rowsSelect && paths == 2) {
    const int lanes = tuning.columnLanes > 0                                      ? tuning.columnLanes
                      : warpsPerScheduler(width, multiprocessors) > kFewDownLanes ? 8
                                                                                  : 32;
    d.down = parameters.words == 2 ? downFor<2>(d.padded, adaptive, lanes) : downFor<1>(d.padded, adaptive, lanes);
    DEPTHWATT_TRY(shareMemory(reinterpret_cast<const void*>(d.down.kernel), 0));
  } else if (parameters.words == 1 && d.rowsSelect && !d.parallel && paths == 4 && !tuning.costsApart) {
    d.firstRows = firstRowsFor(d.padded, adaptive);
  }
  for (int set = kColumns; set < d.sets; ++set) {
    DEPTHWATT_CUDA(cudaStreamCreateWithPriority(&d.streams[set], cudaStreamNonBlocking, tuning.priority));
    DEPTHWATT_CUDA(cudaEventCreateWithFlags(&d.done[set], cudaEventDisableTiming));
  }
  DEPTHWATT_CUDA(cudaEventCreateWithFlags(&d.costReady, cudaEventDisableTiming));
  if (d.rowsSelect) {
    const bool longKeys = tuning.longKeys ? d.padded > 64 : !keysFit(parameters, d.padded / 2);
    DEPTHWATT_TRY(d.rightKeys.allocate(static_cast<size_t>(height) * (width + d.padded / 2) * (longKeys ? 2 : 1)));
    d.rows = rowsFor(d.padded, adaptive, d.volumes(), longKeys);
    d.sharedBytes = 2 * static_cast<size_t>(d.rows.bytes);
    return shareMemory(reinterpret_cast<const void*>(d.rows.kernel), d.sharedBytes);
  }
  d.select = selectFor(d.padded, wide, eight);
  d.sharedBytes = static_cast<size_t>(width) * kSelectBytesPerPixel;
  return shareMemory(reinterpret_cast<const void*>(d.select), d.sharedBytes, false);
}

size_t SgmWorkspace::bytes() const {
  size_t bytes = device_->cost.bytes() + device_->state.bytes() + device_->rightKeys.bytes();
  for (const DeviceBuffer<uint8_t>& volume : device_->sums) bytes += volume.bytes();
  return bytes;
}

Status SgmWorkspace::compute(const uint32_t* censusLeft, const uint32_t* censusRight, const uint8_t* greyLeft,
                             bool leftRight, int16_t* disparityQ4, int16_t* disparity, int16_t* rightDisparity,
                             uint8_t* confidence, cudaStream_t stream, const uint32_t* moreLeft,
                             const uint32_t* moreRight) {
  SgmDevice& d = *device_;
  const SgmParameters& p = d.parameters;
  const auto blocks = [&](int lines, int lanes) {
    const int perBlock = kWarpsPerBlock / 2 * (32 / lanes);
    return (lines + perBlock - 1) / perBlock;
  };
  constexpr int kThreads = 32 * kWarpsPerBlock;
  LineArguments lines = {};
  lines.censusLeft = censusLeft, lines.censusRight = censusRight, lines.grey = greyLeft;
  lines.moreLeft = moreLeft, lines.moreRight = moreRight;
  lines.cost = d.cost.get(), lines.sums = d.sums[0].get(), lines.state = d.state.get();
  lines.width = d.width, lines.height = d.height;
  lines.minDisparity = p.minDisparity, lines.numDisparities = p.numDisparities;
  lines.p1 = p.p1, lines.p2 = p.p2, lines.adaptiveP2 = p.adaptiveP2, lines.outsideCost = p.outsideCost;
  lines.both = p.paths != 2;

  const auto walk = [&](int set, int parts, cudaStream_t on) {
    const Walk<LinesKernel>& w = d.walks[set];
    lines.sums = d.sums[d.volumeIndex(set)].get();
    lines.addFirst =
        (!d.apart && (set == kColumns || parts == kSecondPart)) || (d.oneForDiagonals && set == kAntiDiagonals);
    const LaunchShape shape = {blocks(lineCount(set, d.width, d.height), w.lanes), kThreads, w.sharedBytes(d.slots), on,
                               d.overlaps};
    return launch("linesKernel", w.kernel, shape, lines, set, parts);
  };
  // Everything before the second half of the rows.
  const auto walkBeforeSelection = [&]() -> Status {
    if (d.firstRows != nullptr) {
      const LaunchShape first = {dim3(d.height), FirstShape<2>::kThreads, 0, stream, d.overlaps};
      if (d.stages > 1) DEPTHWATT_TRY(launch("firstRowsKernel", d.firstRows, first, lines));
    } else {
      const int pixels = costPixels(d.padded);
      const LaunchShape costs = {dim3((d.width + pixels - 1) / pixels, d.height), CostShape<64>::kThreads, 0, stream,
                                 d.overlaps};
      DEPTHWATT_TRY(launch("costsKernel", d.costs, costs, lines));
    }
    if (d.stages < 2) return {};
    const int firstApart = d.parallel ? kColumns : kDiagonals;  // sets with their own stream
    if (d.sets > firstApart) DEPTHWATT_CUDA(cudaEventRecord(d.costReady, stream));
    for (int set = firstApart; set < d.sets; ++set) {
      const bool follows = d.oneForDiagonals && set == kAntiDiagonals;
      const cudaStream_t on = d.streams[follows ? kDiagonals : set];
      if (!follows) DEPTHWATT_CUDA(cudaStreamWaitEvent(on, d.costReady, 0));
      DEPTHWATT_TRY(walk(set, kBothParts, on));
      DEPTHWATT_CUDA(cudaEventRecord(d.done[set], on));
    }
    if (d.firstRows == nullptr) DEPTHWATT_TRY(walk(kRows, kFirstPart, stream));
    if (!d.parallel && d.stages > 2) DEPTHWATT_TRY(walk(kColumns, kBothParts, stream));
    for (int set = firstApart; set < d.sets; ++set) DEPTHWATT_CUDA(cudaStreamWaitEvent(stream, d.done[set], 0));
    return {};
  };
  if (d.stages < 1) return {};
  if (d.down.kernel != nullptr) {
    const int warps = (d.width * d.down.lanes + 31) / 32;
    const LaunchShape down = {(warps + 1) / 2, 64, 0, stream, d.overlaps};
    DEPTHWATT_TRY(launch("downKernel", d.down.kernel, down, lines));
  } else {
    DEPTHWATT_TRY(walkBeforeSelection());
  }
  if (d.stages < 4) return {};
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
  select.outsideMayWin = p.outsideMayWin(), select.holeColumns = p.holeColumns(d.width);
  if (d.rowsSelect) {
    const LaunchShape rows = {rowBlocks(d.height, p.paths), kRowThreads, d.sharedBytes, stream, d.overlaps};
    return launch("rowsSelectKernel", d.rows.kernel, rows, lines, select);
  }
  DEPTHWATT_TRY(walk(kRows, kSecondPart, stream));
  const LaunchShape separate = {d.height, 32 * kSelectWarps, d.sharedBytes, stream, d.overlaps};
  return launch("selectKernel", d.select, separate, select);
}

}  // namespace gpu
}  // namespace depthwatt
