// SPDX-License-Identifier: Apache-2.0
// Rectification in colours on CUDA, for matchers that need them; see rectify.h and README.md.
// One thread computes one output pixel: the three colours of the four source pixels around its place, from one read of
// their bytes. A mosaic's four pixels have 16 samples around them, which are read once.
#include "rectify_gpu.h"

namespace depthwatt {
namespace gpu {
#include "sample_layout.inl.h"
namespace {

/// Mosaics of bytes; of packed samples; of words at multiples of two bytes; of words anywhere.
enum class Kind { kRgb, kPacked422, kNv12, kMosaic8, kMosaicPacked, kMosaic16, kMosaic16Anywhere };

struct Source {
  const uint8_t* data;
  int width, height;
  size_t strideBytes;
  int lumaAt;      ///< 4:2:2: 0 luma first, 1 chroma first
  int shift;       ///< mosaic of words: the eight bits are the low byte of (word >> shift); packed: log2 of a group
  int redX, redY;  ///< mosaic: added to x and y so that a red pixel has both even
  int blackLevel;
};

struct Colours {
  int red, green, blue;
};

__device__ __forceinline__ const uint8_t* sourceRow(const Source& s, int y) {
  return s.data + static_cast<size_t>(y) * s.strideBytes;
}

__device__ __forceinline__ int mirrorInto(int i, int n) {
  if (n == 1) return 0;
  return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
}

__device__ __forceinline__ int clampToByte(int i) { return min(max(i, 0), 255); }

/// BT.601 with full-range luma.
__device__ __forceinline__ Colours toRgb(int luma, int u, int v) {
  u -= 128, v -= 128;
  return {clampToByte(luma + ((359 * v + 128) >> 8)), clampToByte(luma - ((88 * u + 183 * v + 128) >> 8)),
          clampToByte(luma + ((454 * u + 128) >> 8))};
}

template <Kind kKind>
__device__ __forceinline__ int loadSample(const Source& s, const uint8_t* row, int x) {
  if (kKind == Kind::kMosaic8) return row[x];
  if (kKind == Kind::kMosaicPacked) return row[x + (x >> s.shift)];
  const int word =
      kKind == Kind::kMosaic16 ? reinterpret_cast<const uint16_t*>(row)[x] : row[2 * x] | row[2 * x + 1] << 8;
  return (word >> s.shift) & 0xff;
}

/// Bilinear demosaicing of pixel (x, y). at(row, column) returns the samples at -1, 0 and 1.
template <class At>
__device__ __forceinline__ Colours demosaiced(const Source& s, int x, int y, const At& at) {
  const int own = at(0, 0), sides = at(0, -1) + at(0, 1), above = at(-1, 0) + at(1, 0);
  const int corners = at(-1, -1) + at(-1, 1) + at(1, -1) + at(1, 1);
  const bool redColumn = ((x ^ s.redX) & 1) == 0, redRow = ((y ^ s.redY) & 1) == 0;
  if (redColumn != redRow) {
    const int inRow = (sides + 1) >> 1, inColumn = (above + 1) >> 1;
    return {redRow ? inRow : inColumn, own, redRow ? inColumn : inRow};
  }
  const int other = (corners + 2) >> 2;
  return {redRow ? own : other, (sides + above + 2) >> 2, redRow ? other : own};
}

template <Kind kKind>
__device__ Colours mosaicColours(const Source& s, int x, int y) {
  const uint8_t* const rows[3] = {sourceRow(s, mirrorInto(y - 1, s.height)), sourceRow(s, y),
                                  sourceRow(s, mirrorInto(y + 1, s.height))};
  const int columns[3] = {mirrorInto(x - 1, s.width), x, mirrorInto(x + 1, s.width)};
  return demosaiced(s, x, y,
                    [&](int row, int column) { return loadSample<kKind>(s, rows[row + 1], columns[column + 1]); });
}

template <Kind kKind>
__device__ __forceinline__ Colours coloursAt(const Source& s, int x, int y) {
  const uint8_t* const row = sourceRow(s, y);
  switch (kKind) {
    case Kind::kRgb: return {row[3 * x], row[3 * x + 1], row[3 * x + 2]};
    case Kind::kPacked422: {
      // Two pixels share their chroma; the last of an odd width takes the previous one, a single column has none.
      const int luma = row[2 * x + s.lumaAt], whole = s.width >> 1;
      if (whole == 0) return {luma, luma, luma};
      const uint8_t* const pair = row + 4 * min(x >> 1, whole - 1) + 1 - s.lumaAt;
      return toRgb(luma, pair[0], pair[2]);
    }
    case Kind::kNv12: {
      const uint8_t* const uv = sourceRow(s, s.height + (y >> 1)) + 2 * (x >> 1);
      return toRgb(row[x], uv[0], uv[1]);
    }
    default: return mosaicColours<kKind>(s, x, y);
  }
}

template <Kind kKind>
__global__ void __launch_bounds__(256)
    rectifyRgbKernel(Source source, const int32_t* map, Rgb8* out, int width, int height) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t index = static_cast<size_t>(y) * width + x;
  Colours c;
  if (map == nullptr) {
    c = coloursAt<kKind>(source, x, y);
  } else {
    const int2 from = reinterpret_cast<const int2*>(map)[index];
    const int x0 = from.x >> 5, y0 = from.y >> 5;  // floor, also below 0
    const int fx = from.x & 31, fy = from.y & 31;
    const int left = min(max(x0, 0), source.width - 1), right = min(max(x0 + 1, 0), source.width - 1);
    const int top = min(max(y0, 0), source.height - 1), bottom = min(max(y0 + 1, 0), source.height - 1);
    Colours a, b, d, e;
    constexpr bool kMosaic = kKind >= Kind::kMosaic8;
    if (kMosaic && right > left && bottom > top) {
      // Rows and columns -1 to 2 of the pixel at the top left.
      int samples[4][4];
#pragma unroll
      for (int row = 0; row < 4; ++row) {
        const uint8_t* const from = sourceRow(source, mirrorInto(top + row - 1, source.height));
#pragma unroll
        for (int column = 0; column < 4; ++column)
          samples[row][column] = loadSample<kKind>(source, from, mirrorInto(left + column - 1, source.width));
      }
      const auto around = [&](int across, int down) {
        return demosaiced(source, left + across, top + down,
                          [&](int row, int column) { return samples[1 + down + row][1 + across + column]; });
      };
      a = around(0, 0), b = around(1, 0), d = around(0, 1), e = around(1, 1);
    } else {
      a = coloursAt<kKind>(source, left, top), b = coloursAt<kKind>(source, right, top);
      d = coloursAt<kKind>(source, left, bottom), e = coloursAt<kKind>(source, right, bottom);
    }
    const auto between = [&](int leftTop, int rightTop, int leftBottom, int rightBottom) {
      return ((32 - fy) * ((32 - fx) * leftTop + fx * rightTop) + fy * ((32 - fx) * leftBottom + fx * rightBottom) +
              512) >>
             10;
    };
    c = {between(a.red, b.red, d.red, e.red), between(a.green, b.green, d.green, e.green),
         between(a.blue, b.blue, d.blue, e.blue)};
  }
  Rgb8& pixel = out[index];
  pixel.red = static_cast<uint8_t>(max(c.red - source.blackLevel, 0));
  pixel.green = static_cast<uint8_t>(max(c.green - source.blackLevel, 0));
  pixel.blue = static_cast<uint8_t>(max(c.blue - source.blackLevel, 0));
}

__global__ void __launch_bounds__(256) greyAsRgbKernel(const uint8_t* grey, Rgb8* out, int pixels) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= pixels) return;
  Rgb8& pixel = out[i];
  pixel.red = pixel.green = pixel.blue = grey[i];
}

using RectifyRgbKernel = void (*)(Source, const int32_t*, Rgb8*, int, int);

RectifyRgbKernel chooseKernel(const RectifySource& source) {
  const PixelFormat format = source.format;
  if (format == PixelFormat::kRgb8) return rectifyRgbKernel<Kind::kRgb>;
  if (format == PixelFormat::kNv12) return rectifyRgbKernel<Kind::kNv12>;
  if (!isBayer(format)) return rectifyRgbKernel<Kind::kPacked422>;
  if (bayerDepth(format) == 0) return rectifyRgbKernel<Kind::kMosaic8>;
  if (bayerDepth(format) >= 4) return rectifyRgbKernel<Kind::kMosaicPacked>;
  const bool even = (reinterpret_cast<uintptr_t>(source.data) | source.strideBytes) % 2 == 0;
  return even ? rectifyRgbKernel<Kind::kMosaic16> : rectifyRgbKernel<Kind::kMosaic16Anywhere>;
}

}  // namespace

Status rectifyRgb(const RectifySource& source, const int32_t* map, Rgb8* out, int32_t width, int32_t height,
                  cudaStream_t stream) {
  const bool bayer = isBayer(source.format);
  const SampleLayout layout = sampleLayout(source.format);
  const Source view = {source.data,
                       source.width,
                       source.height,
                       source.strideBytes,
                       source.format == PixelFormat::kUyvy ? 1 : 0,
                       layout.groupLog2 == SampleLayout::kUnpacked ? layout.shift : layout.groupLog2,
                       bayer ? redX(source.format) : 0,
                       bayer ? redY(source.format) : 0,
                       source.blackLevel};
  const dim3 grid((width + 31) / 32, (height + 7) / 8);
  chooseKernel(source)<<<grid, dim3(32, 8), 0, stream>>>(view, map, out, width, height);
  return launched("rectifyRgbKernel");
}

Status greyAsRgb(const uint8_t* grey, Rgb8* out, int32_t width, int32_t height, cudaStream_t stream) {
  const int pixels = width * height;
  greyAsRgbKernel<<<(pixels + 255) / 256, 256, 0, stream>>>(grey, out, pixels);
  return launched("greyAsRgbKernel");
}

}  // namespace gpu
}  // namespace depthwatt
