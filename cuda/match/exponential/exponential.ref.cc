// SPDX-License-Identifier: Apache-2.0
// The definition of exponential-step aggregation; see exponential.h.
#include <vector>

#include "../winner.ref.h"
#include "exponential.h"

namespace depthwatt {
namespace {

int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }
int32_t absolute(int32_t value) { return value < 0 ? -value : value; }

/// Returns the gradient, -255 to 255, halved and shifted to 0 to 255.
int32_t gradientAt(ImageView<const uint8_t> image, int32_t x, int32_t y) {
  const int32_t after = x + 1 < image.width ? x + 1 : x, before = x > 0 ? x - 1 : 0;
  return (image.row(y)[after] - image.row(y)[before] + 255) / 2;
}

/// [y][x][d]
struct Volume {
  int32_t width, height, disparities;
  std::vector<int64_t> cells;
  Volume(int32_t w, int32_t h, int32_t n)
      : width(w), height(h), disparities(n), cells(static_cast<size_t>(w) * h * n) {}
  int64_t* at(int32_t x, int32_t y) { return &cells[(static_cast<size_t>(y) * width + x) * disparities]; }
};

/// Eq. 13 directly, without the two passes over d.
void toMessages(const ExponentialParameters& p, Volume& volume) {
  std::vector<int64_t> costs(static_cast<size_t>(volume.disparities));
  for (int32_t y = 0; y < volume.height; ++y) {
    for (int32_t x = 0; x < volume.width; ++x) {
      int64_t* cells = volume.at(x, y);
      costs.assign(cells, cells + volume.disparities);
      for (int32_t d = 0; d < volume.disparities; ++d) {
        for (int32_t e = 0; e < volume.disparities; ++e) {
          cells[d] = lesser(cells[d], costs[e] + lesser(int64_t{p.slope} * absolute(d - e), p.cap));
        }
      }
    }
  }
}

/// The largest root with root^3 <= t 2^26, and the straight part near black.
int32_t labRoot(int32_t t) {
  if (t <= kLabStraight) return kLabStart + static_cast<int32_t>(int64_t{kLabSlope} * t / 65536);
  int64_t root = 0;
  while ((root + 1) * (root + 1) * (root + 1) <= int64_t{t} * 67108864) ++root;
  return static_cast<int32_t>(root);
}

/// Returns numerator / 16384 to the nearest whole number, half up.
int32_t roundedPart(int32_t numerator) {
  const int32_t shifted = numerator + 8192, quotient = shifted / 16384;
  return shifted < 0 && quotient * 16384 != shifted ? quotient - 1 : quotient;
}

Lab labOf(Rgb8 pixel) {
  const int64_t light[3] = {kLinearLight[pixel.red], kLinearLight[pixel.green], kLinearLight[pixel.blue]};
  int32_t f[3];
  for (int32_t i = 0; i < 3; ++i) {
    int64_t sum = 32768;
    for (int32_t c = 0; c < 3; ++c) sum += kLabWeights[i][c] * light[c];
    f[i] = labRoot(static_cast<int32_t>(sum / 65536));
  }
  return {static_cast<int16_t>(roundedPart(232 * f[1] - 32 * 16384)),
          static_cast<int16_t>(roundedPart(1000 * (f[0] - f[1]))),
          static_cast<int16_t>(roundedPart(400 * (f[1] - f[2]))), 0};
}

int32_t labDistance(Lab a, Lab b) {
  const int32_t l = a.lightness - b.lightness, da = a.a - b.a, db = a.b - b.b, square = l * l + da * da + db * db;
  int32_t root = 0;
  // Half a step below the next root is still this one.
  while ((2 * root + 1) * (2 * root + 1) <= 4 * square) ++root;
  return root;
}

int32_t colourBetween(const ExponentialParameters& p, Rgb8 a, Rgb8 b) {
  if (p.colourDistance == ColourDistance::kLab) return labDistance(labOf(a), labOf(b));
  int32_t colour = absolute(a.red - b.red);
  if (absolute(a.green - b.green) > colour) colour = absolute(a.green - b.green);
  if (absolute(a.blue - b.blue) > colour) colour = absolute(a.blue - b.blue);
  return colour;
}

int32_t weightBetween(const ExponentialParameters& p, ImageView<const Rgb8> rgb, int32_t x, int32_t y, int32_t qx,
                      int32_t qy, int32_t step) {
  if (qx < 0 || qx >= rgb.width || qy < 0 || qy >= rgb.height) return 0;
  return exponentialWeight(p, colourBetween(p, rgb.row(y)[x], rgb.row(qy)[qx]), step);
}

void aggregate(const ExponentialParameters& p, ImageView<const Rgb8> rgb, int32_t dx, int32_t dy, int32_t step,
               Volume& volume) {
  Volume from = volume;
  for (int32_t y = 0; y < volume.height; ++y) {
    for (int32_t x = 0; x < volume.width; ++x) {
      const int32_t before = weightBetween(p, rgb, x, y, x - dx * step, y - dy * step, step);
      const int32_t after = weightBetween(p, rgb, x, y, x + dx * step, y + dy * step, step);
      const int32_t reciprocal = 65535 * 4096 / (4096 + before + after);
      const int64_t wBefore = static_cast<int64_t>(before) * reciprocal / 4096;
      const int64_t wAfter = static_cast<int64_t>(after) * reciprocal / 4096;
      const int64_t wCentre = 65535 - wBefore - wAfter;
      for (int32_t d = 0; d < volume.disparities; ++d) {
        int64_t sum = wCentre * from.at(x, y)[d] / 65536;
        if (wBefore > 0) sum += wBefore * from.at(x - dx * step, y - dy * step)[d] / 65536;
        if (wAfter > 0) sum += wAfter * from.at(x + dx * step, y + dy * step)[d] / 65536;
        volume.at(x, y)[d] = sum;
      }
    }
  }
}

}  // namespace

void exponentialReference(const ExponentialParameters& p, const ExponentialImages& images,
                          const ExponentialResult& result) {
  const int32_t width = images.left.width, height = images.left.height;
  Volume volume(width, height, p.numDisparities);
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      for (int32_t d = 0; d < p.numDisparities; ++d) {
        const int32_t xr = x - (p.minDisparity + d);
        const int32_t difference = images.left.row(y)[x] - images.right.row(y)[xr < 0 ? 0 : xr];
        const int32_t slopes = gradientAt(images.left, x, y) - gradientAt(images.right, xr < 0 ? 0 : xr, y);
        volume.at(x, y)[d] = p.cost * lesser(absolute(difference), p.truncation) +
                             p.gradientCost * lesser(absolute(slopes), p.gradientTruncation);
      }
    }
  }
  if (p.slope > 0) toMessages(p, volume);
  for (int32_t t = 1; t <= p.steps; ++t) {
    const int32_t step = exponentialStep(p.basePercent, t);
    const bool reaches = exponentialWeight(p, 0, step) > 0;
    if (reaches && step < width) aggregate(p, images.leftRgb, 1, 0, step, volume);
    if (reaches && step < height) aggregate(p, images.leftRgb, 0, 1, step, volume);
  }
  for (int32_t y = 0; y < height; ++y) selectRow(p, volume.at(0, y), y, result);
}

}  // namespace depthwatt
