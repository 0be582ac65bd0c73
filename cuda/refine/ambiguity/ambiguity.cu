// SPDX-License-Identifier: Apache-2.0
// Where a pair cannot tell a disparity, on CUDA; see ambiguity.h. A thread block has 16 x 4 of the blocks. What their rows and those beside
// them are unlike themselves, for every shift, and the sums of their samples lie in shared memory.
#include "ambiguity.h"

#include "../../gpu/kernels.h"
#include "../../gpu/launch.cuh"
#include "../../gpu/traits.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kColumns = 16, kRows = 4, kBlocks = kColumns * kRows, kThreads = 256;
constexpr int kUnlikeColumns = kColumns + 2, kUnlikeRows = kRows + 2;
constexpr int kWindowsColumns = kColumns + 2 * kSpreadColumns, kWindowsRows = kRows + 2 * kSpreadRows;
constexpr int kSignalColumns = kWindowsColumns + 2 * kWindowColumns, kSignalRows = kWindowsRows + 2 * kWindowRows;
constexpr int kPixels = kUnlikeColumns * kBlockColumns + kLastRepeat;

struct Pair {
  const uint8_t *left, *right;
  const int16_t* disparityQ4;
  int width, height, columns, rows;
};

__device__ __forceinline__ int seenRow(const Pair& in, int k) { return min(kBlockRows * k + 2, in.height - 1); }

__device__ __forceinline__ int changeAt(const uint8_t* row, int x) {
  return x == 0 ? 0 : min(max(row[x] - row[x - 1], -kLargestUnlike), kLargestUnlike);
}

struct Signal {
  int samples, shared, own, energy;
};

__device__ __forceinline__ Signal signalOf(const Pair& in, int b, int k) {
  Signal sum = {0, 0, 0, 0};
  if (b < 0 || b >= in.columns || k < 0 || k >= in.rows) return sum;
  const size_t row = static_cast<size_t>(seenRow(in, k)) * in.width;
#pragma unroll
  for (int i = 0; i < kBlockColumns; i += kSampleStep) {
    const int x = kBlockColumns * b + i;
    if (x >= in.width) break;
    const int d = in.disparityQ4[row + x];
    const int l = changeAt(in.left + row, x);
    const int r = d == kInvalidDisparity ? 0 : changeAt(in.right + row, min(max(x - ((d + 8) >> 4), 0), in.width - 1));
    ++sum.samples;
    sum.shared += l * r;
    sum.own += l * l;
    sum.energy += l * l + r * r;
  }
  return sum;
}

__device__ __forceinline__ int limitOfWindow(const Signal& of) {
  if (12 * of.shared >= of.energy || of.own >= 6 * of.samples) return 255;
  return max(255 * (24 * of.shared - of.energy) / of.energy, 255 * (of.own - 5 * of.samples) / of.samples);
}

__global__ void __launch_bounds__(kThreads) ambiguityKernel(Pair in, uint8_t* limit) {
  __shared__ uint8_t pixels[kUnlikeRows][kPixels];
  __shared__ uint8_t unlike[kLastRepeat][kUnlikeRows][kUnlikeColumns];
  __shared__ uint16_t sums[kLastRepeat][kBlocks];
  __shared__ int16_t samples[kSignalRows][kSignalColumns];
  __shared__ int16_t shared[kSignalRows][kSignalColumns];
  __shared__ int16_t own[kSignalRows][kSignalColumns];
  __shared__ int16_t energy[kSignalRows][kSignalColumns];
  // Down the columns.
  __shared__ Signal columns[kWindowsRows][kSignalColumns];
  __shared__ uint8_t windows[kWindowsRows][kWindowsColumns];
  const int thread = threadIdx.x;
  const int firstColumn = blockIdx.x * kColumns, firstRow = blockIdx.y * kRows;
  untilKernelBefore();
  const int start = kBlockColumns * (firstColumn - 1) - kLastRepeat;
  for (int i = thread; i < kUnlikeRows * kPixels; i += kThreads) {
    const int j = i / kPixels, x = start + i % kPixels;
    const int k = min(max(firstRow - 1 + j, 0), in.rows - 1);
    pixels[j][i % kPixels] = in.left[static_cast<size_t>(seenRow(in, k)) * in.width + min(max(x, 0), in.width - 1)];
  }
  for (int i = thread; i < kSignalRows * kSignalColumns; i += kThreads) {
    const int j = i / kSignalColumns, c = i % kSignalColumns;
    const Signal of =
        signalOf(in, firstColumn - kSpreadColumns - kWindowColumns + c, firstRow - kSpreadRows - kWindowRows + j);
    samples[j][c] = static_cast<int16_t>(of.samples);
    shared[j][c] = static_cast<int16_t>(of.shared);
    own[j][c] = static_cast<int16_t>(of.own);
    energy[j][c] = static_cast<int16_t>(of.energy);
  }
  __syncthreads();
  for (int i = thread; i < kLastRepeat * kUnlikeRows * kUnlikeColumns; i += kThreads) {
    const int s = i / (kUnlikeRows * kUnlikeColumns) + 1, j = i / kUnlikeColumns % kUnlikeRows, c = i % kUnlikeColumns;
    // A block beside the image is the nearest one.
    const int b = min(max(firstColumn - 1 + c, 0), in.columns - 1);
    const uint8_t* at = pixels[j] + kLastRepeat + kBlockColumns * (b - (firstColumn - 1));
    int sum = 0;
#pragma unroll
    for (int x = 0; x < kBlockColumns; ++x) sum += min(abs(at[x] - at[x - s]), kLargestUnlike);
    unlike[s - 1][j][c] = static_cast<uint8_t>(kBlockColumns * b < s ? kBlockColumns * kLargestUnlike : sum);
  }
  for (int i = thread; i < kWindowsRows * kSignalColumns; i += kThreads) {
    const int j = i / kSignalColumns, c = i % kSignalColumns;
    Signal sum = {0, 0, 0, 0};
#pragma unroll
    for (int row = j; row <= j + 2 * kWindowRows; ++row) {
      sum.samples += samples[row][c], sum.shared += shared[row][c];
      sum.own += own[row][c], sum.energy += energy[row][c];
    }
    columns[j][c] = sum;
  }
  __syncthreads();
  for (int i = thread; i < kLastRepeat * kBlocks; i += kThreads) {
    const int s = i / kBlocks, j = i % kBlocks / kColumns, c = i % kColumns;
    int sum = 0;
#pragma unroll
    for (int q = 0; q < 9; ++q) sum += unlike[s][j + q / 3][c + q % 3];
    sums[s][i % kBlocks] = static_cast<uint16_t>(sum);
  }
  for (int i = thread; i < kWindowsRows * kWindowsColumns; i += kThreads) {
    const int j = i / kWindowsColumns, c = i % kWindowsColumns;
    const int b = firstColumn - kSpreadColumns + c, k = firstRow - kSpreadRows + j;
    Signal sum = {0, 0, 0, 0};
#pragma unroll
    for (int column = c; column <= c + 2 * kWindowColumns; ++column) {
      const Signal& of = columns[j][column];
      sum.samples += of.samples, sum.shared += of.shared, sum.own += of.own, sum.energy += of.energy;
    }
    const bool inside = b >= 0 && b < in.columns && k >= 0 && k < in.rows;
    windows[j][c] = static_cast<uint8_t>(inside ? max(limitOfWindow(sum), 0) : 255);
  }
  __syncthreads();
  const int j = thread / kColumns, c = thread % kColumns, b = firstColumn + c, k = firstRow + j;
  if (thread >= kBlocks || b >= in.columns || k >= in.rows) return;
  int least = 255, largest = 0;
  for (int row = j; row <= j + 2 * kSpreadRows; ++row) {
#pragma unroll
    for (int column = c; column <= c + 2 * kSpreadColumns; ++column) {
      least = min(least, static_cast<int>(windows[row][column]));
    }
  }
#pragma unroll 4
  for (int s = 1; s <= kLastRepeat; ++s) {
    const int sum = sums[s - 1][thread];
    if (s >= kFirstRepeat && 10 * sum < 3 * largest) least = min(least, 255 * (10 * sum - 2 * largest) / largest);
    largest = max(largest, sum);
  }
  limit[static_cast<size_t>(k) * in.columns + b] = static_cast<uint8_t>(max(least, 1));
}

}  // namespace

Status ambiguity(const uint8_t* left, const uint8_t* right, const int16_t* disparityQ4, uint8_t* limit, int32_t width,
                 int32_t height, cudaStream_t stream) {
  const Pair in = {left, right, disparityQ4, width, height, blockColumnsOf(width), blockRowsOf(height)};
  const dim3 grid((in.columns + kColumns - 1) / kColumns, (in.rows + kRows - 1) / kRows);
  static const bool overlaps = waitsForKernelBefore(reinterpret_cast<const void*>(ambiguityKernel));
  return launch("ambiguityKernel", ambiguityKernel, LaunchShape{grid, dim3(kThreads), 0, stream, overlaps}, in, limit);
}

}  // namespace gpu
}  // namespace depthwatt
