// SPDX-License-Identifier: Apache-2.0
// Coarse-to-fine search on CUDA: path aggregation along rows and columns, all in one launch.
//
// Two warps walk the 16 lines of two tiles side by side (8 lines of one tile in a complete search), one forward and one
// backward, and meet in the middle. Each writes the sums of its half; after one barrier each continues into the other's
// half and adds. Where a tile has other blocks than the one before, the path costs pass through a field in shared memory
// that is sorted by disparity; a disparity that the tile before did not search is there 255.
#pragma once

#include "guided_tile.cuh"

namespace depthwatt {
namespace gpu {

constexpr uint32_t kNothing = 0xffffffffu;  ///< four cells that the tile before did not search

/// The cells next to the first and the last one of a lane's four blocks.
struct GuidedEdges {
  uint32_t low0, low1;    ///< before the first and the second pair of blocks
  uint32_t high0, high1;  ///< after them
};

/// The recurrence of 16 cells of a lane: pairs 0 to 3 are of two blocks, 4 to 7 of the next two. See Path in sgm_cells.cuh.
template <int kLanes>
class GuidedPath {
 public:
  static constexpr int kPairs = 8, kHalf = kPairs / 2;

  __device__ __forceinline__ GuidedPath(const GuidedArguments& a, int lane)
      : p1_(Cell::pair(a.p1)), one_(a.one), lane_(lane) {
    fromBelow_ = lane == 0 ? 0x1054 : 0x3210;
    fromAbove_ = lane == kLanes - 1 ? 0x5432 : 0x3210;
#pragma unroll
    for (int j = 0; j < kPairs; ++j) now_[j] = 0;
    below_ = above_ = smallest_ = 0;
    lowGap_ = middleGap_ = highGap_ = 0;
  }

  /// Sets which of a lane's blocks are not next to each other. @param gaps bit k: entries k and k + 1 of the list, k below
  /// kLanes * 2, the others 16 bits higher
  __device__ __forceinline__ void setGaps(uint32_t gaps) {
    const auto pairOf = [&](int k) { return (gaps >> k & 0x00010001u) * (Cell::kInfinity & 0xffffu); };
    middleGap_ = pairOf(2 * lane_);
    highGap_ = pairOf(2 * lane_ + 1);
    // Entry 3 is in the last lane's lower half, and entry 4 in the first lane's upper one.
    const uint32_t shifted = gaps << 1 | (gaps >> (2 * kLanes - 1) & 1u) << 16;
    lowGap_ = (shifted >> (2 * lane_) & 0x00010001u) * (Cell::kInfinity & 0xffffu);
  }

  /// Returns the edges inside a tile.
  __device__ __forceinline__ GuidedEdges inner() const {
    GuidedEdges e;
    e.low0 = __byte_perm(below_, Cell::kInfinity, fromBelow_) | lowGap_;
    e.high1 = __byte_perm(above_, Cell::kInfinity, fromAbove_) | highGap_;
    e.low1 = now_[kHalf - 1] | middleGap_;
    e.high0 = now_[kHalf] | middleGap_;
    return e;
  }

  /// Moves the path costs from the blocks of `before` to those of `list`, and returns the edges of the next step.
  /// @param field the line's part: a word for each block and one more on either side, all kNothing between two calls
  __device__ __forceinline__ GuidedEdges enter(uint32_t* field, uint2 before, uint2 list) {
    const int first = 2 * lane_, second = first + 2 * kLanes;
    const int from[4] = {blockAt(before, first), blockAt(before, second), blockAt(before, first + 1),
                         blockAt(before, second + 1)};
    const int to[4] = {blockAt(list, first), blockAt(list, second), blockAt(list, first + 1),
                       blockAt(list, second + 1)};
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      uint32_t excess[kHalf];
#pragma unroll
      for (int j = 0; j < kHalf; ++j) {
        excess[j] = Cell::min(now_[h * kHalf + j] - smallest_, Cell::pair(255));
      }
      const uint32_t early = multiplyAdd(excess[1], 256, excess[0]), late = multiplyAdd(excess[3], 256, excess[2]);
      field[from[2 * h]] = __byte_perm(early, late, 0x5410);
      field[from[2 * h + 1]] = __byte_perm(early, late, 0x7632);
    }
    __syncwarp();
    uint32_t low[2], high[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int a = to[2 * h], b = to[2 * h + 1];
      const uint32_t one = field[a], other = field[b];
      low[h] = __byte_perm(field[a - 1] >> 24, field[b - 1] >> 24, 0x5410);
      high[h] = __byte_perm(field[a + 1] & 255u, field[b + 1] & 255u, 0x5410);
      const uint32_t early = __byte_perm(one, other, 0x5410), late = __byte_perm(one, other, 0x7632);
      now_[h * kHalf] = evenBytes(early), now_[h * kHalf + 1] = oddBytes(early);
      now_[h * kHalf + 2] = evenBytes(late), now_[h * kHalf + 3] = oddBytes(late);
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 4; ++i) field[from[i]] = kNothing;
    smallest_ = 0;
    return {low[0], low[1], high[0], high[1]};
  }

  /// Takes the next pixel's costs as stored, and adds its excesses to `sums`, which are in the same order.
  __device__ __forceinline__ void step(const uint4& costs, const GuidedEdges& edges, uint32_t p2, uint4& sums) {
    const uint32_t cost[4] = {costs.x, costs.y, costs.z, costs.w};
    const uint32_t limit = p2 + smallest_;
    uint32_t best[kPairs], smallest = 0;
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const uint32_t low = j == 0 ? edges.low0 : j == kHalf ? edges.low1 : now_[(j + kPairs - 1) % kPairs];
      const uint32_t high = j == kHalf - 1 ? edges.high0 : j == kPairs - 1 ? edges.high1 : now_[(j + 1) % kPairs];
      best[j] = Cell::min(Cell::minOfSum(now_[j], Cell::min(low, high), p1_), limit);
    }
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      now_[j] = addByMultiplying(best[j], j % 2 == 0 ? evenBytes(cost[j / 2]) : oddBytes(cost[j / 2]), one_);
      smallest = j == 0 ? now_[j] : Cell::min(smallest, now_[j]);
    }
    // The bytes' excesses are the best path costs less the smallest one. Carries between bytes cancel.
    const uint32_t before = smallest_;
    const auto addExcesses = [&](uint32_t word, int j) {
      const uint32_t early = addByMultiplying(best[j], word, one_);
      return multiplyAdd(before, 0u - 257u, multiplyAdd(best[j + 1], 256, early));
    };
    below_ = __shfl_sync(kFullWarp, now_[kPairs - 1], lane_ + kLanes - 1, kLanes);
    above_ = __shfl_sync(kFullWarp, now_[0], lane_ + 1, kLanes);
#pragma unroll
    for (int offset = kLanes / 2; offset > 0; offset /= 2) {
      smallest = Cell::min(smallest, __shfl_xor_sync(kFullWarp, smallest, offset));
    }
    smallest_ = Cell::min(smallest, __byte_perm(smallest, 0, 0x1032));
    sums.x = addExcesses(sums.x, 0), sums.y = addExcesses(sums.y, 2);
    sums.z = addExcesses(sums.z, 4), sums.w = addExcesses(sums.w, 6);
  }

  /// Subtracts the smallest path cost from all. Steps only add, so a walk calls this or enter() once a tile: then path
  /// costs stay below 2^11, up to which every packing is exact.
  __device__ __forceinline__ void subtractSmallest() {
    const uint32_t less = 0u - smallest_;
#pragma unroll
    for (int j = 0; j < kPairs; ++j) now_[j] = addByMultiplying(now_[j], less, one_);
    below_ += less, above_ += less;
    smallest_ = 0;
  }

 private:
  uint32_t p1_, one_, fromBelow_, fromAbove_, smallest_;
  int lane_;
  uint32_t now_[kPairs];
  uint32_t below_, above_;
  uint32_t lowGap_, middleGap_, highGap_;
};

/// Returns a bit for each entry of a list that is not one less than the next entry: bits 0 to 3, and 16 to 19.
__device__ __forceinline__ uint32_t gapsOf(uint2 list) {
  uint32_t gaps = 0;
#pragma unroll
  for (int k = 0; k + 1 < kGuidedBlocks; ++k) {
    const uint32_t apart = blockAt(list, k) + 1 != blockAt(list, k + 1) ? 1u : 0u;
    gaps |= apart << (k < 4 ? k : k + 12);
  }
  return gaps;
}

/// The shared memory of a block: two rings and two fields.
template <int kLanes>
struct GuidedLinesShape : GuidedShape<kLanes> {
  using Shape = GuidedShape<kLanes>;
  static constexpr int kBatch = 4;  ///< steps of a batch
  /// A batch is a plane of costs, and where walks join a plane of sums. A larger ring leaves room for fewer blocks.
  static constexpr int kPlanes = 6, kPlaneBytes = Shape::kLines * kBatch * Shape::kCells;
  static constexpr int kRingBytes = kPlanes * kPlaneBytes;
  static __host__ __device__ int fieldWords(int blocks) { return Shape::kGuided ? (blocks + 2) | 1 : 0; }
  static __host__ __device__ int warpBytes(int blocks) {
    return kRingBytes + (4 * Shape::kLines * fieldWords(blocks) + 15) / 16 * 16;
  }
};

/// The adaptive P2 of the 8 steps through a tile, a byte each.
template <bool kAdaptive>
struct TileP2 {
  uint32_t batch[2];

  /// @param own of the line's pixels. @param before of the tile before
  __device__ __forceinline__ void set(uint2 own, uint2 before, bool backward) {
    if (!kAdaptive) return;
    batch[0] = own.x, batch[1] = own.y;
    if (!backward) return;
    // Backward, a step's P2 is that of the pixel before, whose first one is in the tile before.
    batch[0] = __byte_perm(own.y, before.x, 0x1234), batch[1] = __byte_perm(own.x, own.y, 0x1234);
  }
  __device__ __forceinline__ uint32_t pair(int half, int step, uint32_t constant) const {
    return kAdaptive ? __byte_perm(batch[half], 0, 0x4040 | step * 0x0101) : constant;
  }
};

/// Adds the costs times `factor` to the sums.
__device__ __forceinline__ void addCosts(const uint4& costs, uint32_t factor, uint4& sums) {
  sums.x = multiplyAdd(costs.x, factor, sums.x), sums.y = multiplyAdd(costs.y, factor, sums.y);
  sums.z = multiplyAdd(costs.z, factor, sums.z), sums.w = multiplyAdd(costs.w, factor, sums.w);
}

/// @param strip the lines of the warp: those of this group of tiles. @param shared of the block
template <int kLanes, bool kAdaptive, bool kRows>
__device__ __forceinline__ void walkTiles(const GuidedArguments& a, int strip, uint8_t* shared) {
  using Shape = GuidedLinesShape<kLanes>;
  constexpr int kCells = Shape::kCells, kTileBytes = Shape::kTileBytes, kBatch = Shape::kBatch;
  constexpr int kStep = kRows ? kCells : kTileSide * kCells + kCells;  // from pixel to pixel, by exclusive or
  const int warp = warpOfBlock(), thread = threadIdx.x & 31, lane = thread & (kLanes - 1), line = thread / kLanes;
  const bool backward = warp != 0, both = a.paths != 2;
  if (backward && !both) return;
  const int tiles = kRows ? a.tilesAcross : a.tilesDown, strips = kRows ? a.tilesDown : a.tilesAcross;
  const ptrdiff_t along = kRows ? 1 : a.tilesAcross, beside = kRows ? a.tilesAcross : 1;
  const bool alone = strip * Shape::kTiles + 1 >= strips;  // no second tile: its lines repeat the first one's
  const int side = alone ? 0 : line / kTileSide, across = line % kTileSide;
  const bool valid = !alone || line < kTileSide;
  const int direction = backward ? -1 : 1;
  const int own = !both ? tiles : backward ? tiles / 2 : (tiles + 1) / 2;
  const ptrdiff_t firstTile = strip * Shape::kTiles * beside + (backward ? (tiles - 1) * along : 0);
  const ptrdiff_t tileStep = direction * along * kTileBytes;
  uint8_t* const volume = kRows ? a.rows : a.columns;

  // Copies of a batch: half of each tile, 16 bytes a thread and copy.
  constexpr int kCopies = Shape::kPlaneBytes / 512, kPieceThreads = kCells / 4;  // a row's piece is of four pixels
  uint8_t* const ring = shared + warp * Shape::warpBytes(a.blocks);
  uint8_t* const to = keptShared(ring + thread * 16);
  ptrdiff_t asked = firstTile * kTileBytes;
  if (kRows) asked += thread / kPieceThreads * (kTileSide * kCells) + thread % kPieceThreads * 16;
  else asked += thread * 16;
  const ptrdiff_t second = alone ? 0 : beside * kTileBytes;
  int askedHalf = 0;
  const auto ask = [&](int slot, bool joining) {
    const int half = backward ? 1 - askedHalf : askedHalf;
#pragma unroll
    for (int r = 0; r < kCopies; ++r) {
      constexpr int kOfTile = kCopies / Shape::kTiles;
      ptrdiff_t from = asked + (r / kOfTile == 0 ? 0 : second);
      if (kRows) {
        constexpr int kRowsAtOnce = 32 / kPieceThreads;
        const int row = r % kOfTile * kRowsAtOnce;  // and those of the other threads, in the same half of the tile
        from += row * (kTileSide * kCells) + (half ^ row / 4) * (4 * kCells);
      } else {
        from += half * (4 * kTileSide * kCells) + r % kOfTile * 512;
      }
      copyAlone(to + slot + r * 512, a.cost + from);
      if (joining) copyAlone(to + slot + Shape::kPlaneBytes + r * 512, volume + from);
    }
    askedHalf ^= 1;
    if (askedHalf == 0) asked += tileStep;
  };

  // Where a lane reads its cells in a batch, and where it writes them in a tile, at the first step.
  const int inTile = (kRows ? across * (kTileSide * kCells) : 0) + across * kCells + lane * 16;
  const int write = inTile ^ (backward ? (kTileSide - 1) * kStep : 0);
  const int read = (kRows ? line * (kBatch * kCells) + across % kBatch * kCells
                          : line / kTileSide * (kBatch * kTileSide * kCells) + across * kCells) +
                   lane * 16;
  const int readFirst = read ^ (backward ? (kBatch - 1) * kStep : 0);
  uint8_t* out = volume + (firstTile + side * beside) * kTileBytes;

  const uint2* lists = a.lists + (firstTile + side * beside);
  uint32_t* const field =
      reinterpret_cast<uint32_t*>(ring + Shape::kRingBytes) + line * Shape::fieldWords(a.blocks) + 1;
  const uint2* p2Lines = (kRows ? a.p2Rows : a.p2Columns) + (firstTile + side * beside) * kTileSide + across;

  uint2 list = make_uint2(0, 0), next = list;
  if (Shape::kGuided) {
    for (int i = lane; i < Shape::fieldWords(a.blocks); i += kLanes) field[i - 1] = kNothing;
    list = next = *lists;
  }
  TileP2<kAdaptive> p2;
  uint2 ownP2 = make_uint2(0, 0), nextP2 = ownP2;
  if (kAdaptive) nextP2 = *p2Lines;
  const uint32_t constantP2 = Cell::pair(a.p2);
  GuidedPath<kLanes> path(a, lane);
  if (Shape::kGuided) path.setGaps(gapsOf(list));
  int slot = 0;
#pragma unroll 1
  for (int part = 0; part < (both ? 2 : 1); ++part) {
    const int begin = part == 0 ? 0 : own, end = part == 0 ? own : tiles;
    const bool joining = part != 0;
    const uint32_t costPaths = joining || !both ? a.costPaths : 0;  // the last visit of a pixel adds its costs
    if (joining) __syncthreads();
    const int slotBytes = joining ? 2 * Shape::kPlaneBytes : Shape::kPlaneBytes;
    int batches = 2 * (end - begin);  // to ask for
    slot = 0;
#pragma unroll 1
    for (int ahead = 0; ahead < Shape::kRingBytes - slotBytes; ahead += slotBytes) {
      if (batches > 0) ask(ahead, joining), --batches;
      groupCopies();
    }
#pragma unroll 1
    for (int i = begin; i < end; ++i) {
      const uint2 before = list;
      list = next;
      p2.set(nextP2, ownP2, backward);
      ownP2 = nextP2;
      bool moves = false;
      if (Shape::kGuided) {
        moves = __ballot_sync(kFullWarp, list.x != before.x || list.y != before.y) != 0;
        if (moves) path.setGaps(gapsOf(list));
      }
      if (i + 1 < tiles) {
        if (kAdaptive) nextP2 = *(p2Lines += direction * along * kTileSide);
        if (Shape::kGuided) next = *(lists += direction * along);
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (joining) waitForCopies<Shape::kPlanes / 2 - 2>();
        else waitForCopies<Shape::kPlanes - 2>();
        __syncwarp();
        const int following = slot == 0 ? Shape::kRingBytes - slotBytes : slot - slotBytes;
        if (batches > 0) ask(following, joining), --batches;
        groupCopies();
        // Columns: the pixels of a tile's lower half have their slots' third bit inverted.
        const bool lower = !kRows && (half == 0) == backward;
        uint4 costs[kBatch], found[kBatch];
#pragma unroll
        for (int s = 0; s < kBatch; ++s) {
          const uint8_t* const at = ring + slot + ((readFirst ^ (lower ? 4 * kCells : 0)) ^ (s * kStep));
          costs[s] = *reinterpret_cast<const uint4*>(at);
          found[s] = make_uint4(0, 0, 0, 0);
          if (joining) found[s] = *reinterpret_cast<const uint4*>(at + Shape::kPlaneBytes);
        }
#pragma unroll
        for (int s = 0; s < kBatch; ++s) {
          GuidedEdges edges;
          if (half == 0 && s == 0) {
            if (moves) {
              edges = path.enter(field, before, list);
            } else {
              path.subtractSmallest();
              edges = path.inner();
            }
          } else {
            edges = path.inner();
          }
          path.step(costs[s], edges, p2.pair(half, s, constantP2), found[s]);
          if (!kRows) addCosts(costs[s], costPaths, found[s]);
          if (valid) *reinterpret_cast<uint4*>(out + (write ^ ((half * kBatch + s) * kStep))) = found[s];
        }
        slot += slotBytes;
        if (slot == Shape::kRingBytes) slot = 0;
      }
      out += tileStep;
    }
    __syncwarp();
  }
}

/// @param rowStrips blocks that walk rows; the others walk columns. Dynamic shared memory: two times warpBytes()
template <int kLanes, bool kAdaptive>
__global__ void __launch_bounds__(64) guidedLinesKernel(GuidedArguments a, int rowStrips) {
  extern __shared__ __align__(16) uint8_t guidedRings[];
  untilKernelBefore();
  const int strip = static_cast<int>(blockIdx.x);
  if (strip < rowStrips) walkTiles<kLanes, kAdaptive, true>(a, strip, guidedRings);
  else walkTiles<kLanes, kAdaptive, false>(a, strip - rowStrips, guidedRings);
}

}  // namespace gpu
}  // namespace depthwatt
