// SPDX-License-Identifier: Apache-2.0
// Weighted hue, saturation and value on CUDA; see hsv.h. One thread, one pixel of one image.
#include "hsv.h"

#include "../../device/check.h"
#include "../hsv_pixel.cuh"

namespace depthwatt {
namespace gpu {
namespace {

struct HsvArguments {
  const Rgb8 *left, *right;
  uint2 *leftOut, *rightOut;
  int width, height;
  int hueUnits, saturationUnits, valueUnits;  ///< units of a grey value, times 100
};

__global__ void __launch_bounds__(256) hsvKernel(HsvArguments a) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= a.width || y >= a.height) return;
  const size_t at = static_cast<size_t>(y) * a.width + x;
  const Rgb8 pixel = (blockIdx.z == 0 ? a.left : a.right)[at];
  const int red = pixel.red, green = pixel.green, blue = pixel.blue;
  const int largest = max(red, max(green, blue)), chroma = largest - min(red, min(green, blue));
  const int value = (a.valueUnits * largest + 50) / 100;
  const int saturation = largest > 0 ? (a.saturationUnits * 51 * chroma + 10 * largest) / (20 * largest) : 0;
  int across = 0, down = 0;
  if (chroma > 0) {
    int hue = red == largest ? green - blue : green == largest ? 2 * chroma + blue - red : 4 * chroma + red - green;
    if (hue < 0) hue += 6 * chroma;
    const int whole = 6 * chroma, quarter = 4 * hue / whole, rest = 4 * hue - quarter * whole;
    const int side = (32 * a.hueUnits + 25) / 50, along = (32 * a.hueUnits * rest + 25 * whole) / (50 * whole);
    across = quarter == 0 ? along : quarter == 1 ? side : quarter == 2 ? side - along : 0;
    down = quarter == 0 ? 0 : quarter == 1 ? along : quarter == 2 ? side : side - along;
  }
  const int saturationLow = saturation >> 1, valueLow = value >> 1;
  (blockIdx.z == 0 ? a.leftOut : a.rightOut)[at] =
      make_uint2(static_cast<uint32_t>(across | down << 8 | saturationLow << 16) |
                     static_cast<uint32_t>(saturation - saturationLow) << 24,
                 static_cast<uint32_t>(valueLow | (value - valueLow) << 8));
}

}  // namespace

Status hsv(const HsvWeights& weights, const Rgb8* left, const Rgb8* right, HsvPixel* leftOut, HsvPixel* rightOut,
           int32_t width, int32_t height, cudaStream_t stream) {
  HsvArguments a = {};
  a.left = left, a.right = right;
  a.leftOut = reinterpret_cast<uint2*>(leftOut), a.rightOut = reinterpret_cast<uint2*>(rightOut);
  a.width = width, a.height = height;
  const int units = hsvUnits(weights);
  a.hueUnits = units * weights.hue, a.saturationUnits = units * weights.saturation,
  a.valueUnits = units * weights.value;
  hsvKernel<<<dim3((width + 31) / 32, (height + 7) / 8, 2), dim3(32, 8), 0, stream>>>(a);
  return launched("hsvKernel");
}

}  // namespace gpu
}  // namespace depthwatt
