// SPDX-License-Identifier: Apache-2.0
// Rectification in colours on CUDA, for matchers that need them; see rectify.h. One thread computes one pixel.
#include "../gpu/kernels.h"

namespace depthwatt {
namespace gpu {
#include "sample_layout.inl.h"
namespace {

enum class Kind { kRgb, kPacked422, kBayer };

struct Packed {
  const uint8_t* data;
  int width, height;
  size_t strideBytes;
  Kind kind;
  int lumaAt;             ///< 4:2:2: 0 luma first, 1 chroma first
  int bytes, shift;       ///< mosaic: of a sample, whose eight bits are the low byte of (it >> shift)
  int redX, redY;         ///< mosaic: added to x and y so that a red pixel has both even
};

struct Weighted {
  int left, right, top, bottom;  ///< places of the four pixels
  int weights[4];                ///< of left top, right top, left bottom, right bottom
};

__device__ __forceinline__ int mirrorInto(int i, int n) {
  if (n == 1) return 0;
  return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
}

__device__ __forceinline__ int sampleAt(const Packed& s, int x, int y) {
  const uint8_t* row = s.data + static_cast<size_t>(mirrorInto(y, s.height)) * s.strideBytes;
  x = mirrorInto(x, s.width);
  return s.bytes == 1 ? row[x] : ((row[2 * x] | row[2 * x + 1] << 8) >> s.shift) & 0xff;
}

/// Bilinear demosaicing.
__device__ int mosaicColour(const Packed& s, int x, int y, int colour) {
  const int px = (x + s.redX) & 1, py = (y + s.redY) & 1;
  if (colour == 1) {
    if (px != py) return sampleAt(s, x, y);
    return (sampleAt(s, x - 1, y) + sampleAt(s, x + 1, y) + sampleAt(s, x, y - 1) + sampleAt(s, x, y + 1) + 2) >> 2;
  }
  const int own = colour >> 1;
  if (px == own && py == own) return sampleAt(s, x, y);
  if (py == own) return (sampleAt(s, x - 1, y) + sampleAt(s, x + 1, y) + 1) >> 1;
  if (px == own) return (sampleAt(s, x, y - 1) + sampleAt(s, x, y + 1) + 1) >> 1;
  return (sampleAt(s, x - 1, y - 1) + sampleAt(s, x + 1, y - 1) + sampleAt(s, x - 1, y + 1) + sampleAt(s, x + 1, y + 1) + 2) >> 2;
}

/// BT.601, luma of full range; two pixels share their chroma.
__device__ int packedColour(const Packed& s, int x, int y, int colour) {
  const uint8_t* row = s.data + static_cast<size_t>(y) * s.strideBytes;
  const int luma = row[2 * x + s.lumaAt], whole = s.width >> 1;
  if (whole == 0) return luma;
  const uint8_t* pair = row + 4 * min(x >> 1, whole - 1) + 1 - s.lumaAt;
  const int u = pair[0] - 128, v = pair[2] - 128;
  const int added = colour == 0 ? (359 * v + 128) >> 8 : colour == 1 ? -((88 * u + 183 * v + 128) >> 8) : (454 * u + 128) >> 8;
  return min(max(luma + added, 0), 255);
}

__device__ __forceinline__ int colourAt(const Packed& s, int x, int y, int colour) {
  if (s.kind == Kind::kBayer) return mosaicColour(s, x, y, colour);
  if (s.kind == Kind::kPacked422) return packedColour(s, x, y, colour);
  return s.data[static_cast<size_t>(y) * s.strideBytes + 3 * x + colour];
}

__device__ __forceinline__ uint8_t between(const Packed& s, const Weighted& w, int colour) {
  const int sum = w.weights[0] * colourAt(s, w.left, w.top, colour) + w.weights[1] * colourAt(s, w.right, w.top, colour) +
                  w.weights[2] * colourAt(s, w.left, w.bottom, colour) + w.weights[3] * colourAt(s, w.right, w.bottom, colour);
  return static_cast<uint8_t>((sum + 512) >> 10);
}

__global__ void __launch_bounds__(256) rectifyRgbKernel(Packed source, const int32_t* map, Rgb8* out, int width, int height) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t index = static_cast<size_t>(y) * width + x;
  Weighted w = {x, x, y, y, {1024, 0, 0, 0}};
  if (map != nullptr) {
    const int2 from = reinterpret_cast<const int2*>(map)[index];
    const int x0 = from.x >> 5, y0 = from.y >> 5;  // floor, also below 0
    const int fx = from.x & 31, fy = from.y & 31;
    w.left = min(max(x0, 0), source.width - 1), w.right = min(max(x0 + 1, 0), source.width - 1);
    w.top = min(max(y0, 0), source.height - 1), w.bottom = min(max(y0 + 1, 0), source.height - 1);
    w.weights[0] = (32 - fx) * (32 - fy), w.weights[1] = fx * (32 - fy);
    w.weights[2] = (32 - fx) * fy, w.weights[3] = fx * fy;
  }
  Rgb8& pixel = out[index];
  pixel.red = between(source, w, 0);
  pixel.green = between(source, w, 1);
  pixel.blue = between(source, w, 2);
}

__global__ void __launch_bounds__(256) greyAsRgbKernel(const uint8_t* grey, Rgb8* out, int pixels) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= pixels) return;
  Rgb8& pixel = out[i];
  pixel.red = pixel.green = pixel.blue = grey[i];
}

}  // namespace

Status rectifyRgb(const RectifySource& source, const int32_t* map, Rgb8* out, int32_t width, int32_t height, cudaStream_t stream) {
  const SampleLayout layout = sampleLayoutOf(source.format);
  const Kind kind = source.format == PixelFormat::kRgb8 ? Kind::kRgb : isBayer(source.format) ? Kind::kBayer : Kind::kPacked422;
  const Packed view = {source.data, source.width, source.height, source.strideBytes, kind,
                       source.format == PixelFormat::kUyvy ? 1 : 0, layout.bytesPerPixel, layout.shift,
                       kind == Kind::kBayer ? redX(source.format) : 0, kind == Kind::kBayer ? redY(source.format) : 0};
  const dim3 grid((width + 31) / 32, (height + 7) / 8);
  rectifyRgbKernel<<<grid, dim3(32, 8), 0, stream>>>(view, map, out, width, height);
  return launched("rectifyRgbKernel");
}

Status greyAsRgb(const uint8_t* grey, Rgb8* out, int32_t width, int32_t height, cudaStream_t stream) {
  const int pixels = width * height;
  greyAsRgbKernel<<<(pixels + 255) / 256, 256, 0, stream>>>(grey, out, pixels);
  return launched("greyAsRgbKernel");
}

}  // namespace gpu
}  // namespace depthwatt
