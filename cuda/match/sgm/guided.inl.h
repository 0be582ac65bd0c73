// SPDX-License-Identifier: Apache-2.0
// Vector form of one level of coarse-to-fine search; guided_plan.h describes the layout. Compiled once per instruction
// set.

#include "guided_plan.h"
#include "sgm_plan.h"

#include "../finish.inl.h"
#include "guided_cells.inl.h"
#include "guided_rows.inl.h"
#include "guided_select.inl.h"

namespace {

/// Waits until the tile row before has done `needed` tiles.
[[gnu::always_inline]] inline void awaitTiles(const std::atomic<int32_t>* progress, int32_t needed) {
  if (progress == nullptr) return;
  for (int32_t spins = 0; progress->load(std::memory_order_acquire) < needed; ++spins) {
    if (spins > 2000) sgmYield();
  }
}

template <int32_t kBlocks, int32_t kWords, GuidedPass kPass>
void sweepTileRow(const GuidedPlan& plan, const GuidedFrame& frame, int32_t tileRow, const GuidedScratch& scratch) {
  using Cells = GuidedCells<kBlocks, kWords>;
  constexpr bool kEdges = kPass == GuidedPass::kEdges, kFour = kPass == GuidedPass::kFourPaths;
  constexpr int32_t kCount = Cells::kCount, kUnrolled = Cells::kUnrolled, kVector = Cells::kVector,
                    kBytes = Cells::kBytes;
  const int32_t width = plan.width, tiles = plan.tilesAcross, y0 = tileRow * kTileSide;
  const int32_t rows = lesser(kTileSide, plan.height - y0);
  const bool isTop = tileRow == 0, isBottom = tileRow == plan.tilesDown - 1;
  const bool isFirst = kFour ? isBottom : isTop;
  const std::atomic<int32_t>* const ahead = isFirst ? nullptr : frame.progress + (kFour ? tileRow + 1 : tileRow - 1);
  prepareTileRow(plan, frame, tileRow, scratch);
  const Bytes p1 = splatBytes(static_cast<uint8_t>(plan.parameters.p1));
  const Bytes outsideCost = splatBytes(static_cast<uint8_t>(plan.parameters.outsideCost));
  TileSet& set = *scratch.set;
  set.isReusable = false;
  const auto blocksOfTile = [&](int32_t j, int32_t i) {
    return frame.blocks + (static_cast<size_t>(j) * tiles + i) * kBlocks;
  };
  const auto edgeOfTile = [&](int32_t j, int32_t i) {
    return frame.edges + (static_cast<size_t>(j) * tiles + i) * kBytes;
  };
  typename Cells::State along, path;
  typename Cells::Neighbours n;
  const auto restart = [&](typename Cells::State& s) __attribute__((always_inline)) {
    forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) { s.of[v] = splatBytes(0); });
  };
  const uint8_t* previous = nullptr;
  restart(along);
  if constexpr (kFour) {  // the path from left to right
    for (int32_t tile = 0; tile < tiles; ++tile) {
      const uint8_t* blocks = blocksOfTile(tileRow, tile);
      const int32_t x0 = tile * kTileSide, columns = lesser(kTileSide, width - x0);
      describeTile(plan, blocks, x0, false, set);
      uint8_t* line = scratch.line + static_cast<size_t>(tile) * (16 * kBytes);
      for (int32_t c = 0; c < columns; ++c) {
        Bytes cost[kCount], excess[kCount];
        Cells::costs(plan, scratch, blocks, set, x0 + c, outsideCost, cost);
        Cells::look(along, c == 0 && tile > 0, previous, blocks, set, scratch.field, n);
        const Bytes penalty = spreadUnit(scratch.along + static_cast<size_t>(x0 + c) * kUnitBytes);
        Cells::advance(n, cost, penalty, p1, set, excess, along);
        forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
          storeBytes(line + c * kBytes + v * kVector, cost[v]);
          storeBytes(line + (8 + c) * kBytes + v * kVector, excess[v]);
        });
      }
      previous = blocks;
    }
    set.isReusable = false;
    restart(along);
  }
  for (int32_t turn = 0; turn < tiles; ++turn) {
    const int32_t tile = kFour ? tiles - 1 - turn : turn;
    const uint8_t* blocks = blocksOfTile(tileRow, tile);
    const int32_t x0 = tile * kTileSide, columns = lesser(kTileSide, width - x0);
    describeTile(plan, blocks, x0, !kEdges, set);
    uint8_t* cells = kFour ? scratch.line + static_cast<size_t>(tile) * (16 * kBytes) : scratch.line;
    for (int32_t i = 0; i < columns; ++i) {
      const int32_t c = kFour ? columns - 1 - i : i, x = x0 + c;
      Bytes cost[kCount], excess[kCount];
      if constexpr (kFour) {
        forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
          cost[v] = loadBytes(cells + c * kBytes + v * kVector);
        });
      } else {
        Cells::costs(plan, scratch, blocks, set, x, outsideCost, cost);
        forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
          storeBytes(cells + c * kBytes + v * kVector, cost[v]);
        });
      }
      if constexpr (kEdges) continue;
      Cells::look(along, i == 0 && turn > 0, previous, blocks, set, scratch.field, n);
      const Bytes penalty = spreadUnit(scratch.along + static_cast<size_t>(kFour ? x + 1 : x) * kUnitBytes);
      Cells::advance(n, cost, penalty, p1, set, excess, along);
      forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
        uint8_t* sum = cells + (8 + c) * kBytes + v * kVector;
        storeBytes(sum, kFour ? addBytes(excess[v], loadBytes(sum)) : excess[v]);
      });
    }
    previous = blocks;
    Cells::turn(cells, scratch.rows);
    if constexpr (!kEdges) Cells::turn(cells + 8 * kBytes, scratch.rows + 8 * kBytes);
    uint8_t* const vertical = scratch.rows + 16 * kBytes;
    const auto start = [&](bool isStart, const uint8_t* edge) __attribute__((always_inline)) {
      forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
        path.of[v] = isStart ? splatBytes(0) : loadBytes(edge + v * kVector);
      });
    };
    const auto keep = [&](uint8_t* edge) __attribute__((always_inline)) {
      forEach<kUnrolled>(kCount,
                         [&](int32_t v) __attribute__((always_inline)) { storeBytes(edge + v * kVector, path.of[v]); });
    };
    /// Continues the path by row r. @param from the blocks of the tile before @param between the rows of its penalty
    const auto step = [&](int32_t r, bool isAcross, const uint8_t* from, int32_t between,
                          bool adds) __attribute__((always_inline)) {
      Bytes cost[kCount], excess[kCount];
      forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
        cost[v] = loadBytes(scratch.rows + r * kBytes + v * kVector);
      });
      Cells::look(path, isAcross, from, blocks, set, scratch.field, n);
      Cells::advance(n, cost, spreadUnit(scratch.down + between * plan.rowBytes + x0), p1, set, excess, path);
      if (kEdges) return;
      forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
        uint8_t* sum = vertical + r * kBytes + v * kVector;
        storeBytes(sum, adds ? addBytes(excess[v], loadBytes(sum)) : excess[v]);
      });
    };
    if constexpr (!kFour) awaitTiles(ahead, turn + 1);
    start(isTop, edgeOfTile(tileRow, tile));
    for (int32_t r = 0; r < rows; ++r)
      step(r, r == 0 && !isTop, isTop ? blocks : blocksOfTile(tileRow - 1, tile), r, false);
    if constexpr (!kFour) {
      if (!isBottom) keep(edgeOfTile(tileRow + 1, tile));
    } else {
      awaitTiles(ahead, turn + 1);
      uint8_t* edge = frame.edge + static_cast<size_t>(tile) * kBytes;
      start(isBottom, edge);
      for (int32_t r = rows - 1; r >= 0; --r) {
        step(r, r == rows - 1 && !isBottom, isBottom ? blocks : blocksOfTile(tileRow + 1, tile), r + 1, true);
      }
      keep(edge);
    }
    frame.progress[tileRow].store(turn + 1, std::memory_order_release);
    if constexpr (!kEdges) Selection<Cells, kFour>{plan, set, scratch.rows, scratch.picked + x0}.select();
  }
  for (int32_t r = 0; !kEdges && r < rows; ++r) {
    if (plan.coarse) {
      finishVotes(plan, frame.votes, scratch.picked + r * plan.rowBytes, static_cast<size_t>(8 * plan.rowBytes),
                  y0 + r);
    } else {
      finishResults(plan, frame.result, scratch, r, y0 + r);
    }
  }
}

template <int32_t kBlocks, int32_t kWords>
GuidedSweep chooseGuidedPass(GuidedPass pass) {
  switch (pass) {
    case GuidedPass::kEdges: return sweepTileRow<kBlocks, kWords, GuidedPass::kEdges>;
    case GuidedPass::kTwoPaths: return sweepTileRow<kBlocks, kWords, GuidedPass::kTwoPaths>;
    case GuidedPass::kFourPaths: break;
  }
  return sweepTileRow<kBlocks, kWords, GuidedPass::kFourPaths>;
}

GuidedSweep chooseGuidedSweep(const GuidedPlan& plan, GuidedPass pass) {
  const bool two = plan.parameters.words == 2;
  if (plan.tileBlocks == kGuidedBlocks) {
    return two ? chooseGuidedPass<kGuidedBlocks, 2>(pass) : chooseGuidedPass<kGuidedBlocks, 1>(pass);
  }
  return two ? chooseGuidedPass<kMaxTileBlocks, 2>(pass) : chooseGuidedPass<kMaxTileBlocks, 1>(pass);
}

}  // namespace

DEPTHWATT_VECTOR_CODE(GuidedKernels, chooseGuidedSweep)
