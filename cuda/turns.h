// SPDX-License-Identifier: Apache-2.0
// Keeps frames in the order in which they were started, for stages whose results depend on earlier frames.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace depthwatt {

class Turns {
 public:
  /// Waits until every frame that was started earlier has passed its turn.
  void wait(uint64_t turn) {
    std::unique_lock<std::mutex> lock(mutex_);
    passed_.wait(lock, [&] { return next_ >= turn; });
  }
  /// Lets the next frame start. May be called twice for the same turn.
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
