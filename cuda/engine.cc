// SPDX-License-Identifier: Apache-2.0
// The order of the stages: it stands here, once, and reads like the paper.
#include "engine.h"

#include <chrono>
#include <cmath>

#include "cpu/cpu_backend.h"
#include "encode/rvl/rvl.h"
#include "plugin.h"

namespace depthwatt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int32_t kMaxSide = 16384;

Status checkSides(const char* what, int32_t width, int32_t height) {
  if (width >= 1 && height >= 1 && width <= kMaxSide && height <= kMaxSide) return {};
  return Status::error(Code::kParameter, "Expected %s of 1 to %d pixels a side, got %dx%d.", what, kMaxSide, width,
                       height);
}

Status checkSource(const char* eye, const EngineParameters& p, size_t strideBytes, PixelFormat format,
                   const std::vector<int32_t>& map) {
  if (sourceBytes(p.inputWidth, p.inputHeight, strideBytes, format) == 0) {
    return Status::error(Code::kParameter, "Expected a row stride that holds %d pixels for the %s image, got %zu bytes.",
                         p.inputWidth, eye, strideBytes);
  }
  const size_t mapValues = static_cast<size_t>(p.width) * static_cast<size_t>(p.height) * 2;
  if (map.size() != mapValues && !map.empty()) {
    return Status::error(Code::kParameter, "Expected a %s map of %zu values for %dx%d, got %zu.", eye, mapValues, p.width,
                         p.height, map.size());
  }
  return {};
}

Status check(const EngineParameters& p) {
  Status status = checkSides("captured images", p.inputWidth, p.inputHeight);
  if (status.ok()) status = checkSides("rectified images", p.width, p.height);
  if (status.ok()) status = checkSource("left", p, p.leftStrideBytes, p.leftFormat, p.leftMap);
  if (status.ok()) status = checkSource("right", p, p.rightStrideBytes, p.rightFormat, p.rightMap);
  if (!status.ok()) return status;
  if (p.leftMap.empty() != p.rightMap.empty()) {
    return Status::error(Code::kParameter, "Expected rectification maps for both images or for none.");
  }
  if (p.leftMap.empty() && (p.inputWidth != p.width || p.inputHeight != p.height)) {
    return Status::error(Code::kParameter, "Expected results of the captured size %dx%d without maps, got %dx%d.",
                         p.inputWidth, p.inputHeight, p.width, p.height);
  }
  if (p.hasGeometry && !(p.geometry.focalPixels > 0 && p.geometry.baselineMetres > 0)) {
    return Status::error(Code::kParameter, "Expected a focal length and a baseline above 0, got %g px and %g m.",
                         p.geometry.focalPixels, p.geometry.baselineMetres);
  }
  if (!p.hasGeometry && p.encodeDepth != Encoding::kNone) {
    return Status::error(Code::kParameter, "Expected a geometry (focal length, baseline) where depth is encoded, got none.");
  }
  if (p.encodeDepth == Encoding::kRaw) {
    return Status::error(Code::kParameter, "Expected no encoding or rvl for depth: raw depth needs no encoding.");
  }
  if (p.speckle.minPixels < 0 || p.speckle.rangeQ4 < 0 || p.speckle.rangeQ4 > 32767) {
    return Status::error(Code::kParameter, "Expected speckleSize of 0 or more and speckleRangeQ4 of 0 to 32767, got %d and %d.",
                         p.speckle.minPixels, p.speckle.rangeQ4);
  }
  if (p.fill.thresholdQ4 < 0 || p.fill.thresholdQ4 > 32767) {
    return Status::error(Code::kParameter, "Expected fillThresholdQ4 of 0 to 32767, got %d.", p.fill.thresholdQ4);
  }
  if (p.repetitions < 1 || p.repetitions > 10000) {
    return Status::error(Code::kParameter, "Expected 1 to 10000 runs of a repeated stage, got %d.", p.repetitions);
  }
  const Region& r = p.region;
  const bool inside = r.x >= 0 && r.y >= 0 && r.width >= 1 && r.height >= 1 && r.x < p.width && r.y < p.height &&
                      r.width <= p.width - r.x && r.height <= p.height - r.y;
  if (!inside && (r.x != 0 || r.y != 0 || r.width != 0 || r.height != 0)) {
    return Status::error(Code::kParameter,
                         "Expected a region inside the rectified images of %dx%d, got %dx%d from (%d, %d) on.", p.width,
                         p.height, r.width, r.height, r.x, r.y);
  }
  if (p.halfResolution && p.algorithm == Algorithm::kSgm && p.match.numDisparities < 2 * kMinNumDisparities) {
    return Status::error(Code::kParameter, "Expected numDisparities of %d to %d at half resolution, got %d.",
                         2 * kMinNumDisparities, kMaxNumDisparities, p.match.numDisparities);
  }
  return checkSgmParameters(p.match);
}

int32_t countValid(const int16_t* disparityQ4, int32_t pixels) {
  int32_t valid = 0;
  for (int32_t i = 0; i < pixels; ++i) valid += disparityQ4[i] != kInvalidDisparity;
  return valid;
}

}  // namespace

size_t encodedBound(Encoding encoding, int32_t width, int32_t height) {
  const size_t pixels = static_cast<size_t>(width) * static_cast<size_t>(height);
  switch (encoding) {
    case Encoding::kRvl: return rvlBound(pixels);
    case Encoding::kRaw: return pixels * sizeof(uint16_t);
    case Encoding::kNone: break;
  }
  return 0;
}

Status Engine::open(const EngineParameters& parameters, std::unique_ptr<Engine>* opened) {
  Status status = check(parameters);
  if (!status.ok()) return status;
  std::unique_ptr<Engine> engine(new Engine);
  engine->parameters_ = parameters;
  engine->parameters_.fill.lowestQ4 = 16 * parameters.match.minDisparity;
  engine->parameters_.fill.highestQ4 = 16 * (parameters.match.minDisparity + parameters.match.numDisparities - 1);

  std::string whyNotCuda = "the CPU was asked for";
  if (parameters.backend != "cpu") {
    status = openCudaBackend(engine->parameters_, &engine->backend_);
    if (status.ok()) {
      engine->backendName_ = "cuda";
      engine->backendReason_ = parameters.backend == "cuda" ? "CUDA was asked for" : "a CUDA device is there";
      *opened = std::move(engine);
      return {};
    }
    if (parameters.backend == "cuda") return status;
    whyNotCuda = status.message;
  }
  status = openCpuBackend(engine->parameters_, &engine->backend_);
  if (!status.ok()) return status;
  engine->backendReason_ = whyNotCuda;
  *opened = std::move(engine);
  return {};
}

Status Engine::run(const FrameInput& input, FrameOutput& output) {
  const EngineParameters& p = parameters_;
  for (double& milliseconds : output.stageMilliseconds) milliseconds = std::nan("");

  Status status = backend_->begin(input, output);
  const auto stage = [&](Stage which, bool on, Status (Backend::*step)()) {
    if (!status.ok() || !on) return;
    const Clock::time_point start = Clock::now();
    const int32_t runs = which == p.repeatedStage ? p.repetitions : 1;
    if (runs > 1) backend_->keepInput();
    for (int32_t run = 0; run < runs && status.ok(); ++run) {
      if (run > 0) backend_->restoreInput();
      status = (backend_.get()->*step)();
    }
    output.stageMilliseconds[which] = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };

  stage(kRectify, true, &Backend::rectify);
  // From here to the upscaling everything happens at half size where that is asked for (decision 0804).
  stage(kHalf, p.halfResolution, &Backend::half);
  // cbca computes its own census and checks its winners itself: its ground control points.
  const bool sgm = p.algorithm == Algorithm::kSgm;
  stage(kCensus, sgm, &Backend::census);
  stage(kMatch, true, &Backend::match);
  stage(kLeftRight, sgm && p.leftRight, &Backend::leftRight);
  stage(kSpeckle, p.speckle.minPixels > 0, &Backend::speckle);
  stage(kFill, p.fill.method != FillMethod::kOff, &Backend::fill);
  stage(kBoundary, p.boundary, &Backend::boundary);
  stage(kMedian, p.median, &Backend::median);
  stage(kUpscale, p.halfResolution, &Backend::upscale);
  stage(kRegion, p.region.width > 0, &Backend::region);
  stage(kDepth, p.hasGeometry, &Backend::depth);
  if (status.ok()) status = backend_->finish();
  stage(kEncode, p.encodeDepth != Encoding::kNone || p.encodeDisparity != Encoding::kNone, &Backend::encode);
  if (status.ok()) output.validPixels = countValid(output.disparityQ4, p.width * p.height);
  return status;
}

}  // namespace depthwatt
