// SPDX-License-Identifier: Apache-2.0
// Kernels and launches of the forms of the pyramid kernel; see pyramid_baseline.h.
#include "pyramid_baseline.h"

#include "../../match/hsv_pixel.cuh"
#include "linear_texture.h"

namespace depthwatt {
namespace gpu {
namespace baseline {
namespace {

constexpr uint32_t kNoSum = 0x7fffffffu;

/// Listing 5.7: a pixel of the smaller copy is the mean of four. @param factor eighths: 3 from the image, 2 from a copy
__global__ void scaleDownKernel(const HsvPixel* from, HsvPixel* to, int fromWidth, int fromHeight, int width,
                                int height, int factor) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int hueAcross = 0, hueDown = 0, saturation = 0, value = 0;
  for (int k = 0; k < 4; ++k) {
    const int px = min(2 * x + k % 2, fromWidth - 1), py = min(2 * y + k / 2, fromHeight - 1);
    const HsvPixel p = from[static_cast<size_t>(py) * fromWidth + px];
    hueAcross += p.hueAcross, hueDown += p.hueDown;
    saturation += p.saturationLow + p.saturationHigh + p.none[0];
    value += p.valueLow + p.valueHigh + p.none[1];
  }
  const auto part = [factor](int sum, int before) {
    return static_cast<uint8_t>(min(255, max(0, ((sum * factor + 4) >> 3) - before)));
  };
  HsvPixel out;
  out.hueAcross = part(hueAcross, 0), out.hueDown = part(hueDown, 0);
  out.saturationLow = part(saturation, 0), out.saturationHigh = part(saturation, 255),
  out.none[0] = part(saturation, 510);
  out.valueLow = part(value, 0), out.valueHigh = part(value, 255), out.none[1] = part(value, 510);
  to[static_cast<size_t>(y) * width + x] = out;
}

struct Arguments {
  cudaTextureObject_t left, right;
  const int16_t* coarse;  ///< disparities of the level above; null at the coarsest
  int16_t* whole;
  int width, height, coarseWidth, windowWidth, windowHeight, lowest, highest, peakRatio;
};

/// A block matches one pixel: its threads load the columns of the left window, then those of the strip that holds the
/// windows of all candidates, and then add up one candidate each. kSide, kRange: of a square window, and the number of
/// candidates; 0 if only the arguments have them.
template <int kSide, int kRange>
__global__ void pyramidKernel(Arguments a) {
  extern __shared__ uint2 columns[];
  const int windowWidth = kSide > 0 ? kSide : a.windowWidth, windowHeight = kSide > 0 ? kSide : a.windowHeight;
  const int range = kRange > 0 ? kRange : static_cast<int>(blockDim.x) - 2 * windowWidth + 1;
  const int x = blockIdx.x, y = blockIdx.y, thread = threadIdx.x, last = a.width - 1;
  int first = a.lowest;
  if (a.coarse != nullptr) first = 2 * a.coarse[static_cast<size_t>(y / 2) * a.coarseWidth + x / 2] - 1;
  // The strip starts at the window of the last candidate, which is the one farthest to the left.
  const int column = thread < windowWidth ? x - windowWidth / 2 + thread
                                          : x - windowWidth / 2 - (first + range - 1) + thread - windowWidth;
  for (int j = 0; j < windowHeight; ++j) {
    const int row = min(max(y + j - windowHeight / 2, 0), a.height - 1);
    columns[windowHeight * thread + j] =
        tex1Dfetch<uint2>(thread < windowWidth ? a.left : a.right, row * a.width + min(max(column, 0), last));
  }
  uint32_t* const sums = reinterpret_cast<uint32_t*>(columns + windowHeight * blockDim.x);
  __syncthreads();
  if (thread < range) {
    const int d = first + thread;
    const uint2* const strip = columns + windowHeight * (windowWidth + range - 1 - thread);
    uint32_t sum = 0;
    for (int i = 0; i < windowWidth; ++i) {
      for (int j = 0; j < windowHeight; ++j)
        sum = plusDifferences(columns[windowHeight * i + j], strip[windowHeight * i + j], sum);
    }
    sums[thread] = d < a.lowest || d > a.highest ? kNoSum : sum;
  }
  __syncthreads();
  if (thread != 0) return;
  uint32_t least = kNoSum, second = kNoSum;
  int best = 0, secondPlace = 0;
  for (int c = 0; c < range; ++c) {
    if (sums[c] == kNoSum) continue;
    if (sums[c] <= least) {
      second = least, secondPlace = best;
      least = sums[c], best = c;
    } else if (sums[c] <= second) {
      second = sums[c], secondPlace = c;
    }
  }
  if (a.coarse != nullptr && best != 1 && sums[1] != kNoSum && second != kNoSum &&
      100 * (second - least) < static_cast<uint32_t>(a.peakRatio * abs(secondPlace - best)) * second)
    best = 1;
  a.whole[static_cast<size_t>(y) * a.width + x] = static_cast<int16_t>(first + best);
}

template <int kRange>
void launchPyramid(int side, dim3 grid, unsigned threads, size_t shared, cudaStream_t stream, const Arguments& a) {
  const auto kernel = side == 3   ? pyramidKernel<3, kRange>
                      : side == 5 ? pyramidKernel<5, kRange>
                      : side == 7 ? pyramidKernel<7, kRange>
                                  : pyramidKernel<0, 0>;
  kernel<<<grid, threads, shared, stream>>>(a);
}

}  // namespace

const char* pyramidFormName(PyramidForm form) {
  return form == PyramidForm::kOriginal ? "original pyramid kernel" : "optimised pyramid kernel";
}

bool pyramidFormSuits(PyramidForm form, const PyramidParameters& p) {
  return form == PyramidForm::kOriginal || (p.windowWidth == p.windowHeight && p.windowWidth <= 7);
}

PyramidBaseline::~PyramidBaseline() {
  for (const auto& side : textures_) {
    for (const cudaTextureObject_t texture : side)
      if (texture != 0) cudaDestroyTextureObject(texture);
  }
}

Status PyramidBaseline::open(PyramidForm form, const PyramidParameters& parameters, int width, int height) {
  form_ = form, p_ = parameters;
  width_[0] = width, height_[0] = height;
  for (int level = 0; level <= p_.levels; ++level) {
    if (level > 0) width_[level] = (width_[level - 1] + 1) / 2, height_[level] = (height_[level - 1] + 1) / 2;
    const size_t pixels = static_cast<size_t>(width_[level]) * height_[level];
    for (int side = 0; side < 2; ++side) {
      DEPTHWATT_TRY(copies_[side][level].allocate(pixels));
      DEPTHWATT_TRY(
          createLinearTexture(reinterpret_cast<uint2*>(copies_[side][level].get()), pixels, &textures_[side][level]));
    }
    if (level > 0) DEPTHWATT_TRY(wholes_[level].allocate(pixels));
  }
  return {};
}

Status PyramidBaseline::scaleDown(const HsvPixel* image, int side, int level, cudaStream_t stream) {
  const dim3 threads(32, 8),
      grid(static_cast<unsigned>((width_[level] + 31) / 32), static_cast<unsigned>((height_[level] + 7) / 8));
  scaleDownKernel<<<grid, threads, 0, stream>>>(image, copies_[side][level].get(), width_[level - 1],
                                                height_[level - 1], width_[level], height_[level], level == 1 ? 3 : 2);
  return launched("scaling down");
}

Status PyramidBaseline::compute(const HsvPixel* left, const HsvPixel* right, int16_t* disparity, cudaStream_t stream) {
  for (int side = 0; side < 2; ++side) {
    // The textures are bound to memory of the form's own.
    DEPTHWATT_CUDA(cudaMemcpyAsync(copies_[side][0].get(), side == 0 ? left : right, copies_[side][0].bytes(),
                                   cudaMemcpyDeviceToDevice, stream));
    for (int level = 1; level <= p_.levels; ++level)
      DEPTHWATT_TRY(scaleDown(copies_[side][level - 1].get(), side, level, stream));
  }
  for (int level = p_.levels; level >= 0; --level) {
    Arguments a = {};
    a.left = textures_[0][level], a.right = textures_[1][level];
    a.whole = level > 0 ? wholes_[level].get() : disparity;
    a.width = width_[level], a.height = height_[level];
    a.windowWidth = p_.windowWidth, a.windowHeight = p_.windowHeight, a.peakRatio = p_.peakRatio;
    a.lowest = p_.lowest(level), a.highest = p_.highest(level);
    const bool coarsest = level == p_.levels;
    if (!coarsest) a.coarse = wholes_[level + 1].get(), a.coarseWidth = width_[level + 1];
    const int range = coarsest ? a.highest - a.lowest + 1 : kPyramidCandidates;
    const auto threads = static_cast<unsigned>(2 * a.windowWidth + range - 1);
    const size_t shared = sizeof(uint2) * threads * a.windowHeight + sizeof(uint32_t) * range;
    const dim3 grid(static_cast<unsigned>(a.width), static_cast<unsigned>(a.height));
    const int side = form_ == PyramidForm::kOptimised ? a.windowWidth : 0;
    if (coarsest) launchPyramid<0>(side, grid, threads, shared, stream, a);
    else launchPyramid<kPyramidCandidates>(side, grid, threads, shared, stream, a);
    DEPTHWATT_TRY(launched("pyramid"));
  }
  return {};
}

}  // namespace baseline
}  // namespace gpu
}  // namespace depthwatt
