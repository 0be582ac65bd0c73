// SPDX-License-Identifier: Apache-2.0
// Frames whose results depend on those before them are queued in the order in which they were begun.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace depthwatt {

class Turns {
 public:
  /// Until every frame that was begun before this one has passed its turn.
  void wait(uint64_t turn) {
    std::unique_lock<std::mutex> lock(mutex_);
    passed_.wait(lock, [&] { return next_ >= turn; });
  }
  /// May be called twice.
  void pass(uint64_t turn) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (next_ <= turn) next_ = turn + 1;
    }
    passed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable passed_;
  uint64_t next_ = 0;
};

}  // namespace depthwatt
