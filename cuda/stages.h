// SPDX-License-Identifier: Apache-2.0
// The order of the stages: it stands here, once for every backend, and reads like the paper.
#pragma once

#include "engine/backend.h"

namespace depthwatt {

/// Calls `visit(stage, step)` for every stage that is on, until one does not answer ok. `step` is the stage's method of Stages.
template <class Visit>
Status forEachStage(const EngineParameters& p, Visit&& visit) {
  Status status;
  const auto stage = [&](Stage which, bool on, Status (Stages::*step)()) {
    if (status.ok() && on) status = visit(which, step);
  };
  stage(kRectify, true, &Stages::rectify);
  // From here to the upscaling everything happens at half size where that is asked for (decision 0804).
  stage(kHalf, p.halfResolution, &Stages::half);
  stage(kMatch, true, &Stages::match);
  stage(kSpeckle, p.speckle.minPixels > 0, &Stages::speckle);
  stage(kConfidence, true, &Stages::confidence);
  stage(kFill, p.fill.method != FillMethod::kOff, &Stages::fill);
  stage(kBoundary, p.boundary, &Stages::boundary);
  stage(kMedian, p.median, &Stages::median);
  stage(kUpscale, p.halfResolution, &Stages::upscale);
  stage(kRegion, p.region.width > 0, &Stages::region);
  stage(kDepth, p.hasGeometry, &Stages::depth);
  return status;
}

/// Runs one stage, as often as a measurement asks for.
inline Status runStage(const EngineParameters& p, Stages& stages, Stage which, Status (Stages::*step)()) {
  const int32_t runs = which == p.repeatedStage ? p.repetitions : 1;
  Status status;
  if (runs > 1) status = stages.keepInput();
  for (int32_t run = 0; run < runs && status.ok(); ++run) {
    if (run > 0) status = stages.restoreInput();
    if (status.ok()) status = (stages.*step)();
  }
  return status;
}

inline bool encodes(const EngineParameters& p) {
  return p.encodeDepth != Encoding::kNone || p.encodeDisparity != Encoding::kNone;
}

}  // namespace depthwatt
