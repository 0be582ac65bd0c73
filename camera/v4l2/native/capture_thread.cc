// SPDX-License-Identifier: Apache-2.0
// The camera's thread: sleeps in poll(2), takes filled buffers from the driver, announces them. Does not allocate after
// its start.
#include <sys/eventfd.h>

#include <cerrno>
#include <ctime>

#include "capture.h"

namespace v4l2camera {
namespace {

/// The delay before queueing again a buffer that the driver refused.
constexpr int kRetryMs = 10;
/// An error condition without a reason is checked this often, and this many times before it is a fault.
constexpr int kUnclearMs = 5;
constexpr int kMaxUnclear = 100;
/// A restart further ahead than this is a mistake of the caller.
constexpr int64_t kLongestRestartNs = 2000000000;

int64_t nowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

void sleepUntil(int64_t monotonicNs) {
  const timespec until{static_cast<time_t>(monotonicNs / 1000000000), static_cast<long>(monotonicNs % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {}
}

}  // namespace

void* Capture::threadEntry(void* self) {
  static_cast<Capture*>(self)->run();
  return nullptr;
}

void Capture::run() {
  if (streamOn()) {
    int unclear = 0;
    while (!stopAsked_.load()) {
      pollfd set[2] = {{device_.descriptor(), POLLIN | POLLPRI, 0}, {wakeDescriptor_, POLLIN, 0}};
      const VideoSystem& system = device_.system();
      const int result = system.wait(system.self, set, 2, retryQueueing_.load() ? kRetryMs : -1);
      if (result < 0) {
        fail(-result, "waiting for an image");
        break;
      }
      if ((set[1].revents & POLLIN) != 0) {
        eventfd_t ignored = 0;
        eventfd_read(wakeDescriptor_, &ignored);
        if (stopAsked_.load() || !restartIfAsked()) break;
      }
      if (retryQueueing_.load() && !enqueueIdle()) break;
      const bool events = (set[0].revents & POLLPRI) != 0 && takeEvents();
      if (set[0].revents == 0 || (events && set[0].revents == POLLPRI)) continue;
      bool any = false;
      if (!takeAll(&any)) break;
      // poll(2) reported an error or an image, but there is none to take: check again later, a limited number of times.
      const bool unclearNow = !any;
      unclear = unclearNow ? unclear + 1 : 0;
      if (unclear > kMaxUnclear) {
        fail(EIO, "waiting for an image");
        break;
      }
      if (unclearNow) sleepUntil(nowNs() + int64_t{kUnclearMs} * 1000000);
    }
  }
  streamOff();
  if (fault() != 0) wake_(wakeContext_);
}

bool Capture::streamOn() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (uint32_t i = 0; i < queue_.count(); ++i) {
      if (states_[i] == State::kIdle) giveBack(i);
    }
  }
  int type = static_cast<int>(device_.bufferType());
  if (const int result = device_.control(VIDIOC_STREAMON, &type); result < 0) {
    fail(-result, "starting the stream (VIDIOC_STREAMON)");
    return false;
  }
  streaming_ = true;
  counters_.streamOnNs.store(nowNs());
  return true;
}

void Capture::streamOff() {
  std::lock_guard<std::mutex> lock(mutex_);
  int type = static_cast<int>(device_.bufferType());
  if (streaming_) device_.control(VIDIOC_STREAMOFF, &type);
  streaming_ = false;
  // STREAMOFF returns every buffer from the driver, filled or not.
  for (State& state : states_) {
    if (state == State::kAtDriver) state = State::kIdle;
  }
}

/// Called with the lock held. A refused buffer stays idle; the thread tries again.
void Capture::giveBack(uint32_t index) {
  if (queue_.enqueue(device_, index) == 0) {
    states_[index] = State::kAtDriver;
    return;
  }
  counters_.queueFailed.fetch_add(1);
  // The thread may wait without a timeout, so wake it at the first refusal.
  if (!retryQueueing_.exchange(true)) eventfd_write(wakeDescriptor_, 1);
}

bool Capture::enqueueIdle() {
  std::lock_guard<std::mutex> lock(mutex_);
  retryQueueing_.store(false);
  for (uint32_t i = 0; i < queue_.count(); ++i) {
    if (states_[i] != State::kIdle) continue;
    const int result = queue_.enqueue(device_, i);
    if (result == 0) {
      states_[i] = State::kAtDriver;
    } else if (result == -ENODEV || result == -EIO) {
      fail(-result, "queueing a buffer (VIDIOC_QBUF)");
      return false;
    } else {
      retryQueueing_.store(true);
    }
  }
  return true;
}

bool Capture::restartIfAsked() {
  const int64_t at = restartNs_.exchange(0);
  if (at == 0) return true;
  streamOff();
  if (at - nowNs() < kLongestRestartNs) sleepUntil(at);
  return streamOn();
}

/// Returns false if there was none, even if poll(2) reported one.
bool Capture::takeEvents() {
  bool any = false;
  // Limited, because a driver that always has events must not keep the thread from its images.
  for (uint32_t count = 0; count < kMaxEvents; ++count) {
    v4l2_event event{};
    if (device_.control(VIDIOC_DQEVENT, &event) < 0) break;
    any = true;
    if (event.type != V4L2_EVENT_CTRL) continue;
    std::lock_guard<std::mutex> lock(eventMutex_);
    if (eventCount_ == kMaxEvents) {
      ++eventsLost_;
      continue;
    }
    events_[eventCount_++] = {event.id, event.u.ctrl.value64, event.u.ctrl.flags, event.u.ctrl.minimum,
                              event.u.ctrl.maximum};
    if (event.u.ctrl.type != V4L2_CTRL_TYPE_INTEGER64) events_[eventCount_ - 1].value = event.u.ctrl.value;
  }
  if (any) wake_(wakeContext_);
  return any;
}

bool Capture::takeAll(bool* any) {
  // A driver that returns each buffer at once, with the error flag, never runs out of them.
  uint32_t flagged = 0;
  while (flagged <= queue_.count()) {
    FilledBuffer filled;
    const int result = queue_.dequeue(device_, &filled);
    if (result == -EAGAIN) return true;
    if (result < 0) {
      fail(-result, "taking an image (VIDIOC_DQBUF)");
      return false;
    }
    *any = true;
    flagged = (filled.flags & V4L2_BUF_FLAG_ERROR) != 0 ? flagged + 1 : 0;
    if (!take(filled)) {
      fail(EIO, "taking an image (VIDIOC_DQBUF)");
      return false;
    }
  }
  *any = false;
  return true;
}

/// Returns whether the image ends within its memory.
bool Capture::isWithin(const FilledBuffer& filled) const {
  for (uint32_t i = 0; i < queue_.planes(); ++i) {
    if (filled.planes[i].bytesUsed > queue_.plane(filled.index, i).bytes) return false;
  }
  return true;
}

/// Returns whether the image is complete.
bool Capture::isWhole(const FilledBuffer& filled) const {
  for (uint32_t i = 0; i < queue_.planes(); ++i) {
    const auto [bytesUsed, offsetBytes] = filled.planes[i];
    if (offsetBytes > bytesUsed) return false;
    // A JPEG contains its own end.
    if (!decoder_ && bytesUsed - offsetBytes < fewestBytes_[i]) return false;
  }
  return true;
}

bool Capture::decode(const FilledBuffer& filled, uint32_t image) {
  const auto [bytesUsed, offsetBytes] = filled.planes[0];
  const auto result = decoder_->decode(queue_.plane(filled.index, 0).data + offsetBytes, bytesUsed - offsetBytes,
                                       static_cast<int32_t>(format_.width), static_cast<int32_t>(format_.height),
                                       colours_, decoded_[image].data);
  if (result == JpegDecoder::Result::kRepaired) counters_.decodeRepaired.fetch_add(1);
  return result != JpegDecoder::Result::kBroken;
}

/// Returns false if the driver returns a buffer that it does not own, whose holder would see it change.
bool Capture::take(const FilledBuffer& filled) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (states_[filled.index] != State::kAtDriver) return false;
  }
  uint32_t image = filled.index;
  std::atomic<uint32_t>* lost = nullptr;
  if ((filled.flags & V4L2_BUF_FLAG_ERROR) != 0) {
    lost = &counters_.errorFlagged;
  } else if (!isWithin(filled)) {
    lost = &counters_.oversized;
  } else if (!isWhole(filled)) {
    lost = &counters_.empty;
  } else if (decoder_) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      image = 0;
      while (image < decoded_.size() && decodedHeld_[image]) ++image;
    }
    if (image == decoded_.size()) {
      lost = &counters_.noFreeBuffer;
    } else if (!decode(filled, image)) {
      lost = &counters_.decodeFailed;
    }
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    states_[filled.index] = lost == nullptr && !decoder_ ? State::kHeld : State::kIdle;
    if (lost == nullptr && decoder_) decodedHeld_[image] = true;
    if (states_[filled.index] == State::kIdle) giveBack(filled.index);
  }
  if (lost != nullptr) {
    lost->fetch_add(1);
  } else {
    announce(filled, image);
  }
  return true;
}

void Capture::announce(const FilledBuffer& filled, uint32_t image) {
  const uint32_t count = produced_.load(std::memory_order_relaxed);
  FrameFacts& facts = facts_[image];
  facts.timestampNs = filled.timestampNs;
  facts.dequeuedNs = nowNs();
  facts.sequence = filled.sequence;
  facts.flags = filled.flags;
  for (uint32_t i = 0; i < kMaxPlanes; ++i) facts.planes[i] = filled.planes[i];
  if (decoder_) facts.planes[0] = {static_cast<uint32_t>(decoded_[image].bytes), 0};
  ring_[count % kRingEntries] = image;
  counters_.frames.fetch_add(1);
  produced_.store(count + 1, std::memory_order_release);
  wake_(wakeContext_);
}

void Capture::fail(int error, const char* action) {
  faultAction_ = action;
  fault_.store(error, std::memory_order_release);
}

}  // namespace v4l2camera
