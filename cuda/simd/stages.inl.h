// SPDX-License-Identifier: Apache-2.0
// The rooms' vector code and the table of it, once per instruction set. A new room adds one include and one line; what its code
// stands on (tables, structs) is included above, before the instruction set is chosen.

#ifndef DEPTHWATT_ROOM_CODE
#define DEPTHWATT_ROOM_CODE

#include <cstdint>
#include <cstring>

#include "kernels.h"
#include "../match/cbca/cross.h"
#include "../match/cbca/exponential_tables.h"
#include "../match/pyramid/pyramid_row.h"
#include "../match/sad/sad_band.h"
#include "../match/sgm/sgm_plan.h"

#else

#include "../rectify/rectify.inl.h"
#include "../rectify/rectify_rgb.inl.h"
#include "../output/depth/depth.inl.h"
#include "../output/points/points.inl.h"
#include "../match/cost/census_rows.inl.h"
#include "../match/cost/census/census.inl.h"
#include "../match/select/select.inl.h"
#include "../match/select/finish.inl.h"
#include "../match/sgm/cells.inl.h"
#include "../match/sgm/sgm.inl.h"
#include "../match/sgm/rows.inl.h"
#include "../match/sgm/wide.inl.h"
#include "../match/sgm/sweep.inl.h"
#include "../match/cbca/cross.inl.h"
#include "../match/exponential/exponential.inl.h"
#include "../prepare/denoise/denoise.inl.h"
#include "../prepare/half/half.inl.h"
#include "../match/hsv/hsv.inl.h"
#include "../match/pyramid/pyramid.inl.h"
#include "../match/sad/sad.inl.h"
#include "../prepare/row_offset/row_offset.inl.h"
#include "../match/cost/gradient_census/gradient_census.inl.h"
#include "../match/cost/two_gradient_census/two_gradient_census.inl.h"
#include "../match/cost/wide_census/wide_census.inl.h"
#include "../refine/ambiguity/ambiguity.inl.h"
#include "../refine/boundary/boundary.inl.h"
#include "../refine/confidence/confidence.inl.h"
#include "../refine/upscale/upscale.inl.h"
#include "../refine/left_right/left_right.inl.h"
#include "../refine/median/median.inl.h"
#include "../refine/repair/repair.inl.h"
#include "../refine/window_confidence/window_confidence.inl.h"

namespace {

constexpr SgmKernels kSgmKernels = {kGroups, kHasByteCells, sgmSweepOf};
constexpr CbcaKernels kCbcaKernels = {crossSlice};

constexpr Kernels kernelsOf(InstructionSet instructionSet) {
  Kernels kernels{};
  kernels.instructionSet = instructionSet;
  kernels.rectify = rectifyRows;
  kernels.rectifyRgb = rectifyRgbRows;
  kernels.census8 = censusRows<uint8_t>;
  kernels.census16 = censusRows<uint16_t>;
  kernels.sgm = &kSgmKernels;
  kernels.gradientCensus = gradientCensusRows;
  kernels.twoGradientCensus = twoGradientCensusRows;
  kernels.wideCensus = wideCensusRows;
  kernels.exponential = kExponentialKernels;
  kernels.countNoise = countNoise;
  kernels.smooth = smoothRows;
  kernels.bilateral = bilateralRows;
  kernels.countRowOffset = countRowOffset;
  kernels.half = halfRows;
  kernels.halfRgb = halfRgbRows;
  kernels.hsv = hsvRows;
  kernels.sad = &kSadKernels;
  kernels.pyramid = &kPyramidKernels;
  kernels.cbca = &kCbcaKernels;
  kernels.upscale = upscaleRows;
  kernels.ambiguity = ambiguityRows;
  kernels.confidence = confidenceRows;
  kernels.windowConfidence = windowConfidenceRows;
  kernels.repair = repairRows;
  kernels.boundary = boundaryRows;
  kernels.leftRight = leftRightRows;
  kernels.median = medianRows;
  kernels.depthMillimetres = depthRows<uint16_t>;
  kernels.depthMetres = depthRows<float>;
  kernels.points = pointsRows;
  return kernels;
}

}  // namespace

#endif
