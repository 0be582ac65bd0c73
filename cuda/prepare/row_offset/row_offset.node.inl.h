// SPDX-License-Identifier: Apache-2.0
// native.stages.rowOffset({variant, width, height, minDisparity, numDisparities, left, right: Uint32Array, result: Int32Array of 6});
// result: known, at the limit (0 or 1), quarter rows; of the line: known, quarter rows in the middle, over the width.
#include "row_offset.h"

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value rowOffset(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const int32_t width = readInteger(call, "width", 1, 32768), height = readInteger(call, "height", 1, 32768);
  const size_t row = static_cast<size_t>(width) * sizeof(uint32_t);
  const auto left = readImage<const uint32_t>(call, "left", width, height, row);
  const auto right = readImage<const uint32_t>(call, "right", width, height, row);
  const auto result = readImage<int32_t>(call, "result", 6, 1, 6 * sizeof(int32_t));
  const RowOffsetSearch search{readInteger(call, "minDisparity", 0, 2039), readInteger(call, "numDisparities", 8, 512)};
  RowOffset offset;
  RowLine line;
  if (variant.isReference) {
    offset = rowOffsetReference(search, left, right);
    line = rowLineReference(search, left, right);
  } else {
    const RowBands bands = countRowBands(search, left, right, kernelsFor<RowOffsetKernels>(variant.set).countRowOffset);
    offset = estimateRowOffset(bands);
    line = estimateRowLine(bands);
  }
  result.data[0] = offset.known ? 1 : 0;
  result.data[1] = offset.atLimit ? 1 : 0;
  result.data[2] = offset.quarterRows;
  result.data[3] = line.known ? 1 : 0;
  result.data[4] = line.middleQuarterRows;
  result.data[5] = line.quarterRowsOverWidth;
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addRowOffset(Napi::Env env, Napi::Object stages) {
  stages.Set("rowOffset", Napi::Function::New(env, rowOffset, "rowOffset"));
}

}  // namespace depthwatt
