// SPDX-License-Identifier: Apache-2.0
// Watches pairs on the CPU, whatever computes the frames, so that every backend is adjusted to the same bits: how many rows the
// images are apart (match/row_offset) and how noisy they are (match/denoise). Every so many frames; decisions outlast one pair.
//   rows   the median of the newest nine estimates. The first is taken as it is. Later the applied offset moves where the median is
//          half a row and more away, or has been the same other value in five estimates one after the other. An estimate at the
//          limit of the search is told and never applied: such a rig needs a calibration.
//   line   where the offset rises or falls over the columns by a whole row and more, its line is applied in place of one number, and
//          looked at once more through it: bands are narrow, and the right image's columns are not the left one's. Where the words
//          agree no better through it, there is no line. Both numbers of a line are decided like the one. A line that is applied
//          holds down to half a row over the width.
//   noise  filtering begins at a sigma of kNoisySigmaQ8 and ends below kQuietSigmaQ8, unless it is always on. Its range is
//          (14 sigma - 31) / 4 and moves where it is 3/2 off. At half resolution a third of sigma counts in place of sigma. A sigma
//          of kTextureSigmaQ8 and more is texture all over the picture, which is not to be averaged away: filtering does not begin,
//          and ends at kSurelyTextureSigmaQ8.
#pragma once

#include "../match/cost/two_gradient_census/two_gradient_census.h"
#include "../prepare/denoise/denoise.h"
#include "../prepare/row_offset/row_offset.h"
#include "../rectify/rectify.h"
#include "../simd/instruction_set.h"
#include "adaptation.h"
#include "backend.h"

namespace depthwatt {

constexpr int32_t kNoisySigmaQ8 = 11 * 64, kQuietSigmaQ8 = 10 * 64;
constexpr int32_t kTextureSigmaQ8 = 16 * 256, kSurelyTextureSigmaQ8 = 18 * 256;
constexpr int32_t kRowEstimates = 9, kSteadyEstimates = 5;
constexpr int32_t kTurnedOverWidth = 4, kStraightOverWidth = 2;  ///< quarter rows

constexpr int32_t kMinSmoothRange = 3;
/// The filter's range in grey values, kMinSmoothRange to kMaxSmoothRange; `applied` is the one that holds, 0 for none.
int32_t smoothRangeFor(int32_t sigmaQ8, int32_t applied);

/// The decision about a number of quarter rows, by itself so that it can be tested by hand.
class RowDecision {
 public:
  /// Takes the next estimate and gives what is to be applied from now on.
  int32_t take(int32_t quarterRows);
  int32_t median() const { return median_; }

 private:
  int32_t estimates_[kRowEstimates] = {};
  int32_t count_ = 0, median_ = 0, applied_ = 0, otherValue_ = 0, otherCount_ = 0;
};

struct PairObservation {
  bool rowsKnown = false;    ///< at least one estimate was possible
  bool rowsAtLimit = false;  ///< the newest one lay at the limit of the search
  int32_t medianQuarterRows = 0, medianQuarterRowsOverWidth = 0;
  bool noiseKnown = false;
  int32_t noiseSigmaQ8 = 0;  ///< of the newest pair that was looked at
  Adaptation adaptation;     ///< what holds from now on
};

class PairObserver {
 public:
  PairObserver(const EngineParameters& parameters, InstructionSet set);

  /// Whether this frame, counted from 0, is one to look at.
  static bool looksAt(uint64_t frame) { return frame < 16 ? frame % 4 == 0 : frame % 16 == 0; }
  /// Looks at a pair as it was captured.
  void look(const FrameInput& input);
  /// The right image is read by this map from now on; what was estimated of its rows is forgotten.
  void read(const std::vector<int32_t>& rightMap);
  const PairObservation& seen() const { return seen_; }
  size_t workspaceBytes() const;

 private:
  void prepare(const FrameInput& input, int side, const std::vector<int32_t>& map);
  RowBands bands() const;
  void lookAtRows(const FrameInput& input);
  /// The line that `bands` see, looked at once more through itself; not known where the rows are straight.
  RowLine lineOf(const FrameInput& input, const RowBands& bands);

  EngineParameters p_;
  const RectifyRows rectify_;
  const TwoGradientCensusRows census_;
  const CountNoise countNoise_;
  const RowOffsetCount countRowOffset_;
  std::vector<uint8_t> grey_[2];
  std::vector<uint32_t> words_[2];
  RowDecision rows_, overWidth_;
  PairObservation seen_;
};

}  // namespace depthwatt
