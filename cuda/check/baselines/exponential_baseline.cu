// SPDX-License-Identifier: Apache-2.0
// Kernels and launches of the forms of exponential-step aggregation; see exponential_baseline.h. Volumes are [d][y][x] uint16.
#include "exponential_baseline.h"

#include "linear_texture.h"

namespace depthwatt {
namespace gpu {
namespace baseline {
namespace {

struct Arguments {
  const uint16_t* from;
  uint16_t* to;
  cudaTextureObject_t texture;
  const Rgb8* rgb;
  int width, height, numDisparities, step;
};

struct CostArguments {
  const uint8_t *left, *right;
  uint16_t* to;
  ExponentialParameters p;
  int width, height;
};

__device__ __forceinline__ int gradientOf(const uint8_t* row, int x, int width) {
  return (row[min(x + 1, width - 1)] - row[max(x - 1, 0)] + 255) / 2;
}

__global__ void costsKernelOf(CostArguments a) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= a.width || y >= a.height) return;
  const size_t pixels = static_cast<size_t>(a.width) * a.height, row = static_cast<size_t>(y) * a.width;
  for (int d = 0; d < a.p.numDisparities; ++d) {
    const int xr = max(x - a.p.minDisparity - d, 0);
    const int grey = abs(a.left[row + x] - a.right[row + xr]);
    const int slopes = abs(gradientOf(a.left + row, x, a.width) - gradientOf(a.right + row, xr, a.width));
    a.to[pixels * d + row + x] = static_cast<uint16_t>(a.p.cost * min(grey, a.p.truncation) +
                                                       a.p.gradientCost * min(slopes, a.p.gradientTruncation));
  }
}

/// The normalised weights of a pixel and of its two neighbours, which have none outside the image.
struct Weights {
  uint32_t before, centre, after;
};
__device__ __forceinline__ Weights weightsOf(const Arguments& a, const ExponentialPass* pass, int x, int y, int dx,
                                             int dy) {
  const Rgb8 own = a.rgb[static_cast<size_t>(y) * a.width + x];
  const auto weight = [&](int qx, int qy) -> uint32_t {
    if (qx < 0 || qx >= a.width || qy < 0 || qy >= a.height) return 0;
    const Rgb8 other = a.rgb[static_cast<size_t>(qy) * a.width + qx];
    return pass->weights[max(max(abs(own.red - other.red), abs(own.green - other.green)), abs(own.blue - other.blue))];
  };
  const uint32_t before = weight(x - dx, y - dy), after = weight(x + dx, y + dy);
  const uint32_t reciprocal = 65535u * 4096u / (4096u + before + after);
  Weights w;
  w.before = before * reciprocal >> 12, w.after = after * reciprocal >> 12;
  w.centre = 65535u - w.before - w.after;
  return w;
}
__device__ __forceinline__ uint16_t averaged(const Weights& w, uint32_t before, uint32_t centre, uint32_t after) {
  return static_cast<uint16_t>((w.before * before >> 16) + (w.centre * centre >> 16) + (w.after * after >> 16));
}

template <bool kAlongX, bool kTexture>
__global__ void aggregateKernel(Arguments a, const ExponentialPass* pass) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= a.width || y >= a.height) return;
  const int dx = kAlongX ? a.step : 0, dy = kAlongX ? 0 : a.step;
  const Weights w = weightsOf(a, pass, x, y, dx, dy);
  const int pixels = a.width * a.height, own = y * a.width + x;
  const int before = max(y - dy, 0) * a.width + max(x - dx, 0);
  const int after = min(y + dy, a.height - 1) * a.width + min(x + dx, a.width - 1);
  for (int d = 0; d < a.numDisparities; ++d) {
    const auto at = [&](int p) -> uint32_t {
      return kTexture ? tex1Dfetch<uint16_t>(a.texture, pixels * d + p) : a.from[static_cast<size_t>(pixels) * d + p];
    };
    a.to[static_cast<size_t>(pixels) * d + own] = averaged(w, at(before), at(own), at(after));
  }
}

/// The paper's figures 10 and 11: a block reads the aligned parts of its rows that hold the neighbours on either side.
__global__ void coalescedAlongXKernel(Arguments a, const ExponentialPass* pass) {
  extern __shared__ uint16_t parts[];
  const int x0 = blockIdx.x * blockDim.x, y = blockIdx.y * blockDim.y + threadIdx.y, across = blockDim.x;
  const int x = x0 + static_cast<int>(threadIdx.x);
  uint16_t* const before = parts + threadIdx.y * 2 * (across + 32);
  uint16_t* const after = before + across + 32;
  // Rounded down to a multiple of 32, also below 0.
  const int firstBefore = (x0 - a.step) & ~31, firstAfter = (x0 + a.step) & ~31;
  const bool isPixel = x < a.width && y < a.height;
  Weights w = {0, 0, 0};
  if (isPixel) w = weightsOf(a, pass, x, y, a.step, 0);
  const size_t pixels = static_cast<size_t>(a.width) * a.height,
               row = static_cast<size_t>(min(y, a.height - 1)) * a.width;
  for (int d = 0; d < a.numDisparities; ++d) {
    const uint16_t* const from = a.from + pixels * d + row;
    __syncthreads();
    for (int i = threadIdx.x; i < across + 32; i += across) {
      before[i] = from[min(max(firstBefore + i, 0), a.width - 1)];
      after[i] = from[min(max(firstAfter + i, 0), a.width - 1)];
    }
    __syncthreads();
    if (isPixel)
      a.to[pixels * d + row + x] =
          averaged(w, before[x - a.step - firstBefore], from[x], after[x + a.step - firstAfter]);
  }
}

__global__ void winnersKernel(Arguments a, int minDisparity, int16_t* disparity) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= a.width || y >= a.height) return;
  const size_t pixels = static_cast<size_t>(a.width) * a.height, own = static_cast<size_t>(y) * a.width + x;
  int best = 0;
  uint32_t least = a.from[own];
  for (int d = 1; d < a.numDisparities; ++d) {
    const uint32_t value = a.from[pixels * d + own];
    if (value < least) least = value, best = d;
  }
  disparity[own] = static_cast<int16_t>(minDisparity + best);
}

}  // namespace

const char* exponentialFormName(ExponentialForm form) {
  switch (form) {
    case ExponentialForm::kTexture: return "ESAW baseline, texture";
    case ExponentialForm::kGlobal: return "ESAW global memory";
    default: return "ESAW coalesced";
  }
}

ExponentialBaseline::~ExponentialBaseline() {
  if (texture_ != 0) cudaDestroyTextureObject(texture_);
}

Status ExponentialBaseline::open(ExponentialForm form, const BlockSize& block, const ExponentialParameters& parameters,
                                 int width, int height) {
  form_ = form, block_ = block, parameters_ = parameters, width_ = width, height_ = height;
  passCount_ = exponentialPasses(parameters, width, height, passes_);
  const size_t cells = static_cast<size_t>(width) * height * parameters.numDisparities;
  for (DeviceBuffer<uint16_t>& volume : cells_) DEPTHWATT_TRY(volume.allocate(cells));
  DEPTHWATT_TRY(devicePasses_.allocate(2 * kMaxSteps));
  DEPTHWATT_CUDA(cudaMemcpy(devicePasses_.get(), passes_, sizeof passes_, cudaMemcpyHostToDevice));
  return form == ExponentialForm::kTexture ? createLinearTexture(cells_[1].get(), cells, &texture_) : Status();
}

Status ExponentialBaseline::aggregate(const ExponentialPass* pass, bool alongX, int step, const Rgb8* leftRgb,
                                      cudaStream_t stream) {
  const dim3 threads(static_cast<unsigned>(block_.width), static_cast<unsigned>(block_.height));
  const dim3 grid(static_cast<unsigned>((width_ + block_.width - 1) / block_.width),
                  static_cast<unsigned>((height_ + block_.height - 1) / block_.height));
  Arguments a = {};
  a.from = cells_[current_].get(), a.to = cells_[1 - current_].get(), a.texture = texture_, a.rgb = leftRgb;
  a.width = width_, a.height = height_, a.numDisparities = parameters_.numDisparities, a.step = step;
  if (form_ == ExponentialForm::kTexture) {
    // The costs are copied to where the texture reads, and the pass writes where they were.
    DEPTHWATT_CUDA(
        cudaMemcpyAsync(cells_[1].get(), cells_[0].get(), cells_[0].bytes(), cudaMemcpyDeviceToDevice, stream));
    a.to = cells_[0].get();
    const auto kernel = alongX ? aggregateKernel<true, true> : aggregateKernel<false, true>;
    kernel<<<grid, threads, 0, stream>>>(a, pass);
    return launched("aggregation");
  }
  if (form_ == ExponentialForm::kCoalesced && alongX) {
    const size_t shared = sizeof(uint16_t) * block_.height * 2 * (block_.width + 32);
    coalescedAlongXKernel<<<grid, threads, shared, stream>>>(a, pass);
  } else {
    const auto kernel = alongX ? aggregateKernel<true, false> : aggregateKernel<false, false>;
    kernel<<<grid, threads, 0, stream>>>(a, pass);
  }
  current_ = 1 - current_;
  return launched("aggregation");
}

Status ExponentialBaseline::onePass(bool alongX, const Rgb8* leftRgb, cudaStream_t stream) {
  for (int i = 0; i < passCount_; ++i) {
    if (passes_[i].alongX == alongX)
      return aggregate(devicePasses_.get() + i, alongX, passes_[i].step, leftRgb, stream);
  }
  return Status::error(Code::kFailed, "No pass runs in this direction.");
}

Status ExponentialBaseline::compute(const uint8_t* left, const uint8_t* right, const Rgb8* leftRgb, int16_t* disparity,
                                    cudaStream_t stream) {
  const dim3 threads(32, 4), grid(static_cast<unsigned>((width_ + 31) / 32), static_cast<unsigned>((height_ + 3) / 4));
  current_ = 0;
  CostArguments costs = {left, right, cells_[0].get(), parameters_, width_, height_};
  costsKernelOf<<<grid, threads, 0, stream>>>(costs);
  DEPTHWATT_TRY(launched("costs"));
  for (int i = 0; i < passCount_; ++i) {
    DEPTHWATT_TRY(aggregate(devicePasses_.get() + i, passes_[i].alongX, passes_[i].step, leftRgb, stream));
  }
  Arguments a = {};
  a.from = cells_[current_].get(), a.width = width_, a.height = height_, a.numDisparities = parameters_.numDisparities;
  winnersKernel<<<grid, threads, 0, stream>>>(a, parameters_.minDisparity, disparity);
  return launched("winners");
}

}  // namespace baseline
}  // namespace gpu
}  // namespace depthwatt
