// SPDX-License-Identifier: Apache-2.0
// Rectification fused with conversion to grey on CUDA; see rectify.h and README.md.
// One thread computes one output pixel from the four source pixels around its place. Neighbours' places are adjacent,
// so the loads of a warp cover a few cache lines.
#include "rectify_gpu.h"

namespace depthwatt {
namespace gpu {
#include "sample_layout.inl.h"
namespace {

struct Source {
  const uint8_t* data;
  int width, height;
  size_t strideBytes;
  int shift;       ///< of 16-bit samples; packed: log2 of a group's samples
  int redX, redY;  ///< the parity of red's place in the 2 x 2 tile
  int blackLevel;
};

enum class Samples { kByte, kWord, kRgb, kPacked, kTriple };

/// Returns the eight bits of a pixel or of the mosaic's sample: a byte, BT.601 luma of three, or the low byte of (16 or
/// 24 bits >> shift).
template <Samples kSamples>
__device__ __forceinline__ int sampleAt(const Source& s, int x, int y) {
  const uint8_t* row = s.data + static_cast<size_t>(y) * s.strideBytes;
  if (kSamples == Samples::kByte) return row[x];
  if (kSamples == Samples::kPacked) return row[x + (x >> s.shift)];
  if (kSamples == Samples::kTriple)
    return ((row[3 * x] | row[3 * x + 1] << 8 | row[3 * x + 2] << 16) >> s.shift) & 0xff;
  if (kSamples == Samples::kRgb) return (77 * row[3 * x] + 150 * row[3 * x + 1] + 29 * row[3 * x + 2] + 128) >> 8;
  return ((row[2 * x] | row[2 * x + 1] << 8) >> s.shift) & 0xff;
}

__device__ __forceinline__ int mirrored(int i, int n) {
  if (n == 1) return 0;
  if (i < 0) return -i;
  return i >= n ? 2 * (n - 1) - i : i;
}

template <Samples kSamples>
__device__ __forceinline__ int mosaicAt(const Source& s, int x, int y) {
  return sampleAt<kSamples>(s, mirrored(x, s.width), mirrored(y, s.height));
}

template <Samples kSamples>
__device__ int bayerGrey(const Source& s, int x, int y) {
  const int own = 4 * mosaicAt<kSamples>(s, x, y);
  const int sides = mosaicAt<kSamples>(s, x - 1, y) + mosaicAt<kSamples>(s, x + 1, y);
  const int above = mosaicAt<kSamples>(s, x, y - 1) + mosaicAt<kSamples>(s, x, y + 1);
  const bool redColumn = ((x ^ s.redX) & 1) == 0, redRow = ((y ^ s.redY) & 1) == 0;
  int red, green, blue;
  if (redColumn == redRow) {
    const int corners = mosaicAt<kSamples>(s, x - 1, y - 1) + mosaicAt<kSamples>(s, x + 1, y - 1) +
                        mosaicAt<kSamples>(s, x - 1, y + 1) + mosaicAt<kSamples>(s, x + 1, y + 1);
    green = sides + above;
    red = redRow ? own : corners;
    blue = redRow ? corners : own;
  } else {
    green = own;
    red = 2 * (redRow ? sides : above);
    blue = 2 * (redRow ? above : sides);
  }
  return (77 * red + 150 * green + 29 * blue + 512) >> 10;
}

template <Samples kSamples, bool kBayer>
__device__ __forceinline__ int greyAt(const Source& s, int x, int y) {
  return kBayer ? bayerGrey<kSamples>(s, x, y) : sampleAt<kSamples>(s, x, y);
}

template <Samples kSamples, bool kBayer>
__global__ void __launch_bounds__(256)
    rectifyKernel(Source source, const int32_t* map, uint8_t* out, int width, int height) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t index = static_cast<size_t>(y) * width + x;
  if (map == nullptr) {
    out[index] = static_cast<uint8_t>(max(greyAt<kSamples, kBayer>(source, x, y) - source.blackLevel, 0));
    return;
  }
  const int2 from = reinterpret_cast<const int2*>(map)[index];
  const int x0 = from.x >> 5, y0 = from.y >> 5;  // floor, also below 0
  const int fx = from.x & 31, fy = from.y & 31;
  const int left = min(max(x0, 0), source.width - 1), right = min(max(x0 + 1, 0), source.width - 1);
  const int top = min(max(y0, 0), source.height - 1), bottom = min(max(y0 + 1, 0), source.height - 1);
  const int sum = (32 - fx) * (32 - fy) * greyAt<kSamples, kBayer>(source, left, top) +
                  fx * (32 - fy) * greyAt<kSamples, kBayer>(source, right, top) +
                  (32 - fx) * fy * greyAt<kSamples, kBayer>(source, left, bottom) +
                  fx * fy * greyAt<kSamples, kBayer>(source, right, bottom);
  out[index] = static_cast<uint8_t>(max(((sum + 512) >> 10) - source.blackLevel, 0));
}

using RectifyKernel = void (*)(Source, const int32_t*, uint8_t*, int, int);

template <Samples kSamples>
RectifyKernel chooseMosaic(bool bayer) {
  return bayer ? rectifyKernel<kSamples, true> : rectifyKernel<kSamples, false>;
}

}  // namespace

Status rectify(const RectifySource& source, const int32_t* map, uint8_t* out, int32_t width, int32_t height,
               cudaStream_t stream) {
  const bool bayer = isBayer(source.format);
  const SampleLayout layout = sampleLayout(source.format);
  const bool packed = layout.groupLog2 != SampleLayout::kUnpacked;
  const Source view = {source.data,
                       source.width,
                       source.height,
                       source.strideBytes,
                       packed ? layout.groupLog2 : layout.shift,
                       redX(source.format),
                       redY(source.format),
                       source.blackLevel};
  const RectifyKernel kernel = packed                                ? chooseMosaic<Samples::kPacked>(bayer)
                               : layout.bytesPerPixel == 1           ? chooseMosaic<Samples::kByte>(bayer)
                               : layout.bytesPerPixel == 2           ? chooseMosaic<Samples::kWord>(bayer)
                               : source.format == PixelFormat::kRgb8 ? rectifyKernel<Samples::kRgb, false>
                                                                     : rectifyKernel<Samples::kTriple, false>;
  const dim3 grid((width + 31) / 32, (height + 7) / 8);
  kernel<<<grid, dim3(32, 8), 0, stream>>>(view, map, out, width, height);
  return launched("rectifyKernel");
}

}  // namespace gpu
}  // namespace depthwatt
