// SPDX-License-Identifier: Apache-2.0
// One thread per concurrent frame of an engine ("dw-engine"), and the slots of the frames. The threads wake the
// submitter when a frame is done, and the submitter takes it; neither allocates or waits for a frame. Independent of
// Node.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "engine.h"

namespace depthwatt {

constexpr int kMaxSlots = 16;

/// A first-in first-out list of slots. Each slot is in it at most once.
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

/// The owner's thread alone calls start(), submit(), takeDone(), output() and stop().
class FrameThreads {
 public:
  /// Called on a frame's thread, under the queue's lock, when a frame is done. It must not call back.
  using Wake = void (*)(void* context);

  FrameThreads() = default;
  ~FrameThreads() { stop(); }
  FrameThreads(const FrameThreads&) = delete;
  FrameThreads& operator=(const FrameThreads&) = delete;

  /// Starts the threads. Call it once. The engine must live until stop().
  Status start(Engine& engine, Wake wake, void* context);
  /// Returns where a slot's results go, to be set before its first frame. Between submit() and takeDone() the threads
  /// own them.
  FrameOutput& output(int slot) { return slots_[slot].output; }
  /// Submits a frame. The input must live until its frame is taken. @return false if the slot is still in use
  bool submit(int slot, const FrameInput& input);
  /// Takes the finished frame that was submitted first, and frees its slot. @return false if there is none
  bool takeDone(int* slot, Status* status);
  /// Waits for the frames being computed. Frames that wait finish with an error, and may be taken afterwards.
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
  uint64_t taken_ = 0;     // frames that a thread has started
  uint64_t finished_ = 0;  // finished or failed frames; frames end in the order in which they started
  bool stop_ = false;
  std::thread threads_[kMaxFramesInWork];
};

}  // namespace depthwatt
