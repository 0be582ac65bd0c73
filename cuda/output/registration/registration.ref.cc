// SPDX-License-Identifier: Apache-2.0
// The definition of registration; see registration.h.
#include "registration.h"

#include <algorithm>
#include <vector>

namespace depthwatt {
namespace {

int64_t floorDivide(int64_t value, int64_t by) {
  const int64_t quotient = value / by;
  return value % by < 0 ? quotient - 1 : quotient;
}

int64_t at(const int64_t* row, int32_t x, int32_t y, int32_t disparity) {
  return row[0] * x + row[1] * y + row[2] + row[3] * disparity;
}

/// Distorts a position. Returns false if there is none.
bool distort(const RegistrationPlan& plan, int64_t* p, int64_t* q) {
  if (plan.grid == nullptr) return true;
  const int64_t x = *p - plan.gridX, y = *q - plan.gridY;
  const int64_t column = floorDivide(x, kCellSteps), row = floorDivide(y, kCellSteps);
  if (column < 0 || row < 0 || column + 1 >= plan.gridWidth || row + 1 >= plan.gridHeight) return false;
  const int64_t fx = x - column * kCellSteps, fy = y - row * kCellSteps;
  int64_t sum[2] = {0, 0};
  for (int corner = 0; corner < 4; ++corner) {
    const int64_t cx = column + corner % 2, cy = row + corner / 2;
    const int32_t* node = plan.grid + 2 * (cy * plan.gridWidth + cx);
    if (node[0] == kNoNode) return false;
    const int64_t weight = (corner % 2 == 1 ? fx : kCellSteps - fx) * (corner / 2 == 1 ? fy : kCellSteps - fy);
    sum[0] += weight * node[0];
    sum[1] += weight * node[1];
  }
  constexpr int64_t kWhole = static_cast<int64_t>(kCellSteps) * kCellSteps;
  *p = floorDivide(2 * sum[0] + kWhole, 2 * kWhole);
  *q = floorDivide(2 * sum[1] + kWhole, 2 * kWhole);
  return true;
}

struct Projected {
  int64_t column = 0, row = 0, millimetres = 0;
};

/// Returns false if the pixel has no place in the other image.
bool project(const RegistrationPlan& plan, int32_t x, int32_t y, int32_t disparity, Projected* out) {
  const int64_t w = at(plan.w, x, y, disparity), denominator = plan.disparityUnit * disparity + plan.offset;
  if (disparity == kInvalidDisparity || w <= 0 || denominator <= 0) return false;
  int64_t p = floorDivide(at(plan.u, x, y, disparity), w), q = floorDivide(at(plan.v, x, y, disparity), w);
  if (!distort(plan, &p, &q)) return false;
  *out = {floorDivide(p + 16, 32), floorDivide(q + 16, 32),
          floorDivide(at(plan.depth, x, y, disparity) + denominator / 2, denominator)};
  return out->column >= 0 && out->row >= 0 && out->column < plan.outWidth && out->row < plan.outHeight &&
         out->millimetres >= 1 && out->millimetres <= 65535;
}

/// Returns the value of the depth buffer at a place, kNoDepth outside.
uint32_t valueAt(const RegistrationPlan& plan, const std::vector<uint32_t>& buffer, int32_t x, int32_t y) {
  if (x < 0 || y < 0 || x >= plan.outWidth || y >= plan.outHeight) return kNoDepth;
  return buffer[static_cast<size_t>(y) * static_cast<size_t>(plan.outWidth) + static_cast<size_t>(x)];
}

bool occluded(const RegistrationPlan& plan, const std::vector<uint32_t>& buffer, int32_t x, int32_t y) {
  const uint32_t own = valueAt(plan, buffer, x, y) / 256;
  const auto nearer = [&](int32_t dx, int32_t dy) {
    const uint32_t value = valueAt(plan, buffer, x + dx, y + dy);
    return value != kNoDepth && 16 * (value / 256) < 15 * own;
  };
  constexpr int32_t kDirections[4][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};
  for (const auto& way : kDirections) {
    if (nearer(way[0], way[1]) && nearer(-way[0], -way[1])) return true;
  }
  return false;
}

}  // namespace

void registrationReference(const RegistrationPlan& plan, ImageView<const int16_t> disparityQ4,
                           ImageView<const uint8_t> confidence, ImageView<uint16_t> millimetres,
                           ImageView<uint8_t> registeredConfidence) {
  std::vector<uint32_t> buffer(static_cast<size_t>(plan.outWidth) * static_cast<size_t>(plan.outHeight), kNoDepth);
  for (int32_t y = 0; y < disparityQ4.height; ++y) {
    for (int32_t x = 0; x < disparityQ4.width; ++x) {
      Projected found;
      if (!project(plan, x, y, disparityQ4.row(y)[x], &found)) continue;
      uint32_t& kept = buffer[static_cast<size_t>(found.row * plan.outWidth + found.column)];
      kept = std::min(kept, static_cast<uint32_t>(found.millimetres * 256 + 255 - confidence.row(y)[x]));
    }
  }
  std::vector<uint32_t> visible = buffer;
  for (int32_t y = 0; y < plan.outHeight; ++y) {
    for (int32_t x = 0; x < plan.outWidth; ++x) {
      const size_t place = static_cast<size_t>(y) * static_cast<size_t>(plan.outWidth) + static_cast<size_t>(x);
      if (buffer[place] != kNoDepth && occluded(plan, buffer, x, y)) visible[place] = kNoDepth;
    }
  }
  for (int32_t y = 0; y < plan.outHeight; ++y) {
    for (int32_t x = 0; x < plan.outWidth; ++x) {
      const uint32_t own = valueAt(plan, visible, x, y);
      uint32_t depth = own == kNoDepth ? 0 : own / 256, sure = own == kNoDepth ? 0 : 255 - own % 256;
      if (own == kNoDepth && plan.fill) {
        int32_t around = 0;
        uint32_t farthest = 0;
        for (int32_t dy = -1; dy <= 1; ++dy) {
          for (int32_t dx = -1; dx <= 1; ++dx) {
            const uint32_t value = valueAt(plan, visible, x + dx, y + dy);
            if (value == kNoDepth) continue;
            ++around;
            farthest = std::max(farthest, value / 256);
          }
        }
        depth = around >= 5 ? farthest : 0;
        sure = 0;
      }
      millimetres.row(y)[x] = static_cast<uint16_t>(depth);
      registeredConfidence.row(y)[x] = static_cast<uint8_t>(sure);
    }
  }
}

void registeredColoursReference(const RegistrationPlan& plan, ImageView<const int16_t> disparityQ4,
                                const RegisteredImages& images, uint8_t* points, size_t pointBytes) {
  for (int32_t y = 0; y < disparityQ4.height; ++y) {
    for (int32_t x = 0; x < disparityQ4.width; ++x, points += pointBytes) {
      uint8_t* const colour = points + pointBytes - 4;
      std::fill_n(colour, 4, uint8_t{0});
      Projected found;
      if (!project(plan, x, y, disparityQ4.row(y)[x], &found)) continue;
      const auto row = static_cast<int32_t>(found.row);
      const int64_t depth = images.millimetres.row(row)[found.column];
      if (depth == 0 || 16 * depth < 15 * found.millimetres) continue;
      if (plan.fill && images.confidence.row(row)[found.column] == 0) continue;
      if (images.rgb.data != nullptr) {
        const Rgb8 rgb = images.rgb.row(row)[found.column];
        colour[0] = rgb.blue, colour[1] = rgb.green, colour[2] = rgb.red;
      } else {
        std::fill_n(colour, 3, images.grey.row(row)[found.column]);
      }
      colour[3] = 255;
    }
  }
}

}  // namespace depthwatt
