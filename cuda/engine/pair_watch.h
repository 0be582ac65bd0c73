// SPDX-License-Identifier: Apache-2.0
// Schedules the observation of pairs: the first pair synchronously, so that a single pair is adapted to itself; later
// ones on a thread, from a copy. An estimate takes effect at the next observed pair, however fast the thread is, so
// frames are identical on every machine. No frame waits while estimates are faster than the frames between them.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "pair_observer.h"

namespace depthwatt {

class PairWatch {
 public:
  /// Allocates, and starts its thread if pairs are observed. Throws std::bad_alloc or std::system_error.
  PairWatch(const EngineParameters& parameters, InstructionSet set);
  ~PairWatch();
  PairWatch(const PairWatch&) = delete;
  PairWatch& operator=(const PairWatch&) = delete;

  /// Takes the next frame and returns its adaptation. One caller at a time, in the order of frames.
  Adaptation take(const FrameInput& input);
  /// Sets the map of the right image from now on, and discards the estimates of its rows.
  void read(const std::vector<int32_t>& rightMap);
  /// Returns the current adaptation and its reason. Any thread may call it.
  PairObservation observation() const;

 private:
  void serve();
  /// Waits for the estimate in progress, and applies it.
  void finish();

  const bool watches_;
  PairObserver observer_;  ///< owned by the thread while busy_
  std::vector<uint8_t> copies_[2];
  uint64_t frames_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = false, stop_ = false;
  PairObservation observation_;
  std::thread thread_;
};

}  // namespace depthwatt
