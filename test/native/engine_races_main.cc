// SPDX-License-Identifier: Apache-2.0
// Runs engines without Node, for ThreadSanitizer: each matcher in scalar form with a team of workers and observed
// pairs, two frames at once, while another thread reads its state, sets maps and opens engines; then engines whose
// device fails now and then, until they fall back to the CPU; then the threads of frames, driven as by the binding.
// Prints its counts.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cuda/engine/engine.h"
#include "cuda/engine/frame_threads.h"
#include "cuda/engine/stage_registry.h"
#include "cuda/match/registry.h"
#include "cuda/engine/plugin.h"

namespace depthwatt {

namespace {

/// Devices that may still be opened, and all that were opened.
std::atomic<int> devicesLeft{0}, devicesOpened{0};

/// Computes two frames at once. Every third frame fails, and every second adaptation, at any moment.
class FailingDevice : public Backend {
 public:
  int framesInWork() const override { return 2; }
  Status run(int, const FrameInput& input, FrameOutput& output) override {
    if (++frames_ % 3 == 0) return Status::error(Code::kFailed, "The device was lost in a frame.");
    output.disparityQ4[0] = input.left[0];
    return {};
  }
  Status adapt(const Adaptation&, const int32_t*, const int32_t* rightMap) override {
    if (rightMap != nullptr && rightMap[0] != 0) std::abort();
    if (++changes_ % 2 == 0) return Status::error(Code::kFailed, "The device was lost between frames.");
    return {};
  }
  size_t workspaceBytes() const override { return 0; }
  const char* instructionSet() const override { return "cuda"; }
  int threads() const override { return 1; }

 private:
  std::atomic<int> frames_{0};
  int changes_ = 0;
};

}  // namespace

// Replaces plugin.cc.
Status probeCudaPlugin() { return {}; }
Status openCudaBackend(const EngineParameters&, std::unique_ptr<Backend>* backend) {
  if (devicesLeft-- <= 0) return Status::error(Code::kBackendUnavailable, "No device is left.");
  devicesOpened++;
  *backend = std::make_unique<FailingDevice>();
  return {};
}

}  // namespace depthwatt

using namespace depthwatt;

namespace {

constexpr int32_t kWidth = 64, kHeight = 48;
constexpr size_t kPixels = static_cast<size_t>(kWidth) * kHeight;
constexpr int kFramesEach = 4, kThreads = 3;
/// A failing device fails at most six frames, on any thread: two devices are lost within fourteen.
constexpr int kFramesEachOfFailing = 7;

void require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message);
  std::exit(1);
}

std::vector<int32_t> map() {
  std::vector<int32_t> made;
  for (int32_t y = 0; y < kHeight; ++y)
    for (int32_t x = 0; x < kWidth; ++x) made.push_back(32 * x), made.push_back(32 * y);
  return made;
}

EngineParameters engineParameters(const MatcherFacts& facts, const char* backend) {
  EngineParameters p;
  p.inputWidth = p.width = kWidth;
  p.inputHeight = p.height = kHeight;
  p.leftStrideBytes = p.rightStrideBytes = kWidth;
  p.adaptation.watchesRows = true;
  p.adaptation.denoise = Denoise::kAuto;
  p.leftMap = p.rightMap = map();
  p.matcher = withDefaults(facts, false);
  p.settings = defaultStageSettings(false);
  p.search = {0, 16};
  p.encodeDepth = Encoding::kRvl;
  p.hasGeometry = true;
  p.geometry = {100, 0.1, 0};
  p.backend = backend;
  p.instructionSet = "scalar";
  p.threads = kThreads;
  return p;
}

struct Slot {
  std::vector<uint8_t> left = std::vector<uint8_t>(kPixels), confidence = left, body;
  std::vector<int16_t> disparity = std::vector<int16_t>(kPixels);
  std::vector<uint16_t> depth = std::vector<uint16_t>(kPixels);
  FrameOutput out;

  explicit Slot(const EngineParameters& p) : body(encodedBound(p.encodeDepth, p.width, p.height)) {
    out.left = left.data(), out.confidence = confidence.data(), out.disparityQ4 = disparity.data();
    out.depthMillimetres = depth.data(), out.encodedDepth = body.data();
  }
};

struct Counts {
  std::atomic<int> frames{0}, lost{0}, asked{0};
};

/// Two threads pass frames to the engine; this one reads its state and sets maps until they end.
void live(Engine& engine, const FrameInput& input, int framesEach, Counts& counts) {
  std::atomic<int> busy{2};
  const auto serve = [&](int place) {
    Slot slot(engine.parameters());
    for (int i = 0; i < framesEach; ++i) {
      const Status status = engine.run(place, input, slot.out);
      if (status.code == Code::kFrameLost) {
        counts.lost++;
        continue;
      }
      require(status);
      counts.frames++;
    }
    busy--;
  };
  std::thread first(serve, 0), second(serve, 1);
  while (busy > 0) {
    if (engine.state().threads < 1) std::abort();
    engine.observation();
    require(engine.setRightMap(map()));
    counts.asked++;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  first.join();
  second.join();
}

constexpr int kSlots = 3, kFramesOfSession = 10, kSessions = 6;

/// Replaces the JavaScript loop: a frame's thread wakes it, and it runs some time later.
struct Loop {
  std::mutex mutex;
  std::condition_variable woken;
  bool rung = false;

  static void wake(void* context) {
    auto* loop = static_cast<Loop*>(context);
    std::lock_guard<std::mutex> lock(loop->mutex);
    loop->rung = true;
    loop->woken.notify_one();
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex);
    woken.wait(lock, [&] { return rung; });
    rung = false;
  }
};

struct Ended {
  int done = 0, lost = 0, closed = 0;
  int64_t read = 0;
};

/// Runs a session: every free slot is filled, frames return in order, and the session ends while some wait.
void session(const EngineParameters& parameters, const FrameInput& input, Ended* ended) {
  Loop loop;
  std::unique_ptr<Engine> engine;
  require(Engine::open(parameters, &engine));
  std::vector<std::unique_ptr<Slot>> memory;
  FrameThreads frames;
  std::deque<int> submitted;
  for (int slot = 0; slot < kSlots; ++slot) {
    memory.push_back(std::make_unique<Slot>(parameters));
    frames.output(slot) = memory.back()->out;
    engine->attach(frames.output(slot));
  }
  require(frames.start(*engine, Loop::wake, &loop));
  const auto take = [&] {
    int slot = -1;
    Status status;
    while (frames.takeDone(&slot, &status)) {
      if (submitted.empty() || submitted.front() != slot) std::abort();
      submitted.pop_front();
      // Read like JavaScript: by the owner, while other frames are computed.
      if (status.ok()) ended->read += memory[static_cast<size_t>(slot)]->disparity[0];
      (status.ok() ? ended->done : status.code == Code::kFrameLost ? ended->lost : ended->closed)++;
    }
  };
  for (int left = kFramesOfSession; left > 0;) {
    for (int slot = 0; slot < kSlots && left > 0; ++slot) {
      if (!frames.submit(slot, input)) continue;
      submitted.push_back(slot);
      --left;
    }
    if (left == 0) break;
    if (engine->state().threads < 1) std::abort();
    engine->observation();
    require(engine->setRightMap(map()));
    loop.wait();
    take();
  }
  frames.stop();
  engine->detach();
  engine.reset();
  take();
  if (!submitted.empty()) std::abort();
}

}  // namespace

int main() {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  std::vector<uint8_t> left(kPixels), right(kPixels);
  for (size_t i = 0; i < kPixels; ++i) {
    left[i] = static_cast<uint8_t>((i * i) >> 3);
    right[i] = static_cast<uint8_t>((i * i + 9) >> 3);
  }
  const FrameInput input{left.data(), right.data()};
  Counts counts;
  int engines = 0;
  for (const MatcherFacts* facts : matcherFacts()) {
    const EngineParameters parameters = engineParameters(*facts, "cpu");
    std::unique_ptr<Engine> engine;
    require(Engine::open(parameters, &engine));
    std::thread parallel([&] {
      for (int i = 0; i < 3; ++i) {
        std::unique_ptr<Engine> other;
        require(Engine::open(parameters, &other));
      }
    });
    live(*engine, input, kFramesEach, counts);
    parallel.join();
    engines += 4;
  }
  if (counts.lost != 0) std::abort();
  std::printf("frames %d, engines %d, asked %d\n", counts.frames.load(), engines, counts.asked.load());

  Counts failing;
  for (int round = 0; round < 6; ++round) {
    devicesLeft = 2;
    std::unique_ptr<Engine> engine;
    require(Engine::open(engineParameters(*matcherFacts().front(), "auto"), &engine));
    live(*engine, input, kFramesEachOfFailing, failing);
    if (std::string(engine->state().backend) != "cpu") std::abort();
  }
  std::printf("frames %d, lost %d, devices %d\n", failing.frames.load(), failing.lost.load(), devicesOpened.load());

  Ended of[2];
  std::thread owners[2];
  for (int i = 0; i < 2; ++i) {
    owners[i] = std::thread([&, i] {
      for (int round = 0; round < kSessions; ++round) {
        // In one of them devices fail until the CPU takes over.
        if (i == 1) devicesLeft = 2;
        session(engineParameters(*matcherFacts().front(), i == 0 ? "cpu" : "auto"), input, &of[i]);
      }
    });
  }
  for (std::thread& owner : owners) owner.join();
  std::printf("done %d, lost %d, closed %d\n", of[0].done + of[1].done, of[0].lost + of[1].lost,
              of[0].closed + of[1].closed);
  return 0;
}
