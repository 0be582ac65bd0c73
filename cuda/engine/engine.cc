// SPDX-License-Identifier: Apache-2.0
// Checks the parameters, chooses the backend, and replaces it when it fails; see engine.h.
#include "engine.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <new>
#include <system_error>

#include "../chain.h"
#include "../cpu/cpu_backend.h"
#include "../match/match_task.h"
#include "../output/rvl/rvl.h"
#include "plugin.h"
#include "stage_registry.h"

namespace depthwatt {
namespace {

constexpr int32_t kMaxSide = 16384;

/// After this many frames, a reopened backend gets another try if it fails again.
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
  if (bringsDisparity(p) && (!p.leftMap.empty() || p.halfResolution)) {
    return Status::error(Code::kParameter,
                         "Expected rectified images and match.halfResolution = false for a disparity from the source.");
  }
  if (p.repetitions < 1 || p.repetitions > 10000) {
    return Status::error(Code::kParameter, "Expected 1 to 10000 runs of a repeated stage, got %d.", p.repetitions);
  }
  const Status image = RegisteredImage::check(p);
  return image.ok() ? checkStages(p) : image;
}

/// Counts the values other than `none`, 16 bytes at a time: one by one would take 0.15 ms at 640x480, much of CUDA's
/// time for the whole frame. Vector lanes count up to what their type holds and are then summed.
template <class Value>
int32_t countOther(const Value* values, int32_t count, Value none) {
  typedef Value Lanes __attribute__((vector_size(16)));
  constexpr int32_t kLanes = 16 / sizeof(Value), kMaxSteps = std::numeric_limits<Value>::max();
  int32_t other = 0, i = 0;
  while (i + kLanes <= count) {
    Lanes counts = {};
    for (int32_t step = 0; step < kMaxSteps && i + kLanes <= count; ++step, i += kLanes) {
      Lanes some;
      std::memcpy(&some, values + i, sizeof some);
      counts -= some != none;  // a true comparison is -1
    }
    for (int32_t lane = 0; lane < kLanes; ++lane) other += counts[lane];
  }
  for (; i < count; ++i) other += values[i] != none;
  return other;
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
  InstructionSet set = InstructionSet::kScalar;
  status = chooseInstructionSet(parameters.instructionSet.c_str(), &set);
  if (!status.ok()) return status;
  const AdaptationParameters& adaptation = parameters.adaptation;
  if (adaptation.watches() || adaptation.movesRows()) {
    engine->watch_ = std::make_unique<PairWatch>(engine->parameters_, set);
  }
  if (engine->parameters_.registers && engine->parameters_.registration.hasImage) {
    engine->image_ = std::make_unique<RegisteredImage>(engine->parameters_, set, workersFor(parameters.threads));
  }
  engine->remembers_ = Chain(engine->parameters_, WindowForm::kView).remembers();
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
  if (parameters_.backend == "cpu") return openCpu("backend is set to cpu");
  const Status status = openCudaBackend(parameters_, &backend_);
  if (status.ok()) {
    onDevice_ = true;
    adopt("cuda", parameters_.backend == "cuda" ? "backend is set to cuda" : "a CUDA device was found");
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
  MatchTask task = matchTaskFrom(Chain(parameters_, WindowForm::kView).task());
  const SearchChoice search = chooseSearch(&task, {backend_->instructionSet(), backend_->multiprocessors()});
  const std::lock_guard<std::mutex> lock(stateMutex_);
  state_ = {backend,
            reason,
            backend_->instructionSet(),
            backend_->threads(),
            backend_->workspaceBytes(),
            backend_->framesInWork(),
            search,
            MemoryPaths()};
  timedFrames_ = 0;
}

void Engine::observePaths(const MemoryPaths& paths) {
  const std::lock_guard<std::mutex> lock(stateMutex_);
  MemoryPaths& mean = state_.paths;
  const MemoryPaths before = mean;
  mean = paths;
  // The first timed frame also pays for what the driver sets up.
  const uint32_t count = timedFrames_++;
  mean.timed = count > 0;
  if (count < 2) return;
  constexpr double kShare = 1.0 / 8;
  mean.inputMicroseconds = before.inputMicroseconds + kShare * (paths.inputMicroseconds - before.inputMicroseconds);
  mean.resultMicroseconds = before.resultMicroseconds + kShare * (paths.resultMicroseconds - before.resultMicroseconds);
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
  InputMemory kept = input;
  // The caller may close its descriptor before a backend that is opened again imports the buffer.
  if (input.dmaBuffer >= 0) kept.dmaBuffer = fcntl(input.dmaBuffer, F_DUPFD_CLOEXEC, 0);
  if (input.dmaBuffer >= 0 && kept.dmaBuffer < 0) return;
  inputs_.push_back(kept);
  if (backend_) backend_->attach(kept);
}

void Engine::detach() {
  if (backend_) backend_->detach();
  outputs_.clear();
  for (const InputMemory& input : inputs_) {
    if (input.dmaBuffer >= 0) close(input.dmaBuffer);
  }
  inputs_.clear();
}

PairObservation Engine::observation() const { return watch_ ? watch_->observation() : PairObservation(); }

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
  // No frame is being computed while this lock is held, so the map may be replaced.
  const std::unique_lock<std::shared_mutex> alone(backendMutex_);
  if (!final_.ok() || !backend_) return {};
  *by = {generation_, onDevice_};
  moved_ = {};
  if (wanted.quarterRows != 0 || wanted.quarterRowsOverWidth != 0) {
    const std::vector<int32_t>& map = turned_ ? rightMap_ : parameters_.rightMap;
    moved_ = mapsFurtherDown(parameters_.leftMap, map, parameters_.width, parameters_.height, parameters_.inputWidth,
                             parameters_.inputHeight, wanted.quarterRows, wanted.quarterRowsOverWidth);
  } else if (turned_) {
    moved_.right = rightMap_;
  }
  const Status status = backend_->adapt(wanted, orNull(moved_.left), orNull(moved_.right));
  adapted_ = wanted;
  adaptedGeneration_ = generation_ + 1;
  return status;
}

Status Engine::run(int place, const FrameInput& input, FrameOutput& output) {
  if (!remembers_) return runInTurn(place, input, output);
  FrameInput ordered = input;
  ordered.turns = &turns_;
  turns_.wait(input.turn);
  const Status status = runInTurn(place, ordered, output);
  turns_.pass(input.turn);
  return status;
}

Status Engine::runInTurn(int place, const FrameInput& input, FrameOutput& output) {
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
      output.paths = {};
      status = backend_->run(ownPlace, input, output);
    }
    if (status.ok()) ++framesOfBackend_;
    if (status.ok() && output.paths.timed) observePaths(output.paths);
  }
  if (!status.ok()) return by.recoverable ? recover(by.generation, status) : status;
  if (image_ != nullptr) image_->run(input, output);
  const int32_t pixels = parameters_.width * parameters_.height;
  output.validPixels = countOther(output.disparityQ4, pixels, kInvalidDisparity);
  // Every matched pixel has a confidence above 0, every other pixel 0.
  output.matchedPixels = countOther(output.confidence, pixels, uint8_t{0});
  return {};
}

Status Engine::recover(uint32_t generation, const Status& failure) {
  const std::unique_lock<std::shared_mutex> alone(backendMutex_);
  if (!final_.ok()) return final_;
  // Another frame failed for the same reason first, and the backend was already replaced.
  if (generation != generation_) return Status::error(Code::kFrameLost, "%s", state().reason.c_str());
  ++generation_;
  if (framesOfBackend_ >= kTrustedAfterFrames) reopened_ = false;
  std::string reason = failure.message;
  // Release first: the broken backend holds memory that the next one needs.
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
  final_ = Status::error(Code::kGpuLost, "%s", reason.c_str());
  return final_;
}

}  // namespace depthwatt
