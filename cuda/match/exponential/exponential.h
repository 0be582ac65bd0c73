// SPDX-License-Identifier: Apache-2.0
// Exponential-step aggregation of matching costs (ESAW) or of messages (ESMP), in fixed point    [Yu et al. 2010, section III]
//   cost      C(x, y, d) = cost min(|L(x, y) - R(max(x - d, 0), y)|, truncation)                                    eq. 3
//             plus, where gradientCost > 0, which is not the paper's: gradientCost min(|G_L - G_R|, gradientTruncation) at the same
//             two pixels, G(x, y) = (I(min(x + 1, width - 1), y) - I(max(x - 1, 0), y) + 255) >> 1
//   weight    w(p, q) = 4096 exp(-colour(p, q) / gammaColour - distance / gammaDistance), distance = s pixels; in integers:
//             exponentialWeight(). w(p, p) = 4096. colour of the left image's pixels, by colourDistance:
//             kRgb: the largest of the three channels' differences
//             kLab: sqrt(dL^2 + da^2 + db^2) in CIELab (Yu et al. 2009, eq. 2), in halves of a unit, half up; lab.h
//   pass      C'(p) = ((w- C(p - s)) >> 16) + ((w0 C(p)) >> 16) + ((w+ C(p + s)) >> 16)                             eq. 5, 6
//             with the normalised weights w-, w+ = (w r) >> 12, r = 65535 * 4096 / (4096 + both w), w0 = 65535 - w- - w+;
//             for t = 1..steps along x, then along y, s = round(base^(t - 1)) (eq. 4).
//   message   if slope > 0, costs become M(d) = min(min over e of C(e) + slope |d - e|, min over e of C(e) + cap) (eq. 13, 17 to
//             21) before the first pass. The paper does so before each; README.md says why the others change nothing.
//   winner    the lowest d of the smallest C after the last pass (eq. 7); sub-pixel and confidence as match/select has them,
//             every d of the search being a candidate
//   right     of pixel xr: the lowest d whose C(xr + d, d) is smallest, xr + d < width; kInvalidDisparity where there is none
// in   left, right [height][width] uint8; leftRgb [height][width][3] uint8.      out  exponentialResult, [height][width]
// edge a neighbour outside the image has no weight; a pass in which no pixel has a weighted neighbour is left out
// same bits on every backend: integer only.
#pragma once

#include "../../../core/image.h"
#include "../../../core/status.h"
#include "../../../core/workers.h"
#include "../../simd/instruction_set.h"
#include "exponential_table.h"
#include "lab.h"

namespace depthwatt {

constexpr int32_t kMaxSteps = 16;
constexpr int32_t kMaxGamma = 1000;

/// Differences of colour that a pass has weights for: more than any two colours of CIELab have.
constexpr int32_t kColourDifferences = 592;

enum class ColourDistance : int32_t { kRgb, kLab };

struct ExponentialParameters {
  int32_t minDisparity = 0;     ///< 0 or more
  int32_t numDisparities = 64;  ///< 1 to 512
  int32_t steps = 9;            ///< T, 1 to kMaxSteps
  int32_t basePercent = 190;    ///< 100 b, 100 to 400
  ColourDistance colourDistance = ColourDistance::kRgb;
  int32_t gammaColour = 17;    ///< grey values or units of CIELab, 1 to kMaxGamma
  int32_t gammaDistance = 36;  ///< pixels, 1 to kMaxGamma
  int32_t truncation = 12;     ///< tau, grey values, 1 to 255
  int32_t cost = 5461;         ///< of one grey value; cost truncation + gradientCost gradientTruncation at most 65535
  int32_t gradientTruncation = 0;  ///< half grey values, 0 to 255
  int32_t gradientCost = 0;        ///< of a half grey value; 0 = gradients are not compared
  int32_t slope = 0;               ///< c in units of cost, 0 to 65535; 0 = costs are aggregated, not messages
  int32_t cap = 0;                 ///< eta in units of cost, 0 to 65535
  bool subpixel = false;
};

struct ExponentialImages {
  ImageView<const uint8_t> left, right;
  ImageView<const Rgb8> leftRgb;
};

/// rightDisparity may be empty (data = nullptr): then it is not computed.
struct ExponentialResult {
  ImageView<int16_t> disparityQ4;     ///< 1/16 px; every pixel has one
  ImageView<int16_t> disparity;       ///< whole pixels, the winner before sub-pixel
  ImageView<int16_t> rightDisparity;  ///< whole pixels
  ImageView<uint8_t> confidence;
};

Status checkExponentialParameters(const ExponentialParameters& parameters);

/// Returns s of step t = 1..steps, eq. 4. Products of doubles are identical on every host, powers are not.
inline int32_t exponentialStep(int32_t basePercent, int32_t t) {
  double step = 1;
  for (int32_t i = 1; i < t; ++i) step = step * basePercent / 100;
  return step < 1e6 ? static_cast<int32_t>(step + 0.5) : 1000000;
}

/// Returns exp(-colour / gammaColour - distance / gammaDistance) as 0..4096. @param colour as colourDistance counts it
inline int32_t exponentialWeight(const ExponentialParameters& p, int32_t colour, int32_t distance) {
  const int32_t gamma = p.gammaColour * (p.colourDistance == ColourDistance::kLab ? kLabUnits : 1);
  const int64_t exponent =
      (int64_t{256} * colour + gamma / 2) / gamma + (int64_t{256} * distance + p.gammaDistance / 2) / p.gammaDistance;
  return exponent < kExponentials ? kExponential[exponent] : 0;
}

/// The definition. Slow: use it for small images.
void exponentialReference(const ExponentialParameters& parameters, const ExponentialImages& images,
                          const ExponentialResult& result);

/// Computes G of one row.
inline void exponentialGradientRow(const uint8_t* row, int32_t width, uint8_t* gradient) {
  const auto between = [&](int32_t before, int32_t after) {
    return static_cast<uint8_t>((row[after] - row[before] + 255) >> 1);
  };
  gradient[0] = between(0, width > 1 ? 1 : 0);
  for (int32_t x = 1; x + 1 < width; ++x) gradient[x] = between(x - 1, x + 1);
  if (width > 1) gradient[width - 1] = between(width - 2, width - 1);
}

/// One pass: its direction, its distance, and the weight of each colour difference.
struct ExponentialPass {
  bool alongX;
  int32_t step;
  uint16_t weights[kColourDifferences];
};

/// Lists the passes of an image of this size in order, without those that are left out. @param passes room for 2
/// kMaxSteps
inline int32_t exponentialPasses(const ExponentialParameters& p, int32_t width, int32_t height,
                                 ExponentialPass* passes) {
  int32_t count = 0;
  for (int32_t t = 1; t <= p.steps; ++t) {
    for (const bool alongX : {true, false}) {
      ExponentialPass& pass = passes[count];
      pass.alongX = alongX;
      pass.step = exponentialStep(p.basePercent, t);
      if (pass.step >= (alongX ? width : height) || exponentialWeight(p, 0, pass.step) == 0) continue;
      for (int32_t colour = 0; colour < kColourDifferences; ++colour) {
        pass.weights[colour] = static_cast<uint16_t>(exponentialWeight(p, colour, pass.step));
      }
      ++count;
    }
  }
  return count;
}

/// The row functions of an instruction set, for uint16 cells. pitch: a multiple of kExponentialPitch; every row is
/// padded.
constexpr int32_t kExponentialPitch = 32;

/// Computes costs[x] = cost min(|left[x] - right[x]|, truncation).
using ExponentialCostRow = void (*)(const uint8_t* left, const uint8_t* right, int32_t truncation, int32_t cost,
                                    int32_t pitch, uint16_t* costs);
/// Adds the same to costs[x]: the part of the gradients.
using ExponentialAddCostRow = ExponentialCostRow;
/// Averages `rows` rows of before, centre and after, pitch cells apart, with one row of weights each for before and
/// after.
using ExponentialAggregate = void (*)(const uint16_t* before, const uint16_t* centre, const uint16_t* after,
                                      const uint16_t* weightsBefore, const uint16_t* weightsAfter, int32_t rows,
                                      int32_t pitch, uint16_t* out);
/// Turns rows of costs, one per disparity, into messages in place.
using ExponentialMessages = void (*)(uint16_t* cells, int32_t numDisparities, int32_t pitch, int32_t slope,
                                     int32_t cap);
/// Computes winner[x] = place of the smallest cell of column x, least[x] = that cell, second[x] = the smallest other
/// cell except the winner's neighbours (65535 if there is none).
using ExponentialWinners = void (*)(const uint16_t* cells, int32_t numDisparities, int32_t pitch, int16_t* winner,
                                    uint16_t* least, uint16_t* second);

struct ExponentialKernels {
  ExponentialCostRow costRow;
  ExponentialAddCostRow addCostRow;
  ExponentialAggregate aggregate;
  ExponentialMessages messages;
  ExponentialWinners winners;
};

/// The fast form. It allocates its workspace at open, for one size, one set of parameters and one team.
class Exponential {
 public:
  static Status open(const ExponentialParameters& parameters, int32_t width, int32_t height, InstructionSet set,
                     Workers& workers, Exponential** opened);
  virtual ~Exponential() = default;
  virtual void compute(const ExponentialImages& images, const ExponentialResult& result) = 0;
  virtual size_t workspaceBytes() const = 0;
};

}  // namespace depthwatt
