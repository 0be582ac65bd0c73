// SPDX-License-Identifier: Apache-2.0
// One table of fast functions per instruction set, and the choice between them.
#pragma once

#include "../rectify/rectify.h"
#include "../output/depth/depth.h"
#include "../match/cost/census/census.h"
#include "../match/cost/gradient_census/gradient_census.h"
#include "../match/cost/two_gradient_census/two_gradient_census.h"
#include "../match/cost/wide_census/wide_census.h"
#include "../match/exponential/exponential.h"
#include "../prepare/denoise/denoise.h"
#include "../prepare/half/half.h"
#include "../match/hsv/hsv.h"
#include "../prepare/row_offset/row_offset.h"
#include "../match/matchers.h"
#include "../output/points/points.h"
#include "../refine/ambiguity/ambiguity.h"
#include "../refine/boundary/boundary.h"
#include "../refine/confidence/confidence.h"
#include "../refine/left_right/left_right.h"
#include "../refine/median/median.h"
#include "../refine/repair/repair.h"
#include "../refine/upscale/upscale.h"
#include "../refine/window_confidence/window_confidence.h"
#include "../../core/status.h"

namespace depthwatt {

enum class InstructionSet { kScalar, kAvx2, kAvx512, kNeon };

/// "scalar", "avx2", "avx512" or "neon".
const char* nameOf(InstructionSet instructionSet);

/// What a matcher compiles once per instruction set: a struct of its own folder, null where it has none.
#define DEPTHWATT_DECLARE(name, Name) struct Name##Kernels;
DEPTHWATT_MATCHERS(DEPTHWATT_DECLARE)
#undef DEPTHWATT_DECLARE

struct Kernels {
  InstructionSet instructionSet;
  RectifyRows rectify;
  RectifyRgbRows rectifyRgb;
  CensusRows<uint8_t> census8;
  CensusRows<uint16_t> census16;
  GradientCensusRows gradientCensus;
  TwoGradientCensusRows twoGradientCensus;
  WideCensusRows wideCensus;
  ExponentialKernels exponential;
  CountNoise countNoise;
  SmoothRows smooth;
  BilateralRows bilateral;
  RowOffsetCount countRowOffset;
  HalfRows half;
  HalfRgbRows halfRgb;
  HsvRows hsv;
  UpscaleRows upscale;
  AmbiguityRows ambiguity;
  ConfidenceRows confidence;
  WindowConfidenceRows windowConfidence;
  RepairRows repair;
  BoundaryRows boundary;
  LeftRightRows leftRight;
  MedianRows median;
  DepthMillimetresRows depthMillimetres;
  DepthMetresRows depthMetres;
  PointsRows points;
#define DEPTHWATT_MEMBER(name, Name) const Name##Kernels* name;
  DEPTHWATT_MATCHERS(DEPTHWATT_MEMBER)
#undef DEPTHWATT_MEMBER
};

/// Tables that this build has and this CPU can run, best first; ends with the scalar one. count: how many.
const Kernels* const* availableKernels(int* count);

/// The best table, or the one that `forced` names (null or "" = none forced).
/// kBackendUnavailable where the name is unknown or the CPU cannot run it: never another table instead.
Status chooseKernels(const char* forced, const Kernels** chosen);

}  // namespace depthwatt
