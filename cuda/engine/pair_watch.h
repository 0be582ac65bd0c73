// SPDX-License-Identifier: Apache-2.0
// When pairs are looked at, and where: the first at once, so that a single pair is adjusted to itself; every later one on a
// thread of its own, from a copy. What it says holds from the next pair on that is looked at, however fast or slow the thread is:
// frames are the same bits on every machine, and no frame waits for a look while looks are quicker than frames.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "pair_observer.h"

namespace depthwatt {

class PairWatch {
 public:
  /// Allocates, and where pairs are watched starts its thread: throws std::bad_alloc or std::system_error.
  PairWatch(const EngineParameters& parameters, InstructionSet set);
  ~PairWatch();
  PairWatch(const PairWatch&) = delete;
  PairWatch& operator=(const PairWatch&) = delete;

  /// The next frame; gives what holds for it. One caller at a time, in the order of frames.
  Adaptation take(const FrameInput& input);
  /// The right image is read by this map from now on; what was estimated of its rows is forgotten.
  void read(const std::vector<int32_t>& rightMap);
  /// What holds and why. Any thread.
  PairObservation seen() const;

 private:
  void serve();
  /// Until the look under way is over; its observation holds from here on.
  void finish();

  const bool watches_;
  PairObserver observer_;  ///< the thread's while busy_
  std::vector<uint8_t> copies_[2];
  uint64_t frames_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = false, stop_ = false;
  PairObservation seen_;
  std::thread thread_;
};

}  // namespace depthwatt
