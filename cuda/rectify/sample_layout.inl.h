// SPDX-License-Identifier: Apache-2.0
// The memory layout of each format. Compiled once per instruction set and for CUDA's host side, so nothing here may
// have external linkage.

namespace {

/// The eight bits of a pixel in memory: grey, or the mosaic's sample.
struct SampleLayout {
  int32_t bytesPerPixel;          ///< 1 for packed samples
  int32_t shift;                  ///< the low byte of (16 or 24 bits >> shift); unused for one byte per pixel
  int32_t groupLog2 = kUnpacked;  ///< log2 of the samples that a byte with their low bits follows

  static constexpr int32_t kUnpacked = 31;
  /// Returns the byte of a pixel's high bits in its row, if bytesPerPixel is 1.
  int32_t byteOf(int32_t x) const { return x + (x >> groupLog2); }
};

inline bool isBayer(PixelFormat format) { return format >= PixelFormat::kBayerRggb8; }
/// Returns 0 RGGB, 1 GRBG, 2 GBRG, 3 BGGR.
inline int32_t bayerOrder(PixelFormat format) {
  return (static_cast<int32_t>(format) - static_cast<int32_t>(PixelFormat::kBayerRggb8)) & 3;
}
/// Returns 0, 1, 2, 3 for 8, 10, 12, 16 bits, 4 and 5 for 10 and 12 packed bits.
inline int32_t bayerDepth(PixelFormat format) {
  return (static_cast<int32_t>(format) - static_cast<int32_t>(PixelFormat::kBayerRggb8)) >> 2;
}
/// Added to x and y so that a red pixel has both even.
inline int32_t redX(PixelFormat format) { return bayerOrder(format) & 1; }
inline int32_t redY(PixelFormat format) { return bayerOrder(format) >> 1; }

inline SampleLayout sampleLayout(PixelFormat format) {
  constexpr SampleLayout kBayerDepths[6] = {{1, 0}, {2, 2}, {2, 4}, {2, 8}, {1, 0, 2}, {1, 0, 1}};
  if (isBayer(format)) return kBayerDepths[bayerDepth(format)];
  switch (format) {
    case PixelFormat::kRgb8: return {3, 0};  // three samples: its grey is their BT.601 luma
    case PixelFormat::kY12iLeft: return {3, 4};
    case PixelFormat::kY12iRight: return {3, 16};
    case PixelFormat::kY10P: return {1, 0, 2};
    case PixelFormat::kY12P: return {1, 0, 1};
    case PixelFormat::kY8iLeft:
    case PixelFormat::kYuyv: return {2, 0};
    case PixelFormat::kY10: return {2, 2};
    case PixelFormat::kY12: return {2, 4};
    case PixelFormat::kY8iRight:
    case PixelFormat::kUyvy:
    case PixelFormat::kY16: return {2, 8};
    default: return {1, 0};
  }
}

}  // namespace
