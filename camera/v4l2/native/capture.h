// SPDX-License-Identifier: Apache-2.0
// One camera: opens, negotiates the format, streams on its own thread, passes on each image by its buffer's number,
// closes.
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "buffers.h"
#include "controls.h"
#include "formats.h"
#include "jpeg.h"
#include "user_memory.h"

namespace v4l2camera {

/// Work on a JPEG before it is announced.
enum class Decoding { kGrey, kColours, kNone };

struct CaptureOptions {
  std::string path;
  FormatRequest format;
  /// Controls that change the formats, set before the format.
  std::vector<std::pair<std::string, int64_t>> formatControls;
  int bufferCount = 8;
  /// Where images are stored, if not empty: USERPTR, or the target of JPEG decoding.
  std::vector<Buffer> userBuffers;
  /// Stores them in memory that open() allocates: bufferCount buffers, kept by userMemory().
  bool ownMemory = false;
  bool exportBuffers = false;
  /// Keeps the driver's buffers mapped from stop() to freeKept(), so that no later memory has their addresses.
  bool keepMapped = false;
  /// Accepts formats whose planes are in separate memory; if false, they are rejected.
  bool separatePlanes = false;
  Decoding decoding = Decoding::kGrey;
};

/// The data of a held image, as JavaScript reads it; src/native.ts repeats the layout.
struct FrameFacts {
  int64_t timestampNs;  ///< the driver's
  int64_t dequeuedNs;   ///< CLOCK_MONOTONIC when this process received it
  uint32_t sequence;
  uint32_t flags;  ///< V4L2_BUF_FLAG_*
  FilledPlane planes[kMaxPlanes];
  uint32_t unused[2];
};
static_assert(sizeof(FrameFacts) == 64, "src/native.ts reads 64 bytes an image");

/// More than all buffers at once, so the ring never overflows: an entry is read before its buffer can be announced
/// again.
constexpr uint32_t kRingEntries = 64;
static_assert(kRingEntries >= 2 * kMaxBuffers, "a buffer may be announced again right after its release");

/// A control whose value, range or flags changed, for any reason.
struct ControlEvent {
  uint32_t id;
  int64_t value;
  /// V4L2_CTRL_FLAG_*.
  uint32_t flags;
  int32_t minimum;
  int32_t maximum;
};
/// Further events between two reads are counted and dropped.
constexpr uint32_t kMaxEvents = 64;

/// Counts since open. The camera's thread writes them, any thread may read them.
struct CaptureCounters {
  std::atomic<uint32_t> frames{0};          ///< announced
  std::atomic<uint32_t> errorFlagged{0};    ///< V4L2_BUF_FLAG_ERROR: returned unread
  std::atomic<uint32_t> empty{0};           ///< fewer bytes than the image has
  std::atomic<uint32_t> oversized{0};       ///< more bytes than the buffer has, by the driver's count
  std::atomic<uint32_t> decodeFailed{0};    ///< not a JPEG of the agreed size
  std::atomic<uint32_t> decodeRepaired{0};  ///< JPEG with warnings, accepted
  std::atomic<uint32_t> noFreeBuffer{0};    ///< JPEG dropped because the reader holds every decoded image
  std::atomic<uint32_t> queueFailed{0};     ///< VIDIOC_QBUF failed and is tried again
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

  /// Opens the device, sets and reads back the format, and allocates all memory. The driver determines how long it
  /// takes.
  Status open(const VideoSystem& system, const CaptureOptions& options);

  /// Starts the thread "v4l2-camera", which first calls VIDIOC_STREAMON. The thread calls `wake(context)`, without
  /// locks held, after each image and after a fault.
  Status start(void (*wake)(void*), void* context);

  /// Returns the images announced since start, modulo 2^32. Their ring entries are visible to the caller.
  uint32_t produced() const { return produced_.load(std::memory_order_acquire); }
  /// Returns 0, or the errno that ended the stream; the thread has then ended, and only stop() may follow.
  int fault() const { return fault_.load(std::memory_order_acquire); }
  const char* faultAction() const { return faultAction_; }

  /// Returns an announced image to the driver. After stop() it frees the image's memory instead, unless that is kept.
  /// Returns false if it was not held.
  bool release(uint32_t index);
  bool isHeld(uint32_t index);

  /// Stops the stream and restarts it at this time (CLOCK_MONOTONIC), to shift the phase of a free-running camera.
  void restartAt(int64_t monotonicNs);

  /// Ends thread and stream, frees images that are not held, closes the device. Safe at any time, also twice.
  void stop();
  /// Frees the memory that keepMapped kept; images that are held at their release.
  void freeKept();

  /// Requests an event when this control changes (VIDIOC_SUBSCRIBE_EVENT).
  Status watchControl(uint32_t id);
  /// Copies the events since the last call to `events` (kMaxEvents places). @returns how many
  uint32_t drainEvents(ControlEvent* events);
  bool hasEvents();
  uint32_t eventsLost();

  const Device& device() const { return device_; }
  const AgreedFormat& format() const { return format_; }
  /// Returns the announced images, image after image and plane after plane: the driver's buffers, or the decoded images
  /// of a JPEG camera.
  const std::vector<Buffer>& images() const { return decoder_ ? decoded_ : queue_.buffers(); }
  /// Returns the memory planes of each image.
  uint32_t planes() const { return decoder_ ? 1 : queue_.planes(); }
  uint32_t imageCount() const { return static_cast<uint32_t>(images().size()) / planes(); }
  /// Null unless requested. Holders keep it alive longer than the capture.
  const std::shared_ptr<UserMemory>& userMemory() const { return userMemory_; }
  /// Entry i: number of the i-th announced image, modulo kRingEntries.
  uint32_t* ring() { return ring_; }
  /// By the image's number; an entry changes only while its image is not held.
  FrameFacts* facts() { return facts_; }
  const CaptureCounters& counters() const { return counters_; }
  /// Returns the CPU time of the camera's thread, nanoseconds; 0 if it does not run.
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
  bool isWithin(const FilledBuffer& filled) const;
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
  bool keepMapped_ = false;
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
