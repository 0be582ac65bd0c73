// SPDX-License-Identifier: Apache-2.0
// Observes pairs on a separate thread; see pair_watch.h.
#include "pair_watch.h"

#include <pthread.h>

#include <cstring>

namespace depthwatt {

PairWatch::PairWatch(const EngineParameters& parameters, InstructionSet set)
    : watches_(parameters.adaptation.watches()), observer_(parameters, set), observation_(observer_.observation()) {
  if (!watches_) return;
  for (int side = 0; side < 2; ++side) copies_[side].resize(inputBytes(parameters, side));
  thread_ = std::thread([this] { serve(); });
  pthread_setname_np(thread_.native_handle(), "dw-watch");
}

PairWatch::~PairWatch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PairWatch::serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return busy_ || stop_; });
    if (stop_) return;
    lock.unlock();
    observer_.look({copies_[0].data(), copies_[1].data()});
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void PairWatch::finish() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !busy_; });
  observation_ = observer_.observation();
}

Adaptation PairWatch::take(const FrameInput& input) {
  if (watches_ && PairObserver::looksAt(frames_)) {
    finish();
    if (frames_ == 0) {
      observer_.look(input);
      finish();
    } else {
      std::memcpy(copies_[0].data(), input.left, copies_[0].size());
      std::memcpy(copies_[1].data(), input.right, copies_[1].size());
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        busy_ = true;
      }
      changed_.notify_all();
    }
  }
  ++frames_;
  const std::lock_guard<std::mutex> lock(mutex_);
  return observation_.adaptation;
}

void PairWatch::read(const std::vector<int32_t>& rightMap) {
  finish();
  observer_.read(rightMap);
  finish();
  frames_ = 0;
}

PairObservation PairWatch::observation() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return observation_;
}

}  // namespace depthwatt
