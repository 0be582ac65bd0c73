// SPDX-License-Identifier: Apache-2.0
// A region of interest on CUDA (decision 0036): crops its window from both images, and places its result in images of
// the whole size.
#include "region_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

template <class Pixel>
struct CropArguments {
  const Pixel* in[2];
  Pixel* out[2];
  int inWidth, x, y, width, height;
};

/// One thread per pixel; z: 0 left, 1 right.
template <class Pixel>
__global__ void __launch_bounds__(256) cropKernel(CropArguments<Pixel> a) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= a.width || y >= a.height) return;
  const size_t from = static_cast<size_t>(a.y + y) * a.inWidth + a.x + x;
  const int side = static_cast<int>(blockIdx.z);
  a.out[side][static_cast<size_t>(y) * a.width + x] = a.in[side][from];
}

struct PlaceArguments {
  const int16_t* windowDisparity;
  const uint8_t* windowConfidence;
  int16_t* disparity;
  uint8_t* confidence;
  int windowX, windowY, windowWidth;
  int left, top, right, bottom;  ///< of the region
  int width, height;
};

/// One thread per pixel of the whole image.
__global__ void __launch_bounds__(256) placeKernel(PlaceArguments a) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= a.width || y >= a.height) return;
  const size_t at = static_cast<size_t>(y) * a.width + x;
  const bool inside = x >= a.left && x < a.right && y >= a.top && y < a.bottom;
  if (!inside) {
    a.disparity[at] = kInvalidDisparity;
    a.confidence[at] = 0;
    return;
  }
  const size_t from = static_cast<size_t>(y - a.windowY) * a.windowWidth + x - a.windowX;
  a.disparity[at] = a.windowDisparity[from];
  a.confidence[at] = a.windowConfidence[from];
}

dim3 tiles(int width, int height, unsigned images) {
  return dim3(static_cast<unsigned>(width + 31) / 32, static_cast<unsigned>(height + 7) / 8, images);
}

template <class Pixel>
Status crop(const Pixel* left, const Pixel* right, int32_t width, const Region& window, Pixel* leftOut, Pixel* rightOut,
            cudaStream_t stream) {
  const CropArguments<Pixel> arguments = {{left, right}, {leftOut, rightOut}, width,        window.x,
                                          window.y,      window.width,        window.height};
  const dim3 grid = tiles(window.width, window.height, right == nullptr ? 1 : 2);
  cropKernel<Pixel><<<grid, dim3(32, 8), 0, stream>>>(arguments);
  return launched("cropKernel");
}

}  // namespace

Status cropPair(const uint8_t* left, const uint8_t* right, int32_t width, const Region& window, uint8_t* leftOut,
                uint8_t* rightOut, cudaStream_t stream) {
  return crop(left, right, width, window, leftOut, rightOut, stream);
}

Status cropPair(const Rgb8* left, const Rgb8* right, int32_t width, const Region& window, Rgb8* leftOut, Rgb8* rightOut,
                cudaStream_t stream) {
  return crop(left, right, width, window, leftOut, rightOut, stream);
}

Status placeRegion(const int16_t* windowDisparityQ4, const uint8_t* windowConfidence, const Region& window,
                   const Region& region, int16_t* disparityQ4, uint8_t* confidence, int32_t width, int32_t height,
                   cudaStream_t stream) {
  const PlaceArguments arguments = {windowDisparityQ4,
                                    windowConfidence,
                                    disparityQ4,
                                    confidence,
                                    window.x,
                                    window.y,
                                    window.width,
                                    region.x,
                                    region.y,
                                    region.x + region.width,
                                    region.y + region.height,
                                    width,
                                    height};
  placeKernel<<<tiles(width, height, 1), dim3(32, 8), 0, stream>>>(arguments);
  return launched("placeKernel");
}

}  // namespace gpu
}  // namespace depthwatt
