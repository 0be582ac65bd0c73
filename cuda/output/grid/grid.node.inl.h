// SPDX-License-Identifier: Apache-2.0
// native.stages.grid({variant, width, height, disparityQ4: Int16Array, confidence: Uint8Array, focalPixels, baselineMetres,
//                    disparityOffsetPixels, cx, cy, floor: Float64Array [a, b, c], cellMetres, aheadCells, leftCells,
//                    obstacleMetres, tallMetres, dropMetres, errorPixels, minPixels, stepX, threads?, cells: Uint8Array})
// The fast form is the same for every instruction set.
#include "grid.h"

#include <algorithm>
#include <memory>

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

constexpr int32_t kGridMaxSide = 1000;

Napi::Value gridStage(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto disparityQ4 = readImage<const int16_t>(call, "disparityQ4");
  const auto confidence = readImage<const uint8_t>(call, "confidence", disparityQ4.width, disparityQ4.height,
                                                   static_cast<size_t>(disparityQ4.width));
  GridParameters p;
  FloorPlane plane;
  const auto* floor = readElements<const double>(call, "floor", 3);
  int64_t* const parts[3] = {&plane.a, &plane.b, &plane.c};
  for (int i = 0; i < 3; ++i) {
    if (floor[i] > -1e13 && floor[i] < 1e13) *parts[i] = static_cast<int64_t>(floor[i]);
  }
  const struct {
    const char* name;
    double* value;
    double low, high;
  } numbers[] = {{"focalPixels", &p.focalPixels, 1, 1e5},
                 {"baselineMetres", &p.baselineMetres, 1e-3, 100},
                 {"disparityOffsetPixels", &p.disparityOffsetPixels, -4096, 4096},
                 {"cx", &p.cx, -1e5, 1e5},
                 {"cy", &p.cy, -1e5, 1e5},
                 {"cellMetres", &p.cellMetres, 0.01, 1},
                 {"obstacleMetres", &p.obstacleMetres, 0, 100},
                 {"tallMetres", &p.tallMetres, 0, 100},
                 {"dropMetres", &p.dropMetres, 0, 100},
                 {"errorPixels", &p.errorPixels, 0, 64}};
  for (const auto& one : numbers) {
    *one.value = readNumber(call, one.name);
    if (*one.value >= one.low && *one.value <= one.high) continue;
    throwUnlessOk(info.Env(), Status::error(Code::kParameter, "grid: expected %s from %g to %g, got %g.", one.name,
                                            one.low, one.high, *one.value));
  }
  p.aheadCells = readInteger(call, "aheadCells", 1, kGridMaxSide);
  p.leftCells = readInteger(call, "leftCells", 1, kGridMaxSide);
  p.minPixels = readInteger(call, "minPixels", 1, 1 << 20);
  p.stepX = readInteger(call, "stepX", 1, 64);
  const int32_t threads = readInteger(call, "threads", 1, 64, 1);
  const size_t size = static_cast<size_t>(p.aheadCells) * static_cast<size_t>(p.leftCells);
  auto* cells = readElements<uint8_t>(call, "cells", size);
  if (plane.a == 0 && plane.b == 0) {
    throwUnlessOk(info.Env(), Status::error(Code::kParameter, "grid: expected a floor that is not a wall."));
  }
  const GridPlan plan = makeGridPlan(p, plane, disparityQ4.width, disparityQ4.height);
  if (variant.isReference) {
    gridReference(plan, disparityQ4, confidence, cells);
  } else {
    // Kept between calls: a benchmark calls this for every frame.
    static thread_local std::vector<GridCounts> counts;
    static thread_local std::unique_ptr<Workers> workers;
    if (!workers || workers->count() != threads) workers = std::make_unique<Workers>(threads);
    counts.resize(std::max(counts.size(), size * static_cast<size_t>(threads)));
    makeGrid(plan, disparityQ4, confidence, counts.data(), cells, *workers);
  }
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addGrid(Napi::Env env, Napi::Object stages) { stages.Set("grid", Napi::Function::New(env, gridStage, "grid")); }

}  // namespace depthwatt
