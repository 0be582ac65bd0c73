// SPDX-License-Identifier: Apache-2.0
// Fast form of exponential-step aggregation: weights of all passes first, then the passes, then the winners, row by row.
//
// A pass does not mix disparities, so each thread takes slices of a few disparities through all passes, in its cache.
// Messages mix disparities and are made before, row by row.
#include "exponential.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <new>
#include <vector>

#include "../../simd/kernels.h"
#include "../ranges.h"

namespace depthwatt {
namespace {

constexpr int32_t kSliceDisparities = 4;

int32_t absolute(int32_t value) { return value < 0 ? -value : value; }
int32_t greater(int32_t a, int32_t b) { return a > b ? a : b; }

int32_t colourDifference(Rgb8 a, Rgb8 b) {
  return greater(greater(absolute(a.red - b.red), absolute(a.green - b.green)), absolute(a.blue - b.blue));
}

Lab labFrom(const LabTables& tables, Rgb8 pixel) {
  const uint32_t red = tables.light[pixel.red], green = tables.light[pixel.green], blue = tables.light[pixel.blue];
  const auto root = [&](int32_t i) -> int32_t {
    const int32_t* w = tables.weights[i];
    return tables.roots[(w[0] * red + w[1] * green + w[2] * blue + 32768u) >> 16];
  };
  const int32_t x = root(0), y = root(1), z = root(2);
  return {static_cast<int16_t>((232 * y - (1 << 19) + (1 << 13)) >> 14),
          static_cast<int16_t>((1000 * (x - y) + (1 << 13)) >> 14),
          static_cast<int16_t>((400 * (y - z) + (1 << 13)) >> 14), 0};
}

int32_t colourDifference(Lab p, Lab q) {
  const int32_t l = p.lightness - q.lightness, a = p.a - q.a, b = p.b - q.b, square = 4 * (l * l + a * a + b * b);
  // Twice the distance; the estimate is at most one off.
  auto root = static_cast<int32_t>(std::sqrt(static_cast<float>(square)));
  root += (root + 1) * (root + 1) <= square ? 1 : root * root > square ? -1 : 0;
  return (root + 1) >> 1;
}

/// Returns 16 times the vertex of the parabola through below, best and above, rounded down: match/select's rule.
int32_t fractionQ4(int32_t below, int32_t best, int32_t above) {
  const int32_t q = below + above - 2 * best;
  if (q <= 0) return 0;
  // Add 8 and subtract it again: for a positive quotient, truncation is the floor.
  return (16 * (below - above) + 17 * q) / (2 * q) - 8;
}

int32_t winnerConfidence(int32_t least, int32_t second) { return 255 * (second - least) / (second > 1 ? second : 1); }

/// [height][disparities][pitch] cells, with padding on both sides so that every cell's neighbours are inside the
/// allocation.
class Cells {
 public:
  void open(int32_t width, int32_t height, int32_t disparities, int32_t pitch) {
    margin_ = static_cast<size_t>(width) + kExponentialPitch;
    rowCells_ = static_cast<size_t>(disparities) * pitch;
    cells_.assign(2 * margin_ + rowCells_ * height, 0);
  }
  uint16_t* row(int32_t y) { return cells_.data() + margin_ + rowCells_ * y; }
  size_t rowCells() const { return rowCells_; }
  size_t bytes() const { return cells_.size() * sizeof(uint16_t); }

 private:
  size_t margin_ = 0, rowCells_ = 0;
  std::vector<uint16_t> cells_;
};

class ExponentialCpu final : public Exponential {
 public:
  ExponentialCpu(const ExponentialParameters& p, int32_t width, int32_t height, InstructionSet set, Workers& workers)
      : p_(p), width_(width), height_(height),
        pitch_((width + kExponentialPitch - 1) / kExponentialPitch * kExponentialPitch),
        kernels_(kernelsFor<ExponentialKernels>(set)), workers_(workers), passes_(2 * kMaxSteps) {
    passes_.resize(static_cast<size_t>(exponentialPasses(p, width, height, passes_.data())));
    weights_.resize(passes_.size() * 2 * pitch_ * height);
    if (p.colourDistance == ColourDistance::kLab) {
      lab_.resize(static_cast<size_t>(width) * height);
      labTables_.resize(1);
      fillLabTables(labTables_.data());
    }
    reciprocals_.resize(2 * 4096 + 1);
    for (int32_t i = 0; i <= 2 * 4096; ++i) reciprocals_[i] = static_cast<uint16_t>(65535 * 4096 / (4096 + i));
    volume_.open(width, height, p.numDisparities, pitch_);
    threads_.resize(static_cast<size_t>(workers.count()));
    for (Thread& thread : threads_) {
      for (Lines* lines : {&thread.grey, &thread.gradient}) {
        lines->left.resize(pitch_);
        lines->right.resize(static_cast<size_t>(p.minDisparity) + p.numDisparities + pitch_);
      }
      thread.winner.resize(pitch_);
      thread.least.resize(pitch_);
      thread.second.resize(pitch_);
      thread.rightLeast.resize(width);
      for (Cells& slice : thread.slice) slice.open(width, height, kSliceDisparities, pitch_);
    }
  }

  void compute(const ExponentialImages& images, const ExponentialResult& result) override {
    if (lab_.empty()) {
      weighRows(images.leftRgb);
    } else {
      workers_.rows(height_, [&](int32_t first, int32_t end) {
        for (int32_t y = first; y < end; ++y) {
          for (int32_t x = 0; x < width_; ++x) lab().row(y)[x] = labFrom(labTables_[0], images.leftRgb.row(y)[x]);
        }
      });
      weighRows(lab().asConst());
    }
    if (messages()) {
      std::atomic<int32_t> nextRow{0};
      workers_.each([&](int worker) {
        for (int32_t y; (y = nextRow.fetch_add(1, std::memory_order_relaxed)) < height_;) {
          costRows(threads_[worker], images, y, 0, p_.numDisparities, volume_.row(y));
          kernels_.messages(volume_.row(y), p_.numDisparities, pitch_, p_.slope, p_.cap);
        }
      });
    }
    aggregateAll(images);
    std::atomic<int32_t> next{0};
    workers_.each([&](int worker) {
      for (int32_t y; (y = next.fetch_add(1, std::memory_order_relaxed)) < height_;)
        selectRow(threads_[worker], y, result);
    });
  }

  size_t workspaceBytes() const override {
    size_t bytes = volume_.bytes() + (weights_.size() + reciprocals_.size()) * sizeof(uint16_t) +
                   lab_.size() * sizeof(Lab) + labTables_.size() * sizeof(LabTables);
    for (const Thread& thread : threads_) {
      bytes += 2 * (thread.grey.left.size() + thread.grey.right.size()) +
               (3 * thread.winner.size() + thread.rightLeast.size()) * sizeof(uint16_t);
      for (const Cells& slice : thread.slice) bytes += slice.bytes();
    }
    return bytes;
  }

 private:
  /// A row of both images, the right one with its first column repeated before it.
  struct Lines {
    std::vector<uint8_t> left, right;
  };
  struct Thread {
    Lines grey, gradient;
    std::vector<int16_t> winner;
    std::vector<uint16_t> least, second, rightLeast;
    Cells slice[2];
  };

  bool messages() const { return p_.slope > 0; }

  /// Returns the weights of the neighbours before and after, pass by pass.
  uint16_t* weights(size_t pass, int32_t y) { return weights_.data() + (pass * height_ + y) * 2 * pitch_; }

  ImageView<Lab> lab() { return packedView(lab_.data(), width_, height_); }

  template <class Colour>
  void weighRows(ImageView<const Colour> colours) {
    workers_.rows(height_, [&](int32_t first, int32_t end) {
      for (int32_t y = first; y < end; ++y) weighRow(colours, y);
    });
  }

  template <class Colour>
  void weighRow(ImageView<const Colour> colours, int32_t y) {
    const Colour* row = colours.row(y);
    for (size_t number = 0; number < passes_.size(); ++number) {
      const ExponentialPass& pass = passes_[number];
      uint16_t* before = weights(number, y);
      uint16_t* after = before + pitch_;
      // A missing neighbour is replaced by the pixel itself, with a weight of 0.
      const bool above = pass.alongX || y >= pass.step, below = pass.alongX || y + pass.step < height_;
      const Colour* rowBefore = pass.alongX ? row - pass.step : colours.row(above ? y - pass.step : y);
      const Colour* rowAfter = pass.alongX ? row + pass.step : colours.row(below ? y + pass.step : y);
      for (int32_t x = 0; x < width_; ++x) {
        const bool hasBefore = pass.alongX ? x >= pass.step : above,
                   hasAfter = pass.alongX ? x + pass.step < width_ : below;
        const uint32_t b = hasBefore ? pass.weights[colourDifference(row[x], rowBefore[x])] : 0u;
        const uint32_t a = hasAfter ? pass.weights[colourDifference(row[x], rowAfter[x])] : 0u;
        const uint32_t reciprocal = reciprocals_[a + b];
        before[x] = static_cast<uint16_t>(b * reciprocal >> 12);
        after[x] = static_cast<uint16_t>(a * reciprocal >> 12);
      }
    }
  }

  /// Computes the costs of `count` disparities from place `first` on, [count][pitch].
  void costRows(Thread& thread, const ExponentialImages& images, int32_t y, int32_t first, int32_t count,
                uint16_t* out) {
    const int32_t largest = p_.minDisparity + p_.numDisparities - 1;
    // right[largest + x] is R(max(x, 0), y).
    const auto repeatFirst = [&](std::vector<uint8_t>& line) {
      std::memset(line.data(), line[static_cast<size_t>(largest)], static_cast<size_t>(largest));
    };
    Lines& grey = thread.grey;
    std::memcpy(grey.left.data(), images.left.row(y), static_cast<size_t>(width_));
    std::memcpy(grey.right.data() + largest, images.right.row(y), static_cast<size_t>(width_));
    repeatFirst(grey.right);
    Lines& gradient = thread.gradient;
    if (p_.gradientCost > 0) {
      exponentialGradientRow(images.left.row(y), width_, gradient.left.data());
      exponentialGradientRow(images.right.row(y), width_, gradient.right.data() + largest);
      repeatFirst(gradient.right);
    }
    for (int32_t i = 0; i < count; ++i) {
      const int32_t shift = largest - (p_.minDisparity + first + i);
      uint16_t* costs = out + static_cast<size_t>(i) * pitch_;
      kernels_.costRow(grey.left.data(), grey.right.data() + shift, p_.truncation, p_.cost, pitch_, costs);
      if (p_.gradientCost == 0) continue;
      kernels_.addCostRow(gradient.left.data(), gradient.right.data() + shift, p_.gradientTruncation, p_.gradientCost,
                          pitch_, costs);
    }
  }

  uint16_t* inVolume(int32_t y, int32_t first) { return volume_.row(y) + static_cast<size_t>(first) * pitch_; }
  size_t sliceRowBytes(int32_t count) const { return static_cast<size_t>(count) * pitch_ * sizeof(uint16_t); }

  void aggregateRow(size_t number, Cells& from, Cells& to, int32_t y, int32_t rows) {
    const ExponentialPass& pass = passes_[number];
    const uint16_t* centre = from.row(y);
    const uint16_t* before = centre - pass.step;
    const uint16_t* after = centre + pass.step;
    if (!pass.alongX) {
      before = y >= pass.step ? from.row(y - pass.step) : centre;
      after = y + pass.step < height_ ? from.row(y + pass.step) : centre;
    }
    kernels_.aggregate(before, centre, after, weights(number, y), weights(number, y) + pitch_, rows, pitch_, to.row(y));
  }

  void aggregateAll(const ExponentialImages& images) {
    const int32_t slices = (p_.numDisparities + kSliceDisparities - 1) / kSliceDisparities;
    std::atomic<int32_t> next{0};
    workers_.each([&](int worker) {
      Thread& thread = threads_[worker];
      for (int32_t slice; (slice = next.fetch_add(1, std::memory_order_relaxed)) < slices;) {
        const int32_t first = slice * kSliceDisparities, rest = p_.numDisparities - first;
        const int32_t count = rest < kSliceDisparities ? rest : kSliceDisparities;
        int from = 0;
        for (int32_t y = 0; y < height_; ++y) {
          if (messages()) std::memcpy(thread.slice[from].row(y), inVolume(y, first), sliceRowBytes(count));
          else costRows(thread, images, y, first, count, thread.slice[from].row(y));
        }
        for (size_t number = 0; number < passes_.size(); ++number, from = 1 - from) {
          for (int32_t y = 0; y < height_; ++y)
            aggregateRow(number, thread.slice[from], thread.slice[1 - from], y, count);
        }
        for (int32_t y = 0; y < height_; ++y)
          std::memcpy(inVolume(y, first), thread.slice[from].row(y), sliceRowBytes(count));
      }
    });
  }

  void selectRow(Thread& thread, int32_t y, const ExponentialResult& result) {
    const uint16_t* cells = volume_.row(y);
    const size_t stride = static_cast<size_t>(pitch_);
    kernels_.winners(cells, p_.numDisparities, pitch_, thread.winner.data(), thread.least.data(), thread.second.data());
    for (int32_t x = 0; x < width_; ++x) {
      const int32_t place = thread.winner[x], least = thread.least[x];
      const bool hasSecond = place > 1 || place + 2 < p_.numDisparities;
      int32_t fine = 0;
      if (p_.subpixel && place > 0 && place + 1 < p_.numDisparities) {
        const uint16_t* at = cells + place * stride + x;
        fine = fractionQ4(at[-static_cast<ptrdiff_t>(stride)], least, at[stride]);
      }
      result.disparity.row(y)[x] = static_cast<int16_t>(p_.minDisparity + place);
      result.disparityQ4.row(y)[x] = static_cast<int16_t>(16 * (p_.minDisparity + place) + fine);
      result.confidence.row(y)[x] =
          hasSecond ? static_cast<uint8_t>(winnerConfidence(least, thread.second[x])) : uint8_t{0};
    }
    if (result.rightDisparity.data == nullptr) return;
    int16_t* rightWinner = result.rightDisparity.row(y);
    for (int32_t x = 0; x < width_; ++x) rightWinner[x] = kInvalidDisparity;
    for (int32_t i = 0; i < p_.numDisparities; ++i) {
      const int32_t d = p_.minDisparity + i;
      const uint16_t* shifted = cells + i * stride + d;
      for (int32_t xr = 0; xr + d < width_; ++xr) {
        // The first disparity covers every pixel that a later one does.
        if (i > 0 && shifted[xr] >= thread.rightLeast[xr]) continue;
        thread.rightLeast[xr] = shifted[xr];
        rightWinner[xr] = static_cast<int16_t>(d);
      }
    }
  }

  const ExponentialParameters p_;
  const int32_t width_, height_, pitch_;
  const ExponentialKernels& kernels_;
  Workers& workers_;
  std::vector<ExponentialPass> passes_;
  std::vector<uint16_t> weights_, reciprocals_;
  std::vector<Lab> lab_;              ///< empty unless colours are compared in CIELab
  std::vector<LabTables> labTables_;  ///< one, if lab_ is not empty
  Cells volume_;
  std::vector<Thread> threads_;
};

}  // namespace

Status checkExponentialParameters(const ExponentialParameters& p) {
  return checkRanges({{"minDisparity", p.minDisparity, 0, 2046},
                      {"numDisparities", p.numDisparities, 1, 512},
                      {"steps", p.steps, 1, kMaxSteps},
                      {"base", p.basePercent, 100, 400},
                      {"gammaColour", p.gammaColour, 1, kMaxGamma},
                      {"gammaDistance", p.gammaDistance, 1, kMaxGamma},
                      {"truncation", p.truncation, 1, 255},
                      {"cost", p.cost, 1, 65535 / (p.truncation > 0 ? p.truncation : 1)},
                      {"gradientTruncation", p.gradientTruncation, 0, 255},
                      {"gradientCost", p.gradientCost, 0,
                       (65535 - p.cost * p.truncation) / (p.gradientTruncation > 0 ? p.gradientTruncation : 1)},
                      {"slope", p.slope, 0, 65535},
                      {"cap", p.cap, 0, 65535}});
}

Status Exponential::open(const ExponentialParameters& parameters, int32_t width, int32_t height, InstructionSet set,
                         Workers& workers, Exponential** opened) {
  const Status status = checkExponentialParameters(parameters);
  if (!status.ok()) return status;
  try {
    *opened = new ExponentialCpu(parameters, width, height, set, workers);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::kMemoryExhausted,
                         "Expected memory for exponential-step aggregation of %dx%d, the allocation failed.", width,
                         height);
  }
  return {};
}

}  // namespace depthwatt
