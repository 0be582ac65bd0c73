// SPDX-License-Identifier: Apache-2.0
// Estimates from pairs, on the CPU, how many rows the images are apart (prepare/row_offset) and how noisy they are (prepare/denoise).
// It runs on the CPU for every backend, so that all of them are adapted identically. Decisions last longer than one pair:
//   rows   The median of the newest nine estimates. The first estimate is applied at once. Later the applied offset changes if the
//          median differs by half a row or more, or has been the same other value in five successive estimates. An estimate at the
//          limit of the search is reported and never applied: such a rig needs a calibration.
//   line   If the offset changes over the columns by a whole row or more, its line replaces the single number. A second estimate
//          along the line verifies it: bands are narrow, and the right image's columns differ from the left one's. If the census
//          agrees no better along it, there is no line. Both numbers of a line are decided as above. An applied line stays until it
//          changes by less than half a row over the width.
//   noise  Filtering starts at a sigma of kNoisySigmaQ8 and ends below kQuietSigmaQ8, unless it is always on. Its range is
//          (14 sigma - 31) / 4 and changes if it is 3/2 off. At half resolution a third of sigma counts. A sigma of kTextureSigmaQ8
//          or more means texture all over the image, which must not be averaged: filtering does not start, and it ends at
//          kSurelyTextureSigmaQ8.
#pragma once

#include "../match/cost/two_gradient_census/two_gradient_census.h"
#include "../prepare/denoise/denoise.h"
#include "../prepare/row_offset/row_offset.h"
#include "../rectify/rectify.h"
#include "../simd/instruction_set.h"
#include "../adaptation.h"
#include "../backend.h"

namespace depthwatt {

constexpr int32_t kNoisySigmaQ8 = 11 * 64, kQuietSigmaQ8 = 10 * 64;
constexpr int32_t kTextureSigmaQ8 = 16 * 256, kSurelyTextureSigmaQ8 = 18 * 256;
constexpr int32_t kRowEstimates = 9, kSteadyEstimates = 5;
constexpr int32_t kTurnedOverWidth = 4, kStraightOverWidth = 2;  ///< quarter rows

constexpr int32_t kMinSmoothRange = 3;
/// Returns the filter's range in grey values, kMinSmoothRange to kMaxSmoothRange. `applied` is the current one, 0 for
/// none.
int32_t smoothRangeFor(int32_t sigmaQ8, int32_t applied);

/// Decides about a number of quarter rows. A separate class so that tests can check it by hand.
class RowDecision {
 public:
  /// Takes the next estimate and returns the value to apply from now on.
  int32_t take(int32_t quarterRows);
  int32_t median() const { return median_; }

 private:
  int32_t estimates_[kRowEstimates] = {};
  int32_t count_ = 0, median_ = 0, applied_ = 0, otherValue_ = 0, otherCount_ = 0;
};

struct PairObservation {
  bool rowsKnown = false;    ///< at least one estimate was possible
  bool rowsAtLimit = false;  ///< the newest estimate was at the limit of the search
  int32_t medianQuarterRows = 0, medianQuarterRowsOverWidth = 0;
  bool noiseKnown = false;
  int32_t noiseSigmaQ8 = 0;  ///< of the newest observed pair
  Adaptation adaptation;     ///< the adaptation from now on
};

class PairObserver {
 public:
  PairObserver(const EngineParameters& parameters, InstructionSet set);

  /// Returns whether to observe this frame, counted from 0.
  static bool looksAt(uint64_t frame) { return frame < 16 ? frame % 4 == 0 : frame % 16 == 0; }
  /// Observes a captured pair.
  void look(const FrameInput& input);
  /// Sets the map of the right image from now on, and discards the estimates of its rows.
  void read(const std::vector<int32_t>& rightMap);
  const PairObservation& observation() const { return observation_; }
  size_t workspaceBytes() const;

 private:
  void prepare(const FrameInput& input, int side, const std::vector<int32_t>& map);
  RowBands bands() const;
  void lookAtRows(const FrameInput& input);
  /// Returns the line through `bands`, verified by a second estimate along it. Not known if the rows are straight.
  RowLine rowLine(const FrameInput& input, const RowBands& bands);

  EngineParameters p_;
  const RectifyRows rectify_;
  const TwoGradientCensusRows census_;
  const CountNoise countNoise_;
  const RowOffsetCount countRowOffset_;
  std::vector<uint8_t> grey_[2];
  std::vector<uint32_t> words_[2];
  RowDecision rows_, overWidth_;
  PairObservation observation_;
};

}  // namespace depthwatt
