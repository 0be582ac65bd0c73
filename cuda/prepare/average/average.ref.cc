// SPDX-License-Identifier: Apache-2.0
// Reference of the average over time, as defined in average.h.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "average.h"

namespace depthwatt {
namespace {

uint16_t stateAt(const AverageTask& task, int32_t x, int32_t y) { return static_cast<uint16_t>(task.before.row(y)[x]); }

int32_t changeAt(const AverageTask& task, int32_t x, int32_t y) {
  const int32_t column = std::clamp(x, 0, task.image.width - 1), row = std::clamp(y, 0, task.image.height - 1);
  const int32_t mean = stateAt(task, column, row) % 4096;
  return 8 * task.image.row(row)[column] - mean / 2;
}

bool hasMoved(const AverageTask& task, int32_t x, int32_t y) {
  int32_t sum = 0;
  for (int32_t j = -1; j <= 1; ++j) {
    for (int32_t i = -1; i <= 1; ++i) sum += changeAt(task, x + i, y + j);
  }
  return std::abs(sum) > task.limit || std::abs(changeAt(task, x, y)) > 4 * task.limit / 9;
}

}  // namespace

void averageReference(const AverageTask& task) {
  for (int32_t y = 0; y < task.image.height; ++y) {
    for (int32_t x = 0; x < task.image.width; ++x) {
      const int32_t grey = 16 * task.image.row(y)[x];
      int32_t mean = stateAt(task, x, y) % 4096, weight = stateAt(task, x, y) / 4096;
      if (weight == 0 || hasMoved(task, x, y)) {
        mean = grey, weight = 1;
      } else {
        const int32_t parts = weight == 1 ? 2 : weight < kAverageWeight ? 4 : 8;
        mean += static_cast<int32_t>(std::floor((grey - mean + parts / 2) / static_cast<double>(parts)));
        weight = std::min(weight + 1, kAverageWeight);
      }
      const uint8_t filtered = task.filtered.row(y)[x];
      task.after.row(y)[x] = static_cast<int16_t>(4096 * weight + mean);
      task.averaged.row(y)[x] = weight >= kAverageShown ? static_cast<uint8_t>((mean + 8) / 16) : filtered;
    }
  }
}

}  // namespace depthwatt
