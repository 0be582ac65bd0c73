// SPDX-License-Identifier: Apache-2.0
// The engine: from two raw camera images to disparity, depth and an encoded body, whatever computes them. It chooses the
// backend, and outlives its failure: CUDA is opened again once, then the CPU goes on where it may (decision 0005).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "backend.h"
#include "pair_watch.h"

namespace depthwatt {

/// Frames that any backend takes at once.
constexpr int kMaxFramesInWork = 2;

/// What computes, and why; changes only when a backend has failed.
struct EngineState {
  const char* backend = "cpu";
  std::string reason;
  const char* instructionSet = "";
  int threads = 0;
  size_t workspaceBytes = 0;
  int framesInWork = 1;
};

class Engine {
 public:
  /// kParameter names what is out of range; kBackendUnavailable says why an explicit choice cannot be met.
  static Status open(const EngineParameters& parameters, std::unique_ptr<Engine>* opened);

  /// May be called by kMaxFramesInWork threads at once, each with a place of its own, 0 and up; where the backend
  /// works on fewer frames at once they wait.
  /// kFrameLost: this frame came to nothing, the engine goes on, and state() says with what. Any other error is final.
  Status run(int place, const FrameInput& input, FrameOutput& output);

  /// Optional: names memory that run() will be given, before the first frame; detach() before it is freed, after the last.
  void attach(const FrameOutput& output);
  void attach(const InputMemory& input);
  void detach();

  const EngineParameters& parameters() const { return parameters_; }
  EngineState state() const;
  /// From the next frame on the right image is read by this map, of the size of the one that it replaces.
  Status setRightMap(std::vector<int32_t> map);
  /// What the pairs look like and how the computation is adjusted to it; changes between frames.
  PairObservation observation() const;

 private:
  /// What computed when something failed: by the time the failure is handled, another frame may have exchanged it.
  struct Computing {
    uint32_t generation = 0;
    bool recoverable = false;
  };

  Status runInTurn(int place, const FrameInput& input, FrameOutput& output);
  /// Looks at the pair where it is its turn. Then, or where a backend has just been opened, the backend learns what holds.
  /// by: who did not, where it fails.
  Status adapt(const FrameInput& input, Computing* by);
  Status openBackend();
  Status openCpu(const std::string& why);
  Status recover(uint32_t generation, const Status& failure);
  void adopt(const char* backend, const std::string& reason);

  EngineParameters parameters_;
  mutable std::mutex stateMutex_;
  EngineState state_;

  std::shared_mutex backendMutex_;  ///< shared by frames in work, alone while the backend is exchanged
  std::mutex workMutex_[kMaxFramesInWork];
  std::unique_ptr<Backend> backend_;
  bool onDevice_ = false;    ///< what a CPU's backend refuses is final
  Status final_;             ///< not ok: no backend is left
  uint32_t generation_ = 0;  ///< backends so far
  std::atomic<uint32_t> framesOfBackend_{0};
  bool remembers_ = false;  ///< a stage's results depend on earlier frames
  Turns turns_;
  bool reopened_ = false;
  std::mutex adaptMutex_;             ///< frames are adapted to one after the other
  std::unique_ptr<PairWatch> watch_;  ///< null: nothing is watched or adjusted
  Adaptation adapted_;                ///< what the backend knows
  uint32_t adaptedGeneration_ = 0;    ///< 1 + the generation of the backend that knows it; 0: none
  std::vector<int32_t> rightMap_;     ///< in place of the one that was opened, where turned_
  std::atomic<bool> turned_{false};
  MovedMaps moved_;  ///< what the backend reads in place of the maps
  std::vector<FrameOutput> outputs_;
  std::vector<InputMemory> inputs_;
};

}  // namespace depthwatt
