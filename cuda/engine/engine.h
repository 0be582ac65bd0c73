// SPDX-License-Identifier: Apache-2.0
// The engine: computes disparity, depth and encoded bodies from two raw camera images. It chooses the backend and
// survives its failure: it reopens CUDA once and then falls back to the CPU if allowed (decision 0005).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "../backend.h"
#include "pair_watch.h"
#include "registered_image.h"

namespace depthwatt {

/// The largest number of frames that a backend computes at once.
constexpr int kMaxFramesInWork = 2;

/// The current backend and the reason for it. Changes only when a backend has failed.
struct EngineState {
  const char* backend = "cpu";
  std::string reason;
  const char* instructionSet = "";
  int threads = 0;
  size_t workspaceBytes = 0;
  int framesInWork = 1;
  SearchChoice search;
  MemoryPaths paths;  ///< times: means of the timed frames, without the backend's first
};

class Engine {
 public:
  /// Opens an engine. kParameter names a value that is out of range; kBackendUnavailable gives the reason why a named
  /// backend cannot run.
  static Status open(const EngineParameters& parameters, std::unique_ptr<Engine>* opened);
  ~Engine() { detach(); }

  /// Computes one frame. kMaxFramesInWork threads may call it at once, each with its own place, from 0; they wait if
  /// the backend takes fewer. kFrameLost: this frame has no result and the engine continues; state() has the new
  /// backend. Any other error is final.
  Status run(int place, const FrameInput& input, FrameOutput& output);

  /// Optional: announces memory that run() will get. Call it before the first frame, and detach() after the last one,
  /// before the memory is freed.
  void attach(const FrameOutput& output);
  /// The engine keeps a duplicate of a DMA buffer's descriptor.
  void attach(const InputMemory& input);
  void detach();

  const EngineParameters& parameters() const { return parameters_; }
  EngineState state() const;
  /// Replaces the map of the right image from the next frame on. The size must be the same.
  Status setRightMap(std::vector<int32_t> map);
  /// Returns what was observed of the pairs and the current adaptation. Changes between frames.
  PairObservation observation() const;

 private:
  /// The backend that computed a frame. Another frame may replace it before a failure is handled.
  struct Computing {
    uint32_t generation = 0;
    bool recoverable = false;
  };

  Status runInTurn(int place, const FrameInput& input, FrameOutput& output);
  /// Observes the pair if it is due. Then, or after a backend was opened, applies the current adaptation to the
  /// backend. @param by set to the backend that failed
  Status adapt(const FrameInput& input, Computing* by);
  Status openBackend();
  Status openCpu(const std::string& why);
  Status recover(uint32_t generation, const Status& failure);
  void observePaths(const MemoryPaths& paths);
  void adopt(const char* backend, const std::string& reason);

  EngineParameters parameters_;
  mutable std::mutex stateMutex_;
  EngineState state_;

  std::shared_mutex backendMutex_;  ///< shared by frames in work, exclusive while the backend is replaced
  std::mutex workMutex_[kMaxFramesInWork];
  std::unique_ptr<Backend> backend_;
  bool onDevice_ = false;    ///< an error of the CPU backend is final
  Status final_;             ///< not ok: no backend is left
  uint32_t generation_ = 0;  ///< backends so far
  std::atomic<uint32_t> framesOfBackend_{0};
  bool remembers_ = false;  ///< a stage's results depend on earlier frames
  Turns turns_;
  bool reopened_ = false;
  std::mutex adaptMutex_;                   ///< one frame is adapted at a time
  std::unique_ptr<RegisteredImage> image_;  ///< null: frames bring no image of another camera
  std::unique_ptr<PairWatch> watch_;        ///< null: pairs are neither observed nor adapted to
  Adaptation adapted_;                      ///< what the backend has applied
  uint32_t adaptedGeneration_ = 0;          ///< 1 + the generation of the backend that applied it; 0: none
  std::vector<int32_t> rightMap_;           ///< replaces the map given at open if turned_
  std::atomic<bool> turned_{false};
  MovedMaps moved_;  ///< the maps that the backend reads instead
  std::vector<FrameOutput> outputs_;
  std::vector<InputMemory> inputs_;
  uint32_t timedFrames_ = 0;  ///< of the backend; guarded by stateMutex_
};

}  // namespace depthwatt
