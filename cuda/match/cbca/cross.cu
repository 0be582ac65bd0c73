// SPDX-License-Identifier: Apache-2.0
// Cross-based aggregation on CUDA: features and arms of both images, then for each chunk of disparities sums along the
// rows and down the columns of both images; see cross_plan.h.
#include <new>

#include "../../device/device_buffer.h"
#include "cross_prepare.cuh"
#include "cross_whole.cuh"
#include "cross_workspace.h"

namespace depthwatt {
namespace gpu {
namespace {

using CrossKernel = void (*)(CrossArguments);

CrossKernel chooseColumnsKernel(const CrossPlan& plan) {
  const bool wide = plan.sums == CrossSums::kWide;
  if (plan.wholeColumns) return wide ? crossWholeColumnsKernel<true> : crossWholeColumnsKernel<false>;
  if (plan.sums == CrossSums::kShort) return crossColumnsKernel<CrossSums::kShort>;
  return wide ? crossColumnsKernel<CrossSums::kWide> : crossColumnsKernel<CrossSums::kSplit>;
}

CrossKernel chooseRowsKernel(const CrossPlan& plan) {
  if (plan.wholeRows) return crossWholeRowsKernel;
  return plan.rowsTogether ? crossRowsKernel<true> : crossRowsKernel<false>;
}

Status allowShared(const void* kernel, size_t bytes) {
  return cudaStatus(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
                    "shared memory of cross-based aggregation");
}

}  // namespace

struct CrossDevice {
  CrossPlan plan;
  CrossCosts costs;
  DeviceBuffer<uint8_t> table;
  DeviceBuffer<uint2> features[4];
  DeviceBuffer<uint16_t> armsX[2], armsY[2];
  DeviceBuffer<uint32_t> sums[2], keys;
  cudaStream_t second = nullptr;
  cudaEvent_t prepared = nullptr, joined = nullptr;

  ~CrossDevice() {
    if (second == nullptr) return;
    cudaEventDestroy(prepared);
    cudaEventDestroy(joined);
    cudaStreamDestroy(second);
  }

  Status open(int priority) {
    if (plan.streams == 2) {
      DEPTHWATT_CUDA(cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, priority));
      for (cudaEvent_t* event : {&prepared, &joined})
        DEPTHWATT_CUDA(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    }
    const size_t pixels = static_cast<size_t>(plan.width) * plan.height,
                 words = static_cast<size_t>(plan.words) * plan.height;
    costs =
        makeCrossCosts(plan.parameters.lambdaDifference, plan.parameters.differenceScale, plan.parameters.lambdaCensus);
    DEPTHWATT_TRY(table.allocate(sizeof costs.difference));
    DEPTHWATT_CUDA(cudaMemcpy(table.get(), costs.difference, sizeof costs.difference, cudaMemcpyHostToDevice));
    // Kernels read (and ignore) memory right of and below the image, so it is initialised once, here.
    for (DeviceBuffer<uint2>& one : features) {
      DEPTHWATT_TRY(one.allocate(words));
      DEPTHWATT_CUDA(cudaMemset(one.get(), 0, one.bytes()));
    }
    for (int side = 0; side < 2; ++side) {
      DEPTHWATT_TRY(armsX[side].allocate(4 * words));
      DEPTHWATT_TRY(armsY[side].allocate(static_cast<size_t>(plan.width) * plan.armRows));
      DEPTHWATT_CUDA(cudaMemset(armsX[side].get(), 0, armsX[side].bytes()));
      DEPTHWATT_CUDA(cudaMemset(armsY[side].get(), 0, armsY[side].bytes()));
      DEPTHWATT_TRY(sums[side].allocate(plan.sumWords()));
    }
    if (plan.chunks > 1) DEPTHWATT_TRY(keys.allocate(2 * pixels));
    DEPTHWATT_TRY(allowShared(reinterpret_cast<const void*>(chooseRowsKernel(plan)), plan.rowsSharedBytes));
    return allowShared(reinterpret_cast<const void*>(chooseColumnsKernel(plan)), plan.columnsSharedBytes);
  }

  Status prepare(const uint8_t* left, const uint8_t* right, cudaStream_t stream) {
    CrossPreparation p = {};
    p.images[0] = left, p.images[1] = right;
    for (int i = 0; i < 4; ++i) p.features[i] = features[i].get();
    for (int side = 0; side < 2; ++side) p.armsX[side] = armsX[side].get(), p.armsY[side] = armsY[side].get();
    p.width = plan.width, p.height = plan.height, p.words = plan.words;
    p.armX = plan.parameters.armX, p.armY = plan.parameters.armY, p.similarity = plan.parameters.similarity;
    for (int side = 0; side < 2; ++side) p.maxX[side] = plan.maxX[side], p.maxY[side] = plan.maxY[side];
    p.margin = crossTileMargin(p.armX);
    const dim3 grid((plan.width + 127) / 128, (plan.height + kCrossTileRows - 1) / kCrossTileRows, 2);
    crossPrepareKernel<<<grid, dim3(32, kCrossTileRows), plan.prepareSharedBytes, stream>>>(p);
    return launched("crossPrepareKernel");
  }

  CrossArguments arguments(int32_t chunk, int16_t* disparity, int16_t* rightDisparity) {
    CrossArguments a = {};
    for (int side = 0; side < 2; ++side) {
      const int own = side == 0 ? 0 : 3, partner = side == 0 ? 1 : 2;  // the right image: mirrored images
      a.sides[side].own = features[own].get();
      a.sides[side].partner = features[partner].get();
      a.sides[side].armsX = reinterpret_cast<const uint2*>(armsX[side].get());
      a.sides[side].armsY = armsY[side].get();
      a.sides[side].sums = reinterpret_cast<uint4*>(sums[side].get());
    }
    a.differenceCosts = table.get();
    a.censusLow =
        costs.census[0] | costs.census[1] << 8 | costs.census[2] << 16 | static_cast<uint32_t>(costs.census[3]) << 24;
    a.censusHigh = costs.census[4] | costs.census[5] << 8 | costs.census[6] << 16;
    a.keys = keys.get();
    a.disparity[0] = disparity;
    a.disparity[1] = rightDisparity;
    a.width = plan.width, a.height = plan.height, a.words = plan.words, a.groups = plan.groups;
    a.armX = plan.parameters.armX, a.armY = plan.parameters.armY;
    a.minDisparity = plan.parameters.minDisparity, a.numDisparities = plan.parameters.numDisparities;
    a.firstIndex = chunk * plan.groups * kCrossLaneDisparities;
    a.firstDisparity = a.minDisparity + a.firstIndex;
    a.firstChunk = chunk == 0, a.lastChunk = chunk == plan.chunks - 1;
    a.columnsPerWarp = plan.columnsPerWarp;
    a.fours = (plan.width + 127) / 128;
    a.pieceInverse = (1u << 20) / (4 * a.fours) + 1;
    return a;
  }

  /// Aggregates all chunks of `sides` images from `first` on.
  Status aggregate(int32_t first, int32_t sides, int16_t* disparity, int16_t* rightDisparity, cudaStream_t stream) {
    for (int32_t chunk = 0; chunk < plan.chunks; ++chunk) {
      CrossArguments a = arguments(chunk, disparity, rightDisparity);
      a.firstSide = first;
      DEPTHWATT_TRY(aggregate(a, sides, stream));
    }
    return {};
  }

  Status aggregate(CrossArguments a, int32_t sides, cudaStream_t stream) {
    a.segment = plan.rowSegmentPixels;
    const int32_t threads = plan.rowThreads, rowItems = plan.height * plan.groups;
    const dim3 rowGrid = plan.wholeRows ? dim3(plan.height * plan.wholeParts, 1, sides)
                                        : dim3((rowItems + threads - 1) / threads, plan.rowSegments, sides);
    const CrossKernel rowsKernel = chooseRowsKernel(plan);
    rowsKernel<<<rowGrid, threads, plan.rowsSharedBytes, stream>>>(a);
    DEPTHWATT_TRY(launched("crossRowsKernel"));

    a.segment = plan.columnSegmentRows;
    const int32_t columns = plan.columnThreads / 32 * plan.columnsPerWarp;
    const dim3 columnGrid = plan.wholeColumns ? dim3(plan.width, 1, sides)
                                              : dim3((plan.width + columns - 1) / columns, plan.columnSegments, sides);
    const CrossKernel columnsKernel = chooseColumnsKernel(plan);
    columnsKernel<<<columnGrid, plan.columnThreads, plan.columnsSharedBytes, stream>>>(a);
    return launched("crossColumnsKernel");
  }
};

CrossWorkspace::CrossWorkspace() : device_(nullptr) {}
CrossWorkspace::~CrossWorkspace() { delete device_; }

Status CrossWorkspace::open(const CrossParameters& parameters, int32_t width, int32_t height,
                            const CrossTuning& asked) {
  int device = 0, multiprocessors = 0, shared = 0, major = 0;
  DEPTHWATT_CUDA(cudaGetDevice(&device));
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  CrossTuning tuning = asked;
  if (major < 7) tuning.whole = 0;  // kCrossWholeBound
  if (tuning.multiprocessors > 0) multiprocessors = tuning.multiprocessors;
  device_ = new (std::nothrow) CrossDevice;
  if (device_ == nullptr) return Status::error(Code::kFailed, "Not enough memory for cross-based aggregation.");
  device_->plan = makeCrossPlan(
      parameters, width, height,
      {multiprocessors, static_cast<size_t>(shared) - sizeof CrossCosts::difference, kCrossVolumeBytes}, tuning);
  if (device_->plan.groups == 0) {
    return Status::error(Code::kParameter,
                         "Expected arms whose sums fit %d bytes of shared memory, got armX %d and armY %d.", shared,
                         parameters.armX, parameters.armY);
  }
  return device_->open(tuning.priority);
}

size_t CrossWorkspace::bytes() const {
  if (device_ == nullptr) return 0;
  size_t bytes = device_->table.bytes() + device_->keys.bytes();
  for (const DeviceBuffer<uint2>& one : device_->features) bytes += one.bytes();
  for (int side = 0; side < 2; ++side)
    bytes += device_->armsX[side].bytes() + device_->armsY[side].bytes() + device_->sums[side].bytes();
  return bytes;
}

Status CrossWorkspace::compute(const uint8_t* left, const uint8_t* right, int16_t* disparity, int16_t* rightDisparity,
                               cudaStream_t stream) {
  CrossDevice& d = *device_;
  DEPTHWATT_TRY(d.prepare(left, right, stream));
  if (d.plan.streams == 1) return d.aggregate(0, 2, disparity, rightDisparity, stream);
  // One image's columns fill the multiprocessors that the other's rows leave idle at their end.
  DEPTHWATT_CUDA(cudaEventRecord(d.prepared, stream));
  DEPTHWATT_CUDA(cudaStreamWaitEvent(d.second, d.prepared, 0));
  DEPTHWATT_TRY(d.aggregate(0, 1, disparity, rightDisparity, stream));
  DEPTHWATT_TRY(d.aggregate(1, 1, disparity, rightDisparity, d.second));
  DEPTHWATT_CUDA(cudaEventRecord(d.joined, d.second));
  return cudaStatus(cudaStreamWaitEvent(stream, d.joined, 0), "join of both images");
}

}  // namespace gpu
}  // namespace depthwatt
