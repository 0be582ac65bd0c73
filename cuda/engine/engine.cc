// SPDX-License-Identifier: Apache-2.0
// Checks the parameters, chooses the backend, and exchanges it when it fails; see engine.h.
#include "engine.h"

#include <chrono>
#include <cmath>
#include <new>
#include <system_error>
#include <cstring>

#include "../cpu/cpu_backend.h"
#include "../output/rvl/rvl.h"
#include "../match/registry.h"
#include "match_scope.h"
#include "plugin.h"

namespace depthwatt {
namespace {

constexpr int32_t kMaxSide = 16384;

/// A backend that has computed so many frames since it was opened again has earned another try.
constexpr uint32_t kTrustedAfterFrames = 1000;

Status checkSides(const char* what, int32_t width, int32_t height) {
  if (width >= 1 && height >= 1 && width <= kMaxSide && height <= kMaxSide) return {};
  return Status::error(Code::kParameter, "Expected %s of 1 to %d pixels a side, got %dx%d.", what, kMaxSide, width,
                       height);
}

Status checkSource(int side, const EngineParameters& p) {
  const size_t strideBytes = side == 0 ? p.leftStrideBytes : p.rightStrideBytes;
  const std::vector<int32_t>& map = side == 0 ? p.leftMap : p.rightMap;
  const char* const name = side == 0 ? "left" : "right";
  if (inputBytes(p, side) == 0) {
    return Status::error(Code::kParameter,
                         "Expected a row stride that holds %d pixels for the %s image, got %zu bytes.", p.inputWidth,
                         name, strideBytes);
  }
  const size_t mapValues = static_cast<size_t>(p.width) * static_cast<size_t>(p.height) * 2;
  if (map.size() != mapValues && !map.empty()) {
    return Status::error(Code::kParameter, "Expected a %s map of %zu values for %dx%d, got %zu.", name, mapValues,
                         p.width, p.height, map.size());
  }
  return {};
}

Status check(const EngineParameters& p) {
  Status status = checkSides("captured images", p.inputWidth, p.inputHeight);
  if (status.ok()) status = checkSides("rectified images", p.width, p.height);
  if (status.ok()) status = checkSource(0, p);
  if (status.ok()) status = checkSource(1, p);
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
    return Status::error(Code::kParameter,
                         "Expected a geometry (focal length, baseline) where depth is encoded, got none.");
  }
  if (!p.hasGeometry && p.makesPoints) {
    return Status::error(Code::kParameter,
                         "Expected a geometry (focal length, baseline) where points are asked for, got none.");
  }
  if (needsPointColours(p) && !hasColours(p.leftFormat)) {
    return Status::error(Code::kParameter,
                         "Expected a left image with colours where points are asked for with colours.");
  }
  if (p.encodeDepth == Encoding::kRaw) {
    return Status::error(Code::kParameter, "Expected no encoding or rvl for depth: raw depth needs no encoding.");
  }
  if (p.speckle.minPixels < 0 || p.speckle.rangeQ4 < 0 || p.speckle.rangeQ4 > 32767) {
    return Status::error(Code::kParameter,
                         "Expected speckleSize of 0 or more and speckleRangeQ4 of 0 to 32767, got %d and %d.",
                         p.speckle.minPixels, p.speckle.rangeQ4);
  }
  if (p.fill.thresholdQ4 < 0 || p.fill.thresholdQ4 > 32767) {
    return Status::error(Code::kParameter, "Expected fillThresholdQ4 of 0 to 32767, got %d.", p.fill.thresholdQ4);
  }
  if (p.rounds < 1 || p.rounds > kMaxRounds) {
    return Status::error(Code::kParameter, "Expected 1 to %d rounds of refinement, got %d.", kMaxRounds, p.rounds);
  }
  if (p.upscaleThresholdQ4 < 0 || p.upscaleThresholdQ4 > 32767) {
    return Status::error(Code::kParameter, "Expected upscaleThresholdQ4 of 0 to 32767, got %d.", p.upscaleThresholdQ4);
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
  return checkMatcher(p.matcher, p.search, p.halfResolution);
}

/// Eight pixels a step: one at a time they take 0.15 ms at 640x480, much of what CUDA needs for the whole frame.
int32_t countValid(const int16_t* disparityQ4, int32_t pixels) {
  typedef int16_t Pixels __attribute__((vector_size(16)));
  constexpr int32_t kPixels = 8, kMaxSteps = 32767;  // of which a lane can count
  int32_t valid = 0, i = 0;
  while (i + kPixels <= pixels) {
    Pixels counts = {};
    for (int32_t step = 0; step < kMaxSteps && i + kPixels <= pixels; ++step, i += kPixels) {
      Pixels some;
      std::memcpy(&some, disparityQ4 + i, sizeof some);
      counts -= some != kInvalidDisparity;  // a comparison that holds is -1
    }
    for (int32_t lane = 0; lane < kPixels; ++lane) valid += counts[lane];
  }
  for (; i < pixels; ++i) valid += disparityQ4[i] != kInvalidDisparity;
  return valid;
}

/// Every pixel that was matched has a confidence above 0, every other 0.
int32_t countMatched(const uint8_t* confidence, int32_t pixels) {
  typedef uint8_t Pixels __attribute__((vector_size(16)));
  constexpr int32_t kPixels = 16, kMaxSteps = 255;  // of which a lane can count
  int32_t matched = 0, i = 0;
  while (i + kPixels <= pixels) {
    Pixels counts = {};
    for (int32_t step = 0; step < kMaxSteps && i + kPixels <= pixels; ++step, i += kPixels) {
      Pixels some;
      std::memcpy(&some, confidence + i, sizeof some);
      counts -= some != 0;  // a comparison that holds is -1
    }
    for (int32_t lane = 0; lane < kPixels; ++lane) matched += counts[lane];
  }
  for (; i < pixels; ++i) matched += confidence[i] != 0;
  return matched;
}

const int32_t* orNull(const std::vector<int32_t>& map) { return map.empty() ? nullptr : map.data(); }

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

Status Engine::open(const EngineParameters& parameters, std::unique_ptr<Engine>* opened) try {
  Status status = check(parameters);
  if (!status.ok()) return status;
  std::unique_ptr<Engine> engine(new Engine);
  engine->parameters_ = parameters;
  engine->parameters_.fill.lowestQ4 = 16 * parameters.search.minDisparity;
  engine->parameters_.fill.highestQ4 = 16 * (parameters.search.minDisparity + parameters.search.numDisparities - 1);
  const Kernels* kernels = nullptr;
  status = chooseKernels(parameters.instructionSet.c_str(), &kernels);
  if (!status.ok()) return status;
  const AdaptationParameters& adaptation = parameters.adaptation;
  if (adaptation.watches() || adaptation.movesRows()) {
    engine->watch_ = std::make_unique<PairWatch>(engine->parameters_, *kernels);
  }
  if (parameters.makesPoints) {
    for (std::unique_ptr<PointCloud>& cloud : engine->clouds_) {
      cloud = std::make_unique<PointCloud>(engine->parameters_, *kernels);
    }
  }
  status = engine->openBackend();
  if (status.ok()) *opened = std::move(engine);
  return status;
} catch (const std::system_error& error) {
  return noThread(error);
} catch (const std::bad_alloc&) {
  return Status::error(Code::kMemoryExhausted, "Expected memory for maps and images of %dx%d, the system gave none.",
                       parameters.width, parameters.height);
}

Status Engine::openBackend() {
  if (parameters_.backend == "cpu") return openCpu("the CPU was asked for");
  const Status status = openCudaBackend(parameters_, &backend_);
  if (status.ok()) {
    onDevice_ = true;
    adopt("cuda", parameters_.backend == "cuda" ? "CUDA was asked for" : "a CUDA device is there");
    return {};
  }
  return parameters_.backend == "cuda" ? status : openCpu(status.message);
}

Status Engine::openCpu(const std::string& why) {
  const Status status = openCpuBackend(parameters_, &backend_);
  if (status.ok()) adopt("cpu", why);
  return status;
}

void Engine::adopt(const char* backend, const std::string& reason) {
  for (const FrameOutput& output : outputs_) backend_->attach(output);
  for (const InputMemory& input : inputs_) backend_->attach(input);
  framesOfBackend_ = 0;
  const std::lock_guard<std::mutex> lock(stateMutex_);
  state_ = {backend,
            reason,
            backend_->instructionSet(),
            backend_->threads(),
            backend_->workspaceBytes(),
            backend_->framesInWork()};
}

EngineState Engine::state() const {
  const std::lock_guard<std::mutex> lock(stateMutex_);
  return state_;
}

void Engine::attach(const FrameOutput& output) {
  outputs_.push_back(output);
  if (backend_) backend_->attach(output);
}

void Engine::attach(const InputMemory& input) {
  inputs_.push_back(input);
  if (backend_) backend_->attach(input);
}

void Engine::detach() {
  if (backend_) backend_->detach();
  outputs_.clear();
  inputs_.clear();
}

PairObservation Engine::observation() const { return watch_ ? watch_->seen() : PairObservation(); }

Status Engine::setRightMap(std::vector<int32_t> map) {
  if (map.empty() || map.size() != parameters_.rightMap.size()) {
    return Status::error(Code::kParameter, "Expected a right map of %zu values as it was opened with, got %zu.",
                         parameters_.rightMap.size(), map.size());
  }
  const std::lock_guard<std::mutex> lock(adaptMutex_);
  if (watch_) watch_->read(map);
  rightMap_ = std::move(map);
  adaptedGeneration_ = 0;
  turned_ = true;
  return {};
}

Status Engine::adapt(const FrameInput& input, Computing* by) {
  const std::lock_guard<std::mutex> lock(adaptMutex_);
  const Adaptation wanted = watch_ ? watch_->take(input) : Adaptation();
  {
    const std::shared_lock<std::shared_mutex> shared(backendMutex_);
    if (adaptedGeneration_ == generation_ + 1 && wanted == adapted_) return {};
  }
  // No frame is in work behind this: the map may be exchanged.
  const std::unique_lock<std::shared_mutex> alone(backendMutex_);
  if (!final_.ok() || !backend_) return {};
  *by = {generation_, onDevice_};
  moved_ = {};
  if (wanted.quarterRows != 0 || wanted.quarterRowsOverWidth != 0) {
    const std::vector<int32_t>& map = turned_ ? rightMap_ : parameters_.rightMap;
    moved_ = mapsFurtherDown(parameters_.leftMap, map, parameters_.width, parameters_.height, parameters_.inputHeight,
                             wanted.quarterRows, wanted.quarterRowsOverWidth);
  } else if (turned_) {
    moved_.right = rightMap_;
  }
  const Status status = backend_->adapt(wanted, orNull(moved_.left), orNull(moved_.right));
  adapted_ = wanted;
  adaptedGeneration_ = generation_ + 1;
  return status;
}

Status Engine::run(int place, const FrameInput& input, FrameOutput& output) {
  Status status;
  Computing by;
  if (watch_ || turned_) {
    status = adapt(input, &by);
    if (!status.ok()) return by.recoverable ? recover(by.generation, status) : status;
  }
  {
    const std::shared_lock<std::shared_mutex> shared(backendMutex_);
    if (!final_.ok()) return final_;
    const int ownPlace = place < backend_->framesInWork() ? place : 0;
    by = {generation_, onDevice_};
    {
      const std::lock_guard<std::mutex> alone(workMutex_[ownPlace]);
      status = backend_->run(ownPlace, input, output);
    }
    if (status.ok()) {
      ++framesOfBackend_;
      // Before anything is adapted to the next pair: colours are read by the map that the frame was.
      if (clouds_[place] && !backend_->makesPoints()) makePoints(place, input, output);
    }
  }
  if (!status.ok()) return by.recoverable ? recover(by.generation, status) : status;
  output.validPixels = countValid(output.disparityQ4, parameters_.width * parameters_.height);
  output.matchedPixels = countMatched(output.confidence, parameters_.width * parameters_.height);
  return {};
}

void Engine::makePoints(int place, const FrameInput& input, FrameOutput& output) {
  const auto start = std::chrono::steady_clock::now();
  for (int32_t i = parameters_.repeatedStage == kEncode ? parameters_.repetitions : 1; i > 0; --i) {
    clouds_[place]->make(input, output, orNull(moved_.left));
  }
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  double& encode = output.stageMilliseconds[kEncode];
  encode = (std::isnan(encode) ? 0 : encode) + taken.count();
}

Status Engine::recover(uint32_t generation, const Status& failure) {
  const std::unique_lock<std::shared_mutex> alone(backendMutex_);
  if (!final_.ok()) return final_;
  // The frame beside this one has failed for the same reason, and what could be done is done.
  if (generation != generation_) return Status::error(Code::kFrameLost, "%s", state().reason.c_str());
  ++generation_;
  if (framesOfBackend_ >= kTrustedAfterFrames) reopened_ = false;
  std::string reason = failure.message;
  // Before anything is opened: the broken one holds memory that the next one needs.
  backend_.reset();
  onDevice_ = false;
  if (!reopened_) {
    reopened_ = true;
    const Status again = openCudaBackend(parameters_, &backend_);
    if (again.ok()) {
      onDevice_ = true;
      adopt("cuda", "CUDA was opened again after an error: " + reason);
      return Status::error(Code::kFrameLost, "%s", state().reason.c_str());
    }
    reason += std::string(" Opening it again: ") + again.message;
  }
  const Status cpu = parameters_.backend == "auto" ? openCpu("CUDA failed: " + reason) : failure;
  if (cpu.ok()) return Status::error(Code::kFrameLost, "%s", state().reason.c_str());
  final_ = Status::error(Code::kFailed, "%s", reason.c_str());
  return final_;
}

}  // namespace depthwatt
