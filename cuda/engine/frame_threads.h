// SPDX-License-Identifier: Apache-2.0
// A thread for each frame that an engine takes at once ("dw-engine"), and the slots that its frames go through. Who submits is woken
// when one is done, and takes it: neither allocates nor waits for a frame. Nothing of Node is in it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "engine.h"

namespace depthwatt {

constexpr int kMaxSlots = 16;

/// A first-in first-out list of slots; each slot stands in it at most once.
class SlotQueue {
 public:
  void push(int slot) { slots_[(head_ + count_++) % kMaxSlots] = slot; }
  int pop() {
    const int slot = slots_[head_];
    head_ = (head_ + 1) % kMaxSlots;
    --count_;
    return slot;
  }
  bool empty() const { return count_ == 0; }

 private:
  int slots_[kMaxSlots] = {};
  int head_ = 0;
  int count_ = 0;
};

/// start(), submit(), takeDone(), output() and stop() belong to one thread, the owner's.
class FrameThreads {
 public:
  /// Called on a frame's thread, under the lock of the queue, when a frame is done: it must not call back.
  using Wake = void (*)(void* context);

  FrameThreads() = default;
  ~FrameThreads() { stop(); }
  FrameThreads(const FrameThreads&) = delete;
  FrameThreads& operator=(const FrameThreads&) = delete;

  /// Once. The engine lives until stop().
  Status start(Engine& engine, Wake wake, void* context);
  /// Where the results of a slot go, set before its first frame. Between submit() and takeDone() they belong to the threads.
  FrameOutput& output(int slot) { return slots_[slot].output; }
  /// @return false where the slot is still in use. The input lives until its frame is taken.
  bool submit(int slot, const FrameInput& input);
  /// The frame that was submitted first of those that are done. Its slot is free again. @return false where none is
  bool takeDone(int* slot, Status* status);
  /// Waits for the frames in work. Those that wait are done with an error, and may be taken afterwards.
  void stop();

 private:
  struct Slot {
    enum { kFree, kQueued, kRunning, kDone } stage = kFree;
    FrameInput input;
    FrameOutput output;
    Status status;
  };

  void serve(int place);

  Engine* engine_ = nullptr;
  Wake wake_ = nullptr;
  void* context_ = nullptr;
  Slot slots_[kMaxSlots];

  std::mutex mutex_;
  std::condition_variable waiting_;
  std::condition_variable turn_;
  SlotQueue queued_, done_;
  uint64_t taken_ = 0;     // frames that a thread has begun
  uint64_t finished_ = 0;  // frames that are done, or have failed: they end in the order in which they began
  bool stop_ = false;
  std::thread threads_[kMaxFramesInWork];
};

}  // namespace depthwatt
