// SPDX-License-Identifier: Apache-2.0
// Fast form of cross-based aggregation: arms and mini-census by rows, then each thread takes slices of sixteen disparities.
//
// A slice is one image's sixteen disparities over the whole image. Slices share only their inputs, and each thread
// keeps the smallest key (sum, then disparity) over the slices that it computes. The minimum over all threads is the
// same for every assignment of slices.
#include "cross.h"

#include <atomic>
#include <new>
#include <vector>

#include "../../simd/kernels.h"
#include "../ranges.h"

namespace depthwatt {
namespace {

constexpr int32_t kNothing = 0x7fffffff;

int32_t distance(int32_t a, int32_t b) { return a < b ? b - a : a - b; }

void miniCensusRow(ImageView<const uint8_t> image, int32_t y, uint8_t* out) {
  const int32_t width = image.width;
  const uint8_t* rows[3] = {image.row(y > 0 ? y - 1 : 0), image.row(y), image.row(y + 1 < image.height ? y + 1 : y)};
  for (int32_t x = 0; x < width; ++x) {
    const int32_t left = x > 0 ? x - 1 : 0, right = x + 1 < width ? x + 1 : x;
    uint32_t bits = 0;
    for (const uint8_t* row : rows) bits = bits << 1 | static_cast<uint32_t>(row[left] >= rows[1][x]);
    for (const uint8_t* row : rows) bits = bits << 1 | static_cast<uint32_t>(row[right] >= rows[1][x]);
    out[x] = static_cast<uint8_t>(bits);
  }
}

void armsRow(const CrossParameters& p, int side, ImageView<const uint8_t> image, int32_t y, CrossArms* arms) {
  const int32_t width = image.width, height = image.height;
  const uint8_t* row = image.row(y);
  for (int32_t x = 0; x < width; ++x) {
    const int32_t own = row[x];
    const auto reach = [&](int32_t maxLength, auto&& valueAt) {
      int32_t length = 0;
      while (length < maxLength && distance(valueAt(length + 1), own) < p.similarity) ++length;
      return static_cast<uint8_t>(length);
    };
    const auto least = [](int32_t a, int32_t b) { return a < b ? a : b; };
    arms[x].left = reach(least(p.sideArmX(side), x), [&](int32_t i) { return row[x - i]; });
    arms[x].right = reach(least(p.sideArmX(side), width - 1 - x), [&](int32_t i) { return row[x + i]; });
    arms[x].up = reach(least(p.sideArmY(side), y), [&](int32_t i) { return image.row(y - i)[x]; });
    arms[x].down = reach(least(p.sideArmY(side), height - 1 - y), [&](int32_t i) { return image.row(y + i)[x]; });
  }
}

class CrossCpu final : public Cross {
 public:
  CrossCpu(const CrossParameters& p, int32_t width, int32_t height, InstructionSet set, Workers& workers)
      : p_(p), costs_(makeCrossCosts(p.lambdaDifference, p.differenceScale, p.lambdaCensus)), width_(width),
        height_(height), kernels_(kernelsFor<CbcaKernels>(set)), workers_(workers) {
    const size_t pixels = static_cast<size_t>(width) * height;
    for (Side& side : sides_) {
      side.census.resize(pixels);
      side.arms.resize(pixels);
    }
    threads_.resize(static_cast<size_t>(workers.count()));
    for (Thread& thread : threads_) {
      thread.prefix.resize(static_cast<size_t>(width + 1) * kCrossLanes);
      thread.columns.resize(static_cast<size_t>(2 * p.longestY() + 2) * width * kCrossLanes);
      for (std::vector<int32_t>& best : thread.best) best.resize(pixels);
    }
  }

  void compute(const CrossImages& images) override {
    const ImageView<const uint8_t> greys[2] = {images.left, images.right};
    workers_.rows(height_, [&](int32_t first, int32_t end) {
      for (int side = 0; side < 2; ++side) {
        for (int32_t y = first; y < end; ++y) {
          const size_t row = static_cast<size_t>(y) * width_;
          miniCensusRow(greys[side], y, sides_[side].census.data() + row);
          armsRow(p_, side, greys[side], y, sides_[side].arms.data() + row);
        }
      }
    });
    const int32_t slicesPerSide = (p_.numDisparities + kCrossLanes - 1) / kCrossLanes;
    std::atomic<int32_t> next{0};
    workers_.each([&](int worker) {
      Thread& thread = threads_[worker];
      for (std::vector<int32_t>& best : thread.best) {
        for (int32_t& key : best) key = kNothing;
      }
      for (int32_t number; (number = next.fetch_add(1, std::memory_order_relaxed)) < 2 * slicesPerSide;) {
        slice(greys, number % 2, number / 2 * kCrossLanes, thread);
      }
    });
    workers_.rows(height_, [&](int32_t first, int32_t end) {
      for (int32_t y = first; y < end; ++y) {
        winnersRow(0, y, images.disparity.row(y));
        winnersRow(1, y, images.rightDisparity.row(y));
      }
    });
  }

  size_t workspaceBytes() const override {
    size_t bytes = 0;
    for (const Side& side : sides_) bytes += side.census.size() + side.arms.size() * sizeof(CrossArms);
    for (const Thread& thread : threads_) {
      bytes += (thread.prefix.size() + thread.columns.size() + 2 * thread.best[0].size()) * sizeof(int32_t);
    }
    return bytes;
  }

 private:
  struct Side {
    std::vector<uint8_t> census;
    std::vector<CrossArms> arms;
  };
  struct Thread {
    std::vector<int32_t> prefix, columns, best[2];
  };

  void slice(const ImageView<const uint8_t> (&greys)[2], int side, int32_t firstIndex, Thread& thread) {
    const auto census = [&](int which) {
      return packedView<const uint8_t>(sides_[which].census.data(), width_, height_);
    };
    CrossSlice slice;
    slice.own = greys[side];
    slice.other = greys[1 - side];
    slice.ownCensus = census(side);
    slice.otherCensus = census(1 - side);
    slice.arms = sides_[side].arms.data();
    slice.direction = side == 0 ? -1 : 1;
    slice.firstDisparity = p_.minDisparity + firstIndex;
    slice.firstIndex = firstIndex;
    const int32_t rest = p_.numDisparities - firstIndex;
    slice.count = rest < kCrossLanes ? rest : kCrossLanes;
    slice.armY = p_.sideArmY(side);
    slice.costs = &costs_;
    slice.prefix = thread.prefix.data();
    slice.columns = thread.columns.data();
    slice.best = thread.best[side].data();
    kernels_.slice(slice);
  }

  void winnersRow(int side, int32_t y, int16_t* out) const {
    const size_t row = static_cast<size_t>(y) * width_;
    for (int32_t x = 0; x < width_; ++x) {
      int32_t key = kNothing;
      for (const Thread& thread : threads_) {
        const int32_t candidate = thread.best[side][row + x];
        if (candidate < key) key = candidate;
      }
      out[x] = key == kNothing ? kInvalidDisparity : static_cast<int16_t>(p_.minDisparity + (key & 511));
    }
  }

  const CrossParameters p_;
  const CrossCosts costs_;
  const int32_t width_, height_;
  const CbcaKernels& kernels_;
  Workers& workers_;
  Side sides_[2];
  std::vector<Thread> threads_;
};

}  // namespace

Status checkCrossParameters(const CrossParameters& p) {
  const Status status = checkRanges({{"minDisparity", p.minDisparity, 0, 2046},
                                     {"numDisparities", p.numDisparities, 1, 512},
                                     {"armX", p.armX, 0, kMaxArmX},
                                     {"armY", p.armY, 0, kMaxArmY},
                                     {"similarity", p.similarity, 1, 256},
                                     {"armXRight", p.armXRight, -1, kMaxArmX},
                                     {"armYRight", p.armYRight, -1, kMaxArmY},
                                     {"lambdaDifference", p.lambdaDifference, kLeastLambda, kMaxLambda},
                                     {"lambdaCensus", p.lambdaCensus, kLeastLambda, kMaxLambda}});
  if (!status.ok()) return status;
  for (int side = 0; side < 2; ++side) {
    const int32_t region = (2 * p.sideArmX(side) + 1) * (2 * p.sideArmY(side) + 1);
    if (region <= kMaxRegion) continue;
    return Status::error(Code::kParameter,
                         "Expected arms with (2 armX + 1) (2 armY + 1) of at most %d pixels, got %d from %d and %d.",
                         kMaxRegion, region, p.sideArmX(side), p.sideArmY(side));
  }
  return {};
}

Status Cross::open(const CrossParameters& parameters, int32_t width, int32_t height, InstructionSet set,
                   Workers& workers, Cross** opened) {
  const Status status = checkCrossParameters(parameters);
  if (!status.ok()) return status;
  try {
    *opened = new CrossCpu(parameters, width, height, set, workers);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::kMemoryExhausted,
                         "Expected memory for cross-based aggregation of %dx%d, the allocation failed.", width, height);
  }
  return {};
}

}  // namespace depthwatt
