// SPDX-License-Identifier: Apache-2.0
// native.stages.floor({variant, width, height, disparityQ4: Int16Array, confidence: Uint8Array, focalPixels, baselineMetres,
//                     disparityOffsetPixels, cx, cy, before?: Float64Array [a, b, c], onlyBefore?: boolean,
//                     threads?, floor: Float64Array (outcome, a, b, c, known, on, below, under, squares)})
// native.stages.floorParts({width, height, focalPixels, baselineMetres, disparityOffsetPixels, cx, cy, plane: Float64Array [a, b, c],
//   points: Float64Array [x, y, disparityQ4] of three}) returns FloorParameters, the cells, the candidates, the plane through the
//   points (empty: none), and whether `plane` is a floor.
// native.stages.floorScore({variant: one that is not the reference, cells: Int16Array of 64 x 48 disparities (32767: unknown),
//   columns: Int16Array A(i), rows: Int16Array B(j)}) returns the score of a candidate.
// native.stages.followFloor({height, isSet, count, frames: Float64Array [outcome, a, b, c] of each}) returns the frames' numbers.
#include "floor.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

FloorSettings readSettings(const Napi::Object& call) {
  FloorSettings settings;
  settings.focalPixels = readNumber(call, "focalPixels");
  settings.baselineMetres = readNumber(call, "baselineMetres");
  settings.disparityOffsetPixels = readNumber(call, "disparityOffsetPixels");
  settings.cx = readNumber(call, "cx"), settings.cy = readNumber(call, "cy");
  return settings;
}

/// Reads a whole number of a JavaScript array, 0 where it does not fit.
int64_t wholeNumber(double value, double limit) {
  return value > -limit && value < limit ? static_cast<int64_t>(value) : int64_t{0};
}

FloorPlane readPlane(const double* numbers) {
  return {wholeNumber(numbers[0], 1e13), wholeNumber(numbers[1], 1e13), wholeNumber(numbers[2], 1e13)};
}

Napi::Value floorStage(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto disparityQ4 = readImage<const int16_t>(call, "disparityQ4");
  const auto confidence = readImage<const uint8_t>(call, "confidence", disparityQ4.width, disparityQ4.height,
                                                   static_cast<size_t>(disparityQ4.width));
  FloorParameters p = makeFloorParameters(readSettings(call), disparityQ4.width, disparityQ4.height);
  if (!call.Get("before").IsUndefined()) {
    const auto* before = readElements<const double>(call, "before", 3);
    p.hasBefore = true;
    p.before = readPlane(before);
    p.onlyBefore = call.Get("onlyBefore").ToBoolean();
  }
  auto* out = readElements<double>(call, "floor", 9);
  const int32_t threads = readInteger(call, "threads", 1, 64, 1);
  FloorResult r;
  if (variant.isReference) {
    r = floorReference(p, disparityQ4, confidence);
  } else {
    // Kept between calls: a benchmark calls this for every frame.
    static thread_local std::unique_ptr<Workers> workers;
    if (!workers || workers->count() != threads) workers = std::make_unique<Workers>(threads);
    r = findFloor(p, disparityQ4, confidence, kernelsFor<FloorKernels>(variant.set).score, *workers);
  }
  const double values[9] = {
      static_cast<double>(r.outcome), static_cast<double>(r.plane.a), static_cast<double>(r.plane.b),
      static_cast<double>(r.plane.c), static_cast<double>(r.known),   static_cast<double>(r.on),
      static_cast<double>(r.below),   static_cast<double>(r.under),   static_cast<double>(r.squares)};
  for (int i = 0; i < 9; ++i) out[i] = values[i];
  return Napi::String::New(info.Env(), variant.name());
}

template <class Numbers>
Napi::Array listOf(Napi::Env env, const Numbers& numbers) {
  auto list = Napi::Array::New(env);
  uint32_t at = 0;
  for (const auto number : numbers) list.Set(at++, static_cast<double>(number));
  return list;
}

Napi::Value floorParts(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto call = objectAt(info, 0, "the call");
  FloorSettings settings = readSettings(call);
  settings.baselineMetres = std::min(std::max(settings.baselineMetres, 0.0), 1e3);
  const int32_t width = readInteger(call, "width", 1, 16384), height = readInteger(call, "height", 1, 16384);
  const FloorParameters p = makeFloorParameters(settings, width, height);
  std::vector<int32_t> columns, rows, cells;
  for (int32_t i = 0; i < kFloorColumns; ++i) columns.push_back(cellX(i, width));
  for (int32_t j = 0; j < kFloorRows; ++j) rows.push_back(cellY(j, height));
  for (const FloorCandidate& one : floorCandidates()) {
    for (int k = 0; k < 3; ++k) cells.push_back(one.i[k]), cells.push_back(one.j[k]);
  }
  const auto* points = readElements<const double>(call, "points", 9);
  int64_t x[3], y[3], d[3];
  for (int k = 0; k < 3; ++k) {
    x[k] = wholeNumber(points[3 * k], 16384), y[k] = wholeNumber(points[3 * k + 1], 16384);
    d[k] = wholeNumber(points[3 * k + 2], 32768);
  }
  std::vector<int64_t> through;
  FloorPlane plane;
  if (planeThrough(x, y, d, &plane)) through = {plane.a, plane.b, plane.c};
  auto result = Napi::Object::New(env);
  result.Set("parameters", listOf(env, std::vector<int64_t>{p.focalPixels, p.centreX, p.centreY, p.offsetQ4,
                                                            p.lowestSlope, p.highestSlope}));
  result.Set("columns", listOf(env, columns));
  result.Set("rows", listOf(env, rows));
  result.Set("candidates", listOf(env, cells));
  result.Set("through", listOf(env, through));
  result.Set("isFloor", isFloor(p, readPlane(readElements<const double>(call, "plane", 3))));
  return result;
}

Napi::Value floorScore(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  // Vectors are loaded from aligned memory.
  alignas(64) int16_t cells[kFloorCells], columns[kFloorColumns];
  std::copy_n(readElements<const int16_t>(call, "cells", kFloorCells), kFloorCells, cells);
  std::copy_n(readElements<const int16_t>(call, "columns", kFloorColumns), kFloorColumns, columns);
  const auto* rows = readElements<const int16_t>(call, "rows", kFloorRows);
  return Napi::Number::New(info.Env(), kernelsFor<FloorKernels>(readVariant(call).set).score(cells, columns, rows));
}

Napi::Value followFloors(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const int32_t height = readInteger(call, "height", 1, 16384), count = readInteger(call, "count", 1, 1000);
  const auto* frames = readElements<const double>(call, "frames", 4 * static_cast<size_t>(count));
  FloorParameters settings;
  settings.onlyBefore = call.Get("isSet").ToBoolean();
  settings.before = {1, 2, 3};
  FloorMemory memory = {};
  auto numbers = Napi::Float64Array::New(info.Env(), kFloorNumbers * static_cast<size_t>(count));
  for (int32_t frame = 0; frame < count; ++frame) {
    FloorResult found;
    found.outcome = static_cast<FloorOutcome>(wholeNumber(frames[4 * frame], 7));
    found.plane = readPlane(frames + 4 * frame + 1);
    found.known = 11, found.on = 12, found.below = 13, found.under = 14, found.squares = 15;
    followFloor(withFloorBefore(settings, memory), height, found, &memory,
                numbers.Data() + static_cast<size_t>(kFloorNumbers) * static_cast<size_t>(frame));
  }
  return numbers;
}

}  // namespace

void addFloor(Napi::Env env, Napi::Object stages) {
  stages.Set("floor", Napi::Function::New(env, floorStage, "floor"));
  stages.Set("floorParts", Napi::Function::New(env, floorParts, "floorParts"));
  stages.Set("floorScore", Napi::Function::New(env, floorScore, "floorScore"));
  stages.Set("followFloor", Napi::Function::New(env, followFloors, "followFloor"));
}

}  // namespace depthwatt
