// SPDX-License-Identifier: Apache-2.0
// Vector form of registration; compiled once per instruction set.
//
// All integers of the plan are below 2^52, so that doubles hold them, and the floor of the division of two such doubles is that
// of the integers. The compiler vectorizes the loops over kChunk pixels. Only the lens grid and the depth buffer are scalar:
// rows of several threads meet there, and the smaller value stays whichever comes first.

#include "registration.h"

namespace {

constexpr int32_t kChunk = 64;
/// Beyond every image and grid; positions are clamped to it.
constexpr double kFarAway = 1073741824.0;

struct ProjectedChunk {
  int32_t p[kChunk], q[kChunk], millimetres[kChunk];
};

/// floor(value), of -kFarAway to kFarAway.
inline int32_t floorToInt(double value) {
  const double low = value < -kFarAway ? -kFarAway : value, clamped = low > kFarAway ? kFarAway : low;
  const int32_t whole = static_cast<int32_t>(clamped);
  return whole - (static_cast<double>(whole) > clamped ? 1 : 0);
}

/// a x + b y + c, and the coefficient of the disparity.
struct LinearRow {
  double start, perColumn, perDisparity;
  LinearRow(const int64_t* row, int32_t x, int32_t y)
      : start(static_cast<double>(row[0] * x + row[1] * y + row[2])), perColumn(static_cast<double>(row[0])),
        perDisparity(static_cast<double>(row[3])) {}
  double at(int32_t column, double disparity) const { return start + perColumn * column + perDisparity * disparity; }
};

/// Pixels without value get 0 millimetres.
inline void projectChunk(const RegistrationPlan& plan, const int16_t* disparityQ4, int32_t x, int32_t y,
                         ProjectedChunk* out) {
  const LinearRow u(plan.u, x, y), v(plan.v, x, y), w(plan.w, x, y), depth(plan.depth, x, y);
  const double unit = static_cast<double>(plan.disparityUnit), offset = static_cast<double>(plan.offset);
  double along[kChunk], down[kChunk], far[kChunk];
  for (int32_t i = 0; i < kChunk; ++i) {
    const double disparity = disparityQ4[i];
    const double ahead = w.at(i, disparity), denominator = unit * disparity + offset;
    const bool valid = (disparityQ4[i] != kInvalidDisparity) & (ahead > 0) & (denominator > 0);
    const double by = valid ? ahead : 1.0, under = valid ? denominator : 1.0;
    along[i] = u.at(i, disparity) / by;
    down[i] = v.at(i, disparity) / by;
    far[i] = valid ? (depth.at(i, disparity) + 0.5 * under) / under : 0.0;
  }
  for (int32_t i = 0; i < kChunk; ++i) {
    out->p[i] = floorToInt(along[i]);
    out->q[i] = floorToInt(down[i]);
    out->millimetres[i] = floorToInt(far[i]);
  }
}

inline int64_t roundedDown(int64_t value, int64_t by) { return value >= 0 ? value / by : -((by - 1 - value) / by); }

/// Distorts a position. Returns false if there is none.
inline bool distortPosition(const RegistrationPlan& plan, int32_t* p, int32_t* q) {
  const int32_t x = *p - plan.gridX, y = *q - plan.gridY;
  if (x < 0 || y < 0) return false;
  const int32_t column = x / kCellSteps, row = y / kCellSteps;
  if (column + 1 >= plan.gridWidth || row + 1 >= plan.gridHeight) return false;
  const int32_t* const upper =
      plan.grid + 2 * (static_cast<size_t>(row) * static_cast<size_t>(plan.gridWidth) + static_cast<size_t>(column));
  const int32_t* const lower = upper + 2 * static_cast<size_t>(plan.gridWidth);
  if (upper[0] == kNoNode || upper[2] == kNoNode || lower[0] == kNoNode || lower[2] == kNoNode) return false;
  const int64_t fx = x % kCellSteps, fy = y % kCellSteps;
  const auto between = [&](int32_t axis) {
    const int64_t above = (kCellSteps - fx) * upper[axis] + fx * upper[2 + axis];
    const int64_t below = (kCellSteps - fx) * lower[axis] + fx * lower[2 + axis];
    constexpr int64_t kWhole = static_cast<int64_t>(kCellSteps) * kCellSteps;
    return static_cast<int32_t>(roundedDown(2 * ((kCellSteps - fy) * above + fy * below) + kWhole, 2 * kWhole));
  };
  *p = between(0);
  *q = between(1);
  return true;
}

inline void keepNearest(uint32_t* at, uint32_t value) {
  uint32_t found = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (value < found && !__atomic_compare_exchange_n(at, &found, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

/// Calls use(x, place, millimetres) for every pixel of a row that has a place in the other image.
template <class Use>
inline void projectRow(const RegistrationPlan& plan, ImageView<const int16_t> disparityQ4, int32_t y, const Use& use) {
  ProjectedChunk chunk;
  int16_t padded[kChunk];
  const int16_t* const row = disparityQ4.row(y);
  for (int32_t x = 0; x < disparityQ4.width; x += kChunk) {
    const int32_t count = disparityQ4.width - x < kChunk ? disparityQ4.width - x : kChunk;
    const int16_t* from = row + x;
    if (count < kChunk) {
      for (int32_t i = 0; i < kChunk; ++i) padded[i] = i < count ? from[i] : kInvalidDisparity;
      from = padded;
    }
    projectChunk(plan, from, x, y, &chunk);
    for (int32_t i = 0; i < count; ++i) {
      const int32_t millimetres = chunk.millimetres[i];
      if (millimetres < 1 || millimetres > 65535) continue;
      int32_t p = chunk.p[i], q = chunk.q[i];
      if (plan.grid != nullptr && !distortPosition(plan, &p, &q)) continue;
      const int32_t column = (p + 16) >> 5, line = (q + 16) >> 5;
      if (column < 0 || line < 0 || column >= plan.outWidth || line >= plan.outHeight) continue;
      use(x + i, column, line, millimetres);
    }
  }
}

void projectRows(const RegistrationPlan& plan, ImageView<const int16_t> disparityQ4,
                 ImageView<const uint8_t> confidence, uint32_t* buffer, int32_t firstRow, int32_t endRow) {
  const size_t strideValues = static_cast<size_t>(plan.outWidth) + 2;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const uint8_t* const sure = confidence.row(y);
    projectRow(plan, disparityQ4, y, [=](int32_t x, int32_t column, int32_t line, int32_t millimetres) {
      keepNearest(buffer + (static_cast<size_t>(line) + 1) * strideValues + static_cast<size_t>(column) + 1,
                  static_cast<uint32_t>(millimetres) * 256 + 255 - sure[x]);
    });
  }
}

void colourRows(const RegistrationPlan& plan, ImageView<const int16_t> disparityQ4, const RegisteredImages& images,
                uint8_t* points, size_t pointBytes, int32_t firstRow, int32_t endRow) {
  const auto width = static_cast<size_t>(disparityQ4.width);
  for (int32_t y = firstRow; y < endRow; ++y) {
    uint8_t* const colours = points + (static_cast<size_t>(y) * width + 1) * pointBytes - 4;
    for (size_t x = 0; x < width; ++x) std::memset(colours + x * pointBytes, 0, 4);
    projectRow(plan, disparityQ4, y, [&](int32_t x, int32_t column, int32_t line, int32_t millimetres) {
      const int32_t depth = images.millimetres.row(line)[column];
      if (depth == 0 || 16 * depth < 15 * millimetres) return;
      if (plan.fill && images.confidence.row(line)[column] == 0) return;
      const uint8_t* const grey = images.rgb.data == nullptr ? images.grey.row(line) + column : nullptr;
      const Rgb8 rgb = grey != nullptr ? Rgb8{*grey, *grey, *grey} : images.rgb.row(line)[column];
      const uint8_t bytes[4] = {rgb.blue, rgb.green, rgb.red, 255};
      std::memcpy(colours + static_cast<size_t>(x) * pointBytes, bytes, 4);
    });
  }
}

void resolveRows(const RegistrationPlan& plan, const uint32_t* buffer, uint32_t* visible, int32_t firstRow,
                 int32_t endRow) {
  const ptrdiff_t stride = plan.outWidth + 2;
  const ptrdiff_t ways[4] = {1, stride, stride + 1, stride - 1};
  for (int32_t y = firstRow; y < endRow; ++y) {
    const uint32_t* const from = buffer + (y + 1) * stride + 1;
    uint32_t* const to = visible + (y + 1) * stride + 1;
    for (int32_t x = 0; x < plan.outWidth; ++x) {
      // A pixel without value counts as beyond every depth.
      const uint32_t own = 15 * (from[x] >> 8);
      uint32_t hidden = 0;
      for (const ptrdiff_t way : ways) {
        hidden |= static_cast<uint32_t>((16 * (from[x + way] >> 8) < own) & (16 * (from[x - way] >> 8) < own));
      }
      to[x] = hidden != 0 ? kNoDepth : from[x];
    }
  }
}

void writeRows(const RegistrationPlan& plan, const uint32_t* visible, ImageView<uint16_t> millimetres,
               ImageView<uint8_t> registeredConfidence, int32_t firstRow, int32_t endRow) {
  const ptrdiff_t stride = plan.outWidth + 2;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const uint32_t* const from = visible + (y + 1) * stride + 1;
    uint16_t* const depth = millimetres.row(y);
    uint8_t* const sure = registeredConfidence.row(y);
    for (int32_t x = 0; x < plan.outWidth; ++x) {
      const bool has = from[x] != kNoDepth;
      depth[x] = static_cast<uint16_t>(has ? from[x] >> 8 : 0);
      sure[x] = static_cast<uint8_t>(has ? 255 - (from[x] & 255) : 0);
    }
    if (!plan.fill) continue;
    for (int32_t x = 0; x < plan.outWidth; ++x) {
      if (from[x] != kNoDepth) continue;
      int32_t around = 0;
      uint32_t farthest = 0;
      for (int32_t dy = -1; dy <= 1; ++dy) {
        for (int32_t dx = -1; dx <= 1; ++dx) {
          const uint32_t value = from[x + dy * stride + dx];
          if (value == kNoDepth) continue;
          ++around;
          farthest = farthest < (value >> 8) ? value >> 8 : farthest;
        }
      }
      if (around >= 5) depth[x] = static_cast<uint16_t>(farthest);
    }
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(RegistrationKernels, projectRows, resolveRows, writeRows, colourRows)
