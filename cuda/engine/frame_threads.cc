// SPDX-License-Identifier: Apache-2.0
// See frame_threads.h. Each frame costs a lock, waking a thread, and a call of wake().
#include "frame_threads.h"

#include <pthread.h>

#include <system_error>

#include "../../core/workers.h"

namespace depthwatt {

Status FrameThreads::start(Engine& engine, Wake wake, void* context) {
  engine_ = &engine;
  wake_ = wake;
  context_ = context;
  for (int place = 0; place < engine.state().framesInWork; ++place) {
    try {
      threads_[place] = std::thread([this, place] { serve(place); });
    } catch (const std::system_error& error) {
      stop();
      return noThread(error);
    }
    pthread_setname_np(threads_[place].native_handle(), "dw-engine");
  }
  return {};
}

bool FrameThreads::submit(int slot, const FrameInput& input) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Slot& one = slots_[slot];
    if (one.stage != Slot::kFree) return false;
    one.input = input;
    one.stage = Slot::kQueued;
    queued_.push(slot);
  }
  waiting_.notify_one();
  return true;
}

void FrameThreads::serve(int place) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    waiting_.wait(lock, [&] { return stop_ || !queued_.empty(); });
    if (stop_) return;
    const int slot = queued_.pop();
    const uint64_t turn = taken_++;
    Slot& one = slots_[slot];
    one.stage = Slot::kRunning;
    one.input.turn = turn;
    lock.unlock();
    one.status = engine_->run(place, one.input, one.output);
    lock.lock();
    turn_.wait(lock, [&] { return finished_ == turn; });
    ++finished_;
    one.stage = Slot::kDone;
    done_.push(slot);
    wake_(context_);
    turn_.notify_all();
  }
}

bool FrameThreads::takeDone(int* slot, Status* status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (done_.empty()) return false;
  *slot = done_.pop();
  slots_[*slot].stage = Slot::kFree;
  *status = slots_[*slot].status;
  return true;
}

void FrameThreads::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  waiting_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  while (!queued_.empty()) {
    const int slot = queued_.pop();
    slots_[slot].status = Status::error(Code::kFailed, "The engine was closed before this frame was computed.");
    slots_[slot].stage = Slot::kDone;
    done_.push(slot);
  }
}

}  // namespace depthwatt
