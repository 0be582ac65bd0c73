// SPDX-License-Identifier: Apache-2.0
// Cross-based aggregation on CUDA: features and arms of both images, then for each chunk of disparities sums along the rows
// and down the columns of both eyes; see cross_plan.h, README.md has the counts.
#include <new>

#include "../../gpu/cross_workspace.h"
#include "../../gpu/device_buffer.h"
#include "cross_columns.cuh"

namespace depthwatt {
namespace gpu {
namespace {

struct CrossPreparation {
  const uint8_t* images[2];
  uint8_t* features[4];  ///< bytes of uint2: left, right, left mirrored, right mirrored
  uint16_t *armsX[2], *armsY[2];
  int32_t width, height, words, armX, armY, similarity;
};

/// Pixels in a direction, at most `most`, that look like the one at `from`.
__device__ __forceinline__ int crossReach(const uint8_t* from, int step, int most, int similarity) {
  const int own = *from;
  int length = 0;
  while (length < most && abs(*(from += step) - own) < similarity) ++length;
  return length;
}

/// One thread, one pixel of one image.
__global__ void __launch_bounds__(256) crossPrepareKernel(CrossPreparation p) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, which = blockIdx.z;
  if (x >= p.width || y >= p.height) return;
  const size_t width = static_cast<size_t>(p.width);
  const uint8_t* image = p.images[which];
  const uint8_t* row = image + y * width;
  const int own = row[x];
  uint32_t census = 0;
#pragma unroll
  for (int i = -1; i <= 1; i += 2) {
    const int nx = min(max(x + i, 0), p.width - 1);
#pragma unroll
    for (int j = -1; j <= 1; ++j) {
      census = census << 1 | (image[min(max(y + j, 0), p.height - 1) * width + nx] >= own ? 1u : 0u);
    }
  }
  census += census & 0x38u;  // three bits to a nibble

  const int left = crossReach(row + x, -1, min(p.armX, x), p.similarity);
  const int right = crossReach(row + x, 1, min(p.armX, p.width - 1 - x), p.similarity);
  const int up = crossReach(row + x, -p.width, min(p.armY, y), p.similarity);
  const int down = crossReach(row + x, p.width, min(p.armY, p.height - 1 - y), p.similarity);

  const int mirrored = p.width - 1 - x;
  const size_t at = y * width + (which == 0 ? x : mirrored);
  const int ahead = which == 0 ? right : left, behind = which == 0 ? left : right;
  p.armsX[which][at] = static_cast<uint16_t>(p.armX - ahead | (p.armX + 1 + behind) << 8);
  p.armsY[which][at] = static_cast<uint16_t>(p.armY - down | (p.armY + 1 + up) << 8);
  const size_t featureRow = static_cast<size_t>(y) * p.words;
  uint8_t* plain = p.features[which] + (featureRow + x / 4) * sizeof(uint2) + x % 4;
  uint8_t* turned = p.features[2 + which] + (featureRow + mirrored / 4) * sizeof(uint2) + mirrored % 4;
  plain[0] = turned[0] = static_cast<uint8_t>(own);
  plain[4] = turned[4] = static_cast<uint8_t>(census);
}

using ColumnsKernel = void (*)(CrossArguments);

ColumnsKernel columnsKernelOf(CrossSums sums) {
  if (sums == CrossSums::kShort) return crossColumnsKernel<CrossSums::kShort>;
  return sums == CrossSums::kSplit ? crossColumnsKernel<CrossSums::kSplit> : crossColumnsKernel<CrossSums::kWide>;
}

Status allowShared(const void* kernel, size_t bytes) {
  return cudaStatus(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
                    "shared memory of cross-based aggregation");
}

}  // namespace

struct CrossDevice {
  CrossPlan plan;
  DeviceBuffer<uint8_t> table;
  DeviceBuffer<uint2> features[4];
  DeviceBuffer<uint16_t> armsX[2], armsY[2];
  DeviceBuffer<uint32_t> sums[2], keys;

  Status open() {
    const size_t pixels = static_cast<size_t>(plan.width) * plan.height, words = static_cast<size_t>(plan.words) * plan.height;
    DEPTHWATT_TRY(table.allocate(sizeof kDifferenceCosts));
    DEPTHWATT_CUDA(cudaMemcpy(table.get(), kDifferenceCosts, sizeof kDifferenceCosts, cudaMemcpyHostToDevice));
    for (DeviceBuffer<uint2>& one : features) {
      DEPTHWATT_TRY(one.allocate(words));
      DEPTHWATT_CUDA(cudaMemset(one.get(), 0, one.bytes()));  // the last word of a row may hold fewer than four pixels
    }
    for (int eye = 0; eye < 2; ++eye) {
      DEPTHWATT_TRY(armsX[eye].allocate(pixels));
      DEPTHWATT_TRY(armsY[eye].allocate(pixels));
      DEPTHWATT_TRY(sums[eye].allocate(plan.sumWords()));
    }
    if (plan.chunks > 1) DEPTHWATT_TRY(keys.allocate(2 * pixels));
    DEPTHWATT_TRY(allowShared(reinterpret_cast<const void*>(crossRowsKernel), plan.rowsSharedBytes));
    return allowShared(reinterpret_cast<const void*>(columnsKernelOf(plan.sums)), plan.columnsSharedBytes);
  }

  Status prepare(const uint8_t* left, const uint8_t* right, cudaStream_t stream) {
    CrossPreparation p = {};
    p.images[0] = left, p.images[1] = right;
    for (int i = 0; i < 4; ++i) p.features[i] = reinterpret_cast<uint8_t*>(features[i].get());
    for (int eye = 0; eye < 2; ++eye) p.armsX[eye] = armsX[eye].get(), p.armsY[eye] = armsY[eye].get();
    p.width = plan.width, p.height = plan.height, p.words = plan.words;
    p.armX = plan.parameters.armX, p.armY = plan.parameters.armY, p.similarity = plan.parameters.similarity;
    const dim3 grid((plan.width + 31) / 32, (plan.height + 7) / 8, 2);
    crossPrepareKernel<<<grid, dim3(32, 8), 0, stream>>>(p);
    return launched("crossPrepareKernel");
  }

  CrossArguments arguments(int32_t chunk, int16_t* disparity, int16_t* rightDisparity) {
    CrossArguments a = {};
    for (int eye = 0; eye < 2; ++eye) {
      const int own = eye == 0 ? 0 : 3, partner = eye == 0 ? 1 : 2;  // the right eye's problem: mirrored images
      a.eyes[eye].own = features[own].get();
      a.eyes[eye].partner = features[partner].get();
      a.eyes[eye].armsX = armsX[eye].get();
      a.eyes[eye].armsY = armsY[eye].get();
      a.eyes[eye].sums = reinterpret_cast<uint4*>(sums[eye].get());
    }
    a.differenceCosts = table.get();
    a.keys = keys.get();
    a.disparity[0] = disparity;
    a.disparity[1] = rightDisparity;
    a.width = plan.width, a.height = plan.height, a.words = plan.words, a.groups = plan.groups;
    a.armX = plan.parameters.armX, a.armY = plan.parameters.armY;
    a.minDisparity = plan.parameters.minDisparity, a.numDisparities = plan.parameters.numDisparities;
    a.firstIndex = chunk * plan.groups * kCrossLaneDisparities;
    a.firstDisparity = a.minDisparity + a.firstIndex;
    a.firstChunk = chunk == 0, a.lastChunk = chunk == plan.chunks - 1;
    a.columnsPerWarp = plan.columnsPerWarp, a.slots = plan.columnSlots;
    return a;
  }

  Status aggregate(CrossArguments a, cudaStream_t stream) {
    a.segment = plan.rowSegmentPixels;
    const int32_t threads = plan.rowThreads, rowItems = plan.height * plan.groups;
    const dim3 rowGrid((rowItems + threads - 1) / threads, plan.rowSegments, 2);
    crossRowsKernel<<<rowGrid, threads, plan.rowsSharedBytes, stream>>>(a);
    DEPTHWATT_TRY(launched("crossRowsKernel"));

    a.segment = plan.columnSegmentRows;
    const int32_t columns = plan.columnThreads / 32 * plan.columnsPerWarp;
    const dim3 columnGrid((plan.width + columns - 1) / columns, plan.columnSegments, 2);
    const ColumnsKernel columnsKernel = columnsKernelOf(plan.sums);
    columnsKernel<<<columnGrid, plan.columnThreads, plan.columnsSharedBytes, stream>>>(a);
    return launched("crossColumnsKernel");
  }
};

CrossWorkspace::CrossWorkspace() : device_(nullptr) {}
CrossWorkspace::~CrossWorkspace() { delete device_; }

Status CrossWorkspace::open(const CrossParameters& parameters, int32_t width, int32_t height, const CrossTuning& tuning) {
  int device = 0, multiprocessors = 0, shared = 0;
  DEPTHWATT_CUDA(cudaGetDevice(&device));
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  if (tuning.multiprocessors > 0) multiprocessors = tuning.multiprocessors;
  device_ = new (std::nothrow) CrossDevice;
  if (device_ == nullptr) return Status::error(Code::kFailed, "Expected memory for cross-based aggregation, there is none.");
  const size_t tableBytes = sizeof kDifferenceCosts;
  device_->plan = crossPlanOf(parameters, width, height, multiprocessors, static_cast<size_t>(shared) - tableBytes,
                              kCrossVolumeBytes, tuning);
  return device_->open();
}

size_t CrossWorkspace::bytes() const {
  if (device_ == nullptr) return 0;
  size_t bytes = device_->table.bytes() + device_->keys.bytes();
  for (const DeviceBuffer<uint2>& one : device_->features) bytes += one.bytes();
  for (int eye = 0; eye < 2; ++eye) bytes += device_->armsX[eye].bytes() + device_->armsY[eye].bytes() + device_->sums[eye].bytes();
  return bytes;
}

Status CrossWorkspace::compute(const uint8_t* left, const uint8_t* right, int16_t* disparity, int16_t* rightDisparity,
                               cudaStream_t stream) {
  DEPTHWATT_TRY(device_->prepare(left, right, stream));
  for (int32_t chunk = 0; chunk < device_->plan.chunks; ++chunk) {
    DEPTHWATT_TRY(device_->aggregate(device_->arguments(chunk, disparity, rightDisparity), stream));
  }
  return {};
}

}  // namespace gpu
}  // namespace depthwatt
