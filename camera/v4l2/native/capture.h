// SPDX-License-Identifier: Apache-2.0
// One camera: open, agree, stream on a thread of its own, hand over each image by its buffer's number, close.
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "buffers.h"
#include "formats.h"
#include "jpeg.h"
#include "user_memory.h"

namespace v4l2camera {

/// What becomes of a JPEG before it is announced.
enum class Decoding { kGrey, kColours, kNone };

struct CaptureOptions {
  std::string path;
  FormatRequest format;
  int bufferCount = 8;
  /// Where images arrive, if not empty: USERPTR, or what a JPEG is decoded into.
  std::vector<Buffer> userBuffers;
  /// The same in memory that open() makes: bufferCount buffers, kept by userMemory().
  bool ownMemory = false;
  bool exportBuffers = false;
  /// Whether the planes of an image may lie in separate pieces of memory; else such a format is refused.
  bool separatePlanes = false;
  Decoding decoding = Decoding::kGrey;
};

/// What is known of an image while it is held, as JavaScript reads it; the layout is also in src/native.ts.
struct FrameFacts {
  int64_t timestampNs;  ///< the driver's
  int64_t dequeuedNs;   ///< CLOCK_MONOTONIC when this process had it
  uint32_t sequence;
  uint32_t flags;  ///< V4L2_BUF_FLAG_*
  FilledPlane planes[kMaxPlanes];
  uint32_t unused[2];
};
static_assert(sizeof(FrameFacts) == 64, "src/native.ts reads 64 bytes an image");

/// More than all buffers at once, so the ring never overflows: an entry is read before its buffer can come again.
constexpr uint32_t kRingEntries = 64;
static_assert(kRingEntries >= 2 * kMaxBuffers, "a buffer may be announced again right after its release");

/// A control whose value, range or flags changed, whoever changed them.
struct ControlEvent {
  uint32_t id;
  int64_t value;
  /// V4L2_CTRL_FLAG_*.
  uint32_t flags;
  int32_t minimum;
  int32_t maximum;
};
/// More of them between two looks of the reader's are counted and dropped.
constexpr uint32_t kMaxEvents = 64;

/// Counts since open; written by the camera's thread, read by anybody.
struct CaptureCounters {
  std::atomic<uint32_t> frames{0};          ///< announced
  std::atomic<uint32_t> errorFlagged{0};    ///< V4L2_BUF_FLAG_ERROR: given back unread
  std::atomic<uint32_t> empty{0};           ///< fewer bytes than the image has, or more than its buffer
  std::atomic<uint32_t> decodeFailed{0};    ///< not a JPEG of the agreed size
  std::atomic<uint32_t> decodeRepaired{0};  ///< JPEG with warnings, taken
  std::atomic<uint32_t> noFreeBuffer{0};    ///< JPEG dropped because the reader holds every decoded image
  std::atomic<uint32_t> queueFailed{0};     ///< VIDIOC_QBUF refused, tried again
  std::atomic<int64_t> streamOnNs{0};       ///< CLOCK_MONOTONIC when the newest VIDIOC_STREAMON returned
};

class Capture {
 public:
  Capture() = default;
  ~Capture() {
    stop();
    releaseAll();
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// Opens the device, sets and reads back the format, makes all memory. May take as long as the driver likes.
  Status open(const VideoSystem& system, const CaptureOptions& options);

  /// Starts the thread "v4l2-camera", whose first act is VIDIOC_STREAMON. `wake(context)` is called from it, without
  /// locks held, after each image and after a fault.
  Status start(void (*wake)(void*), void* context);

  /// Images announced since start, modulo 2^32. What was written to the ring before is visible to the caller.
  uint32_t produced() const { return produced_.load(std::memory_order_acquire); }
  /// 0, or the errno that ended the stream; the thread is over then and only stop() is left.
  int fault() const { return fault_.load(std::memory_order_acquire); }
  const char* faultAction() const { return faultAction_; }

  /// Gives an announced image back. After stop() it frees its memory instead. False: nobody held it.
  bool release(uint32_t index);
  bool isHeld(uint32_t index);

  /// Stops the stream and starts it again at this time (CLOCK_MONOTONIC), to shift the phase of a free-running camera.
  void restartAt(int64_t monotonicNs);

  /// Ends thread and stream, frees what nobody holds, closes the device. Safe at any time, also twice.
  void stop();

  /// Asks for an event when this control changes (VIDIOC_SUBSCRIBE_EVENT).
  Status watchControl(uint32_t id);
  /// Copies what happened since the last call to `events` (kMaxEvents places). @returns how many
  uint32_t drainEvents(ControlEvent* events);
  bool hasEvents();
  uint32_t eventsLost();

  const Device& device() const { return device_; }
  const AgreedFormat& format() const { return format_; }
  /// What is announced, image after image and plane after plane: the driver's buffers, or the decoded images of a JPEG
  /// camera.
  const std::vector<Buffer>& images() const { return decoder_ ? decoded_ : queue_.buffers(); }
  /// Memory planes of each of them.
  uint32_t planes() const { return decoder_ ? 1 : queue_.planes(); }
  uint32_t imageCount() const { return static_cast<uint32_t>(images().size()) / planes(); }
  /// Null unless asked for. It outlives the capture for as long as somebody holds it.
  const std::shared_ptr<UserMemory>& userMemory() const { return userMemory_; }
  /// Entry i: number of the i-th announced image, modulo kRingEntries.
  uint32_t* ring() { return ring_; }
  /// By the image's number; an entry changes only while nobody holds its image.
  FrameFacts* facts() { return facts_; }
  const CaptureCounters& counters() const { return counters_; }
  /// CPU time of the camera's thread, nanoseconds; 0 where it does not run.
  int64_t threadNs() const;

 private:
  enum class State : uint8_t { kIdle, kAtDriver, kHeld };

  static void* threadEntry(void* self);
  void run();
  bool streamOn();
  void streamOff();
  bool enqueueIdle();
  bool restartIfAsked();
  /// Takes every filled buffer. @param any set where there was one, unless the driver returns them all broken and at once
  /// @returns false where the stream has failed
  bool takeAll(bool* any);
  bool take(const FilledBuffer& filled);
  bool takeEvents();
  bool isWhole(const FilledBuffer& filled) const;
  bool decode(const FilledBuffer& filled, uint32_t image);
  void announce(const FilledBuffer& filled, uint32_t image);
  void giveBack(uint32_t index);
  void fail(int error, const char* action);
  void freeImage(uint32_t index);
  void releaseAll();

  Device device_;
  AgreedFormat format_;
  BufferQueue queue_;
  std::unique_ptr<JpegDecoder> decoder_;
  std::vector<Buffer> decoded_;
  std::vector<uint8_t> decodedMemory_;
  bool colours_ = false;
  uint64_t fewestBytes_[kMaxPlanes] = {1, 1, 1, 1};  ///< of a whole image, plane by plane
  std::shared_ptr<UserMemory> userMemory_;

  std::mutex mutex_;                    ///< guards the states and orders QBUF against STREAMOFF
  State states_[kMaxBuffers] = {};      ///< of the driver's buffers
  bool decodedHeld_[kMaxBuffers] = {};  ///< of the decoded images
  bool stopped_ = false;
  std::atomic<bool> retryQueueing_{false};

  std::mutex eventMutex_;  ///< guards the three below
  ControlEvent events_[kMaxEvents] = {};
  uint32_t eventCount_ = 0;
  uint32_t eventsLost_ = 0;

  uint32_t ring_[kRingEntries] = {};
  FrameFacts facts_[kMaxBuffers] = {};
  std::atomic<uint32_t> produced_{0};
  std::atomic<int> fault_{0};
  const char* faultAction_ = "";
  CaptureCounters counters_;

  pthread_t thread_{};
  bool threadRuns_ = false;
  std::atomic<bool> stopAsked_{false};
  std::atomic<int64_t> restartNs_{0};
  int wakeDescriptor_ = -1;  ///< eventfd that ends the thread's wait
  bool streaming_ = false;
  void (*wake_)(void*) = nullptr;
  void* wakeContext_ = nullptr;
};

}  // namespace v4l2camera
