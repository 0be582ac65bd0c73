// SPDX-License-Identifier: Apache-2.0
// Fast form of pyramid SAD. Copies have padding columns, so that no window needs a border check; levels are matched
// from coarse to fine.
#include "pyramid.h"

#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "../../simd/kernels.h"
#include "../ranges.h"
#include "pyramid_row.h"

namespace depthwatt {
namespace {

int32_t within(int32_t value, int32_t end) { return value < 0 ? 0 : value >= end ? end - 1 : value; }

/// One image at one level.
struct Copy {
  int32_t width = 0, height = 0, padding = 0;
  size_t pitch = 0;
  std::vector<HsvPixel> pixels;

  void open(int32_t w, int32_t h, int32_t paddingColumns) {
    width = w, height = h, padding = paddingColumns;
    pitch = static_cast<size_t>(w) + 2 * static_cast<size_t>(paddingColumns) + kPyramidSlack;
    pixels.resize(pitch * static_cast<size_t>(h));
  }
  HsvPixel* row(int32_t y) { return pixels.data() + pitch * static_cast<size_t>(y) + padding; }

  /// Fills the padding columns of a row.
  void pad(int32_t y) {
    HsvPixel* at = row(y);
    for (int32_t x = 1; x <= padding; ++x) at[-x] = at[0];
    for (int32_t x = 0; x < padding + kPyramidSlack; ++x) at[width + x] = at[width - 1];
  }
};

class PyramidOnCpu final : public Pyramid {
 public:
  PyramidOnCpu(const PyramidParameters& p, int32_t width, int32_t height, bool wantsRight, InstructionSet set,
               Workers& workers)
      : p_(p), wantsRight_(wantsRight), kernels_(kernelsFor<PyramidKernels>(set)), workers_(workers) {
    for (int32_t level = 0; level <= p.levels; ++level) {
      // Candidates beyond the range are summed and dropped.
      const int32_t paddingColumns = p.windowWidth / 2 + p.highest(level) + kPyramidCandidates;
      for (std::vector<Copy>& copies : copies_) {
        copies.emplace_back();
        copies.back().open(width, height, paddingColumns);
      }
      wholes_.emplace_back(static_cast<size_t>(width) * height);
      width = (width + 1) / 2;
      height = (height + 1) / 2;
    }
  }

  void compute(const PyramidImages& images, const PyramidResult& result) override {
    const ImageView<const HsvPixel> sides[2] = {images.left, images.right};
    for (int side = 0; side < 2; ++side) {
      Copy& copy = copies_[side][0];
      workers_.rows(copy.height, [&](int32_t first, int32_t end) {
        for (int32_t y = first; y < end; ++y) {
          std::memcpy(copy.row(y), sides[side].row(y), static_cast<size_t>(copy.width) * sizeof(HsvPixel));
          copy.pad(y);
        }
      });
      for (int32_t level = 0; level < p_.levels; ++level)
        halve(copies_[side][level], copies_[side][level + 1], level == 0);
    }
    match(0, -1, &result);
    if (!wantsRight_) return;
    match(1, 1, nullptr);
    const Copy& copy = copies_[0][0];
    for (int32_t y = 0; y < copy.height; ++y) {
      std::memcpy(result.rightDisparity.row(y), wholes_[0].data() + static_cast<size_t>(y) * copy.width,
                  static_cast<size_t>(copy.width) * sizeof(int16_t));
    }
  }

  size_t workspaceBytes() const override {
    size_t bytes = 0;
    for (size_t level = 0; level < wholes_.size(); ++level) {
      bytes += wholes_[level].size() * sizeof(int16_t);
      for (const std::vector<Copy>& copies : copies_) bytes += copies[level].pixels.size() * sizeof(HsvPixel);
    }
    return bytes;
  }

 private:
  void halve(Copy& from, Copy& to, bool fromImage) {
    workers_.rows(to.height, [&](int32_t first, int32_t end) {
      for (int32_t y = first; y < end; ++y) {
        // The column after an odd width repeats the last one; so does the row below an odd height.
        kernels_.halve({from.row(2 * y), from.row(within(2 * y + 1, from.height)), to.row(y), to.width, fromImage});
        to.pad(y);
      }
    });
  }

  /// @param result null if only whole disparities are needed, which stay in wholes_
  void match(int own, int32_t towards, const PyramidResult* result) {
    for (int32_t level = p_.levels; level >= 0; --level) {
      Copy& ownCopy = copies_[own][level];
      Copy& others = copies_[1 - own][level];
      const int32_t step = level < p_.levels ? kPyramidRows : 1;
      workers_.rows((ownCopy.height + step - 1) / step, [&](int32_t first, int32_t end) {
        PyramidRows rows = {};
        rows.width = ownCopy.width;
        rows.windowWidth = p_.windowWidth, rows.windowHeight = p_.windowHeight;
        rows.towards = towards;
        rows.lowest = p_.lowest(level), rows.highest = p_.highest(level);
        rows.peakRatio = p_.peakRatio, rows.subpixel = p_.subpixel;
        for (int32_t pass = first; pass < end; ++pass) {
          const int32_t y = step * pass;
          rows.count = y + step <= ownCopy.height ? step : 1;
          for (int32_t j = 0; j < p_.windowHeight + rows.count - 1; ++j) {
            const int32_t at = within(y + j - p_.windowHeight / 2, ownCopy.height);
            rows.own[j] = ownCopy.row(at), rows.partner[j] = others.row(at);
          }
          if (level < p_.levels)
            rows.coarse = wholes_[level + 1].data() + static_cast<size_t>(pass) * copies_[own][level + 1].width;
          const bool last = level == 0 && result != nullptr;
          for (int32_t r = 0; r < rows.count; ++r) {
            rows.whole[r] = last ? result->disparity.row(y + r)
                                 : wholes_[level].data() + static_cast<size_t>(y + r) * ownCopy.width;
            rows.q4[r] = last ? result->disparityQ4.row(y + r) : nullptr;
            rows.confidence[r] = last ? result->confidence.row(y + r) : nullptr;
          }
          kernels_.rows(rows);
        }
      });
    }
  }

  const PyramidParameters p_;
  const bool wantsRight_;
  const PyramidKernels& kernels_;
  Workers& workers_;
  std::vector<Copy> copies_[2];
  std::vector<std::vector<int16_t>> wholes_;
};

}  // namespace

Status checkPyramidParameters(const PyramidParameters& p) {
  const Status status = checkWindowParameters(p);
  if (!status.ok()) return status;
  return checkRanges({{"levels", p.levels, 1, kMaxLevels}, {"peakRatio", p.peakRatio, 0, 50}});
}

Status Pyramid::open(const PyramidParameters& parameters, int32_t width, int32_t height, bool wantsRight,
                     InstructionSet set, Workers& workers, Pyramid** opened) {
  const Status status = checkPyramidParameters(parameters);
  if (!status.ok()) return status;
  try {
    *opened = new PyramidOnCpu(parameters, width, height, wantsRight, set, workers);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::kMemoryExhausted, "Expected memory for pyramid SAD of %dx%d, the allocation failed.",
                         width, height);
  }
  return {};
}

}  // namespace depthwatt
