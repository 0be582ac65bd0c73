// SPDX-License-Identifier: Apache-2.0
// The confidence limit on CUDA; see ambiguity.h. samplesKernel: one thread per sample; four of them give a block's
// sums. ambiguityKernel: a thread block computes 16 x 4 blocks. Shared memory holds how unlike themselves their rows
// and the adjacent ones are, for every shift, and the windows' sums. A warp evaluates a block's shifts, one per lane.
#include "ambiguity.h"

#include "ambiguity_gpu.h"
#include "../../device/launch.cuh"
#include "../../device/traits.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kColumns = 16, kRows = 4, kBlocks = kColumns * kRows, kThreads = 256, kWarps = kThreads / 32;
constexpr int kUnlikeColumns = kColumns + 2, kUnlikeRows = kRows + 2;
constexpr int kWindowsColumns = kColumns + 2 * kSpreadColumns, kWindowsRows = kRows + 2 * kSpreadRows;
constexpr int kSignalColumns = kWindowsColumns + 2 * kWindowColumns, kSignalRows = kWindowsRows + 2 * kWindowRows;
constexpr int kPixels = kUnlikeColumns * kBlockColumns + kLastRepeat;
constexpr int kSamples = kBlockColumns / kSampleStep;
constexpr int kShiftsATurn = 8;  // per thread, which keeps the pixels of its block and of the shifted one
static_assert(kLastRepeat == 32, "a lane, a shift");
static_assert(kBlocks % (2 * kWarps) == 0, "a warp looks at two blocks at a time");

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

/// The layout in the scratch, read and written as a word.
struct alignas(8) BlockSums {
  int16_t samples, shared, own, energy;
};

__global__ void __launch_bounds__(kThreads) samplesKernel(Pair in, BlockSums* sums) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const int block = i / kSamples, k = block / in.columns;
  const int x = kBlockColumns * (block % in.columns) + i % kSamples * kSampleStep;
  untilKernelBefore();
  Signal sum = {0, 0, 0, 0};
  if (k < in.rows && x < in.width) {
    const size_t row = static_cast<size_t>(seenRow(in, k)) * in.width;
    const int d = in.disparityQ4[row + x];
    const int l = changeAt(in.left + row, x);
    const int r = d == kInvalidDisparity ? 0 : changeAt(in.right + row, min(max(x - ((d + 8) >> 4), 0), in.width - 1));
    sum = {1, l * r, l * l, l * l + r * r};
  }
#pragma unroll
  for (int lanes = 1; lanes < kSamples; lanes *= 2) {
    sum.samples += __shfl_xor_sync(0xffffffff, sum.samples, lanes);
    sum.shared += __shfl_xor_sync(0xffffffff, sum.shared, lanes);
    sum.own += __shfl_xor_sync(0xffffffff, sum.own, lanes);
    sum.energy += __shfl_xor_sync(0xffffffff, sum.energy, lanes);
  }
  if (k < in.rows && i % kSamples == 0) {
    sums[block] = {static_cast<int16_t>(sum.samples), static_cast<int16_t>(sum.shared), static_cast<int16_t>(sum.own),
                   static_cast<int16_t>(sum.energy)};
  }
}

__device__ __forceinline__ int limitOfWindow(const Signal& of) {
  if (12 * of.shared >= of.energy || of.own >= 6 * of.samples) return 255;
  return max(255 * (24 * of.shared - of.energy) / of.energy, 255 * (of.own - 5 * of.samples) / of.samples);
}

__device__ __forceinline__ void add(Signal& sum, int samples, int shared, int own, int energy) {
  sum.samples += samples, sum.shared += shared, sum.own += own, sum.energy += energy;
}

__global__ void __launch_bounds__(kThreads) ambiguityKernel(Pair in, const BlockSums* blocks, uint8_t* limit) {
  __shared__ uint8_t pixels[kUnlikeRows][kPixels];
  __shared__ uint8_t unlike[kUnlikeRows][kUnlikeColumns][kLastRepeat];
  __shared__ BlockSums signal[kSignalRows][kSignalColumns];
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
    const int b = firstColumn - kSpreadColumns - kWindowColumns + i % kSignalColumns;
    const int k = firstRow - kSpreadRows - kWindowRows + i / kSignalColumns;
    const bool inside = b >= 0 && b < in.columns && k >= 0 && k < in.rows;
    signal[i / kSignalColumns][i % kSignalColumns] =
        inside ? blocks[static_cast<size_t>(k) * in.columns + b] : BlockSums{0, 0, 0, 0};
  }
  __syncthreads();
  constexpr int kTurns = kLastRepeat / kShiftsATurn;
  for (int i = thread; i < kUnlikeRows * kUnlikeColumns * kTurns; i += kThreads) {
    const int c = i % kUnlikeColumns, j = i / kUnlikeColumns % kUnlikeRows;
    const int first = i / (kUnlikeColumns * kUnlikeRows) * kShiftsATurn + 1;
    // A block outside the image is the nearest one.
    const int b = min(max(firstColumn - 1 + c, 0), in.columns - 1);
    const uint8_t* at = pixels[j] + kLastRepeat + kBlockColumns * (b - (firstColumn - 1));
    int own[kBlockColumns], shifted[kBlockColumns];
#pragma unroll
    for (int x = 0; x < kBlockColumns; ++x) own[x] = at[x], shifted[x] = at[x - first];
#pragma unroll
    for (int turn = 0; turn < kShiftsATurn; ++turn) {
      const int s = first + turn;
      int sum = 0;
#pragma unroll
      for (int x = 0; x < kBlockColumns; ++x) sum += min(abs(own[x] - shifted[x]), kLargestUnlike);
      unlike[j][c][s - 1] = static_cast<uint8_t>(kBlockColumns * b < s ? kBlockColumns * kLargestUnlike : sum);
      // One pixel further: all but the first are loaded.
#pragma unroll
      for (int x = kBlockColumns - 1; x > 0; --x) shifted[x] = shifted[x - 1];
      if (turn + 1 < kShiftsATurn) shifted[0] = at[-s - 1];
    }
  }
  for (int i = thread; i < kWindowsRows * kSignalColumns; i += kThreads) {
    const int j = i / kSignalColumns, c = i % kSignalColumns;
    Signal sum = {0, 0, 0, 0};
#pragma unroll
    for (int row = 0; row <= 2 * kWindowRows; ++row) {
      const BlockSums of = signal[j + row][c];
      add(sum, of.samples, of.shared, of.own, of.energy);
    }
    columns[j][c] = sum;
  }
  __syncthreads();
  for (int i = thread; i < kWindowsRows * kWindowsColumns; i += kThreads) {
    const int j = i / kWindowsColumns, c = i % kWindowsColumns;
    const int b = firstColumn - kSpreadColumns + c, k = firstRow - kSpreadRows + j;
    Signal sum = {0, 0, 0, 0};
#pragma unroll
    for (int column = 0; column <= 2 * kWindowColumns; ++column) {
      const Signal of = columns[j][c + column];
      add(sum, of.samples, of.shared, of.own, of.energy);
    }
    const bool inside = b >= 0 && b < in.columns && k >= 0 && k < in.rows;
    windows[j][c] = static_cast<uint8_t>(inside ? max(limitOfWindow(sum), 0) : 255);
  }
  __syncthreads();
  const int lane = thread % 32;
#pragma unroll 2
  for (int block = thread / 32; block < kBlocks; block += kWarps) {
    const int j = block / kColumns, c = block % kColumns;
    const int b = firstColumn + c, k = firstRow + j;
    int sum = 0;
#pragma unroll
    for (int q = 0; q < 9; ++q) sum += unlike[j + q / 3][c + q % 3][lane];
    // Inclusive prefix maximum over the shifts, then the exclusive one.
    int largest = sum;
#pragma unroll
    for (int lanes = 1; lanes < 32; lanes *= 2) {
      const int other = __shfl_up_sync(0xffffffff, largest, lanes);
      if (lane >= lanes) largest = max(largest, other);
    }
    largest = __shfl_up_sync(0xffffffff, largest, 1);
    int least = 255;
    if (lane + 1 >= kFirstRepeat && 10 * sum < 3 * largest) least = 255 * (10 * sum - 2 * largest) / largest;
    // The windows around, two per lane.
    constexpr int kAround = (2 * kSpreadRows + 1) * (2 * kSpreadColumns + 1);
#pragma unroll
    for (int i = lane; i < kAround; i += 32) {
      const int row = i / (2 * kSpreadColumns + 1), column = i % (2 * kSpreadColumns + 1);
      least = min(least, static_cast<int>(windows[j + row][c + column]));
    }
    // Nearly everywhere no lane has a limit.
    if (__ballot_sync(0xffffffff, least < 255) != 0) {
#pragma unroll
      for (int lanes = 16; lanes > 0; lanes /= 2) least = min(least, __shfl_xor_sync(0xffffffff, least, lanes));
    }
    if (lane == 0 && b < in.columns && k < in.rows) {
      limit[static_cast<size_t>(k) * in.columns + b] = static_cast<uint8_t>(max(least, 1));
    }
  }
}

}  // namespace

Status ambiguity(const uint8_t* left, const uint8_t* right, const int16_t* disparityQ4, uint64_t* sums, uint8_t* limit,
                 int32_t width, int32_t height, cudaStream_t stream) {
  const Pair in = {left, right, disparityQ4, width, height, blockColumnCount(width), blockRowCount(height)};
  static_assert(sizeof(BlockSums) == sizeof *sums, "a word a block");
  auto* const blocks = reinterpret_cast<BlockSums*>(sums);
  static const bool overlaps = waitsForKernelBefore(reinterpret_cast<const void*>(samplesKernel)) &&
                               waitsForKernelBefore(reinterpret_cast<const void*>(ambiguityKernel));
  const dim3 threads((in.columns * in.rows * kSamples + kThreads - 1) / kThreads);
  DEPTHWATT_TRY(
      launch("samplesKernel", samplesKernel, LaunchShape{threads, dim3(kThreads), 0, stream, overlaps}, in, blocks));
  const dim3 grid((in.columns + kColumns - 1) / kColumns, (in.rows + kRows - 1) / kRows);
  return launch("ambiguityKernel", ambiguityKernel, LaunchShape{grid, dim3(kThreads), 0, stream, overlaps}, in, blocks,
                limit);
}

}  // namespace gpu
}  // namespace depthwatt
