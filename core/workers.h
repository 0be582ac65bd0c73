// SPDX-License-Identifier: Apache-2.0
// A fixed team of threads, created at open. Dispatching work neither allocates nor creates anything.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#include "status.h"

namespace depthwatt {

/// Returns the error for a system that cannot create a thread.
Status noThread(const std::system_error& error);

class Workers {
 public:
  /// Starts threads - 1 threads named "dw-worker"; the calling thread is the first of the team. @param threads 1 or
  /// more. Throws std::system_error if the system cannot create a thread.
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int count() const { return static_cast<int>(threads_.size()) + 1; }

  /// Calls body(worker) once on each thread, with worker = 0 (the caller) to count() - 1, and returns when all have
  /// returned. Not reentrant: body must not use the same team.
  template <class Body>
  void each(Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run([](void* context, int worker) { (*static_cast<Plain*>(context))(worker); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

  /// Calls body(firstRow, endRow) for one contiguous piece of [0, rows) per thread.
  template <class Body>
  void rows(int32_t rows, Body&& body) {
    each([&](int worker) {
      const int32_t first = static_cast<int32_t>(int64_t{rows} * worker / count());
      const int32_t end = static_cast<int32_t>(int64_t{rows} * (worker + 1) / count());
      if (first < end) body(first, end);
    });
  }

 private:
  using Call = void (*)(void* context, int worker);
  void run(Call call, void* context);
  void serve(int worker);
  void stop();

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Call call_ = nullptr;
  void* context_ = nullptr;
  std::atomic<uint64_t> round_{0};
  std::atomic<int> running_{0};
  bool stop_ = false;
};

/// A team that several users share. They take turns in the order in which they ask, so that each has all threads and
/// two teams never compete for the same cores.
class SharedWorkers {
 public:
  /// Returns this process's team of so many threads; it ends with its last user. Throws as Workers() does.
  static std::shared_ptr<SharedWorkers> ofProcess(int threads);

  explicit SharedWorkers(int threads) : team_(threads) {}

  /// Use it only during a turn.
  Workers& team() { return team_; }

  /// Waits for the turn of the calling thread and holds it. Not reentrant.
  class Turn {
   public:
    explicit Turn(SharedWorkers& workers);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    SharedWorkers& workers_;
  };

 private:
  Workers team_;
  std::mutex mutex_;
  std::condition_variable passed_;
  uint64_t asked_ = 0, served_ = 0;
};

}  // namespace depthwatt
