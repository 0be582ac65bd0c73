// SPDX-License-Identifier: Apache-2.0
// The pool of worker threads; see workers.h.
#include "workers.h"

#include <pthread.h>

#include <map>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace depthwatt {
namespace {

// Stages follow each other within microseconds, and waking a thread takes tens of them. A worker therefore spins before
// it sleeps: long enough to bridge two stages, short enough to save power between frames.
constexpr int kSpins = 4000;

inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Status noThread(const std::system_error& error) {
  return Status::error(
      Code::kFailed,
      "Expected the system to give another thread, it did not (%s): see 'ulimit -u', 'ulimit -v' and a "
      "service's TasksMax.",
      error.code().message().c_str());
}

Workers::Workers(int threads) {
  threads_.reserve(static_cast<size_t>(threads > 1 ? threads - 1 : 0));
  for (int worker = 1; worker < threads; ++worker) {
    try {
      threads_.emplace_back([this, worker] { serve(worker); });
    } catch (const std::system_error&) {
      stop();
      throw;
    }
    pthread_setname_np(threads_.back().native_handle(), "dw-worker");
  }
}

Workers::~Workers() { stop(); }

void Workers::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    round_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run(Call call, void* context) {
  if (threads_.empty()) {
    call(context, 0);
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    call_ = call;
    context_ = context;
    running_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  call(context, 0);
  // The pieces are of equal size, so the others are nearly done. Yielding after a while avoids livelock on an
  // oversubscribed machine.
  for (int spins = 0; running_.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins < kSpins) relax();
    else std::this_thread::yield();
  }
}

void Workers::serve(int worker) {
  uint64_t lastRound = 0;
  for (;;) {
    for (int spins = 0; spins < kSpins && round_.load(std::memory_order_acquire) == lastRound; ++spins) relax();
    Call call;
    void* context;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return round_.load(std::memory_order_relaxed) != lastRound; });
      if (stop_) return;
      lastRound = round_.load(std::memory_order_relaxed);
      call = call_;
      context = context_;
    }
    call(context, worker);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

std::shared_ptr<SharedWorkers> SharedWorkers::ofProcess(int threads) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<SharedWorkers>> teams;
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<SharedWorkers> team = teams[threads].lock();
  if (team == nullptr) {
    team = std::make_shared<SharedWorkers>(threads);
    teams[threads] = team;
  }
  return team;
}

SharedWorkers::Turn::Turn(SharedWorkers& workers) : workers_(workers) {
  std::unique_lock<std::mutex> lock(workers_.mutex_);
  const uint64_t turn = workers_.asked_++;
  workers_.passed_.wait(lock, [&] { return workers_.served_ == turn; });
}

SharedWorkers::Turn::~Turn() {
  {
    std::lock_guard<std::mutex> lock(workers_.mutex_);
    ++workers_.served_;
  }
  workers_.passed_.notify_all();
}

}  // namespace depthwatt
