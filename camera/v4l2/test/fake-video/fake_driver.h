// SPDX-License-Identifier: Apache-2.0
// A V4L2 driver in memory behind the addon's function table: real eventfds and real mappings, scripted images and faults.
#pragma once

#include <linux/videodev2.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../../native/system.h"

namespace v4l2camera::fake {

struct Size {
  uint32_t fourcc, width, height;
  std::vector<uint32_t> ratesHz;
  uint32_t sensorMode = UINT32_MAX;  ///< offered only in this mode of the control "Sensor Mode"; UINT32_MAX: always
  /// Offered as a range up to width x height: its smallest size and steps. 0: a single size.
  uint32_t minWidth = 0, stepWidth = 0, minHeight = 0, stepHeight = 0;
  std::string description = "a format";
  uint32_t flags = 0;  ///< V4L2_FMT_FLAG_*
};

struct Control {
  v4l2_query_ext_ctrl query{};
  int64_t value = 0;
  int64_t lowest = 0, highest = 0;  ///< of the values that it takes
  std::vector<std::string> menu;
};

struct Image {
  int64_t timestampNs = 0;
  uint32_t sequence = 0;
  uint32_t flags = 0;
  uint32_t bytesUsed = 0;
  uint32_t claimedIndex = UINT32_MAX;  ///< the index that DQBUF returns; UINT32_MAX = the true one
  std::vector<uint8_t> bytes;
  std::vector<std::vector<uint8_t>> morePlanes;  ///< bytes of the planes after the first
  uint32_t claimedOffset = UINT32_MAX;           ///< the offset that DQBUF returns; UINT32_MAX = the true one
  uint32_t dataOffset = 0;                       ///< offset of the data in each plane
};

struct Slot {
  void* memory = nullptr;  ///< user memory (USERPTR)
  int64_t offset = 0;
  bool queued = false;
  Image image;
};

struct Camera {
  std::string path, card, bus, driver;
  uint32_t capabilities = 0;
  std::vector<Size> sizes;
  std::map<uint32_t, Control> controls;
  bool withoutDeviceCaps = false;  ///< QUERYCAP reports the capabilities of the whole device alone
  uint32_t fewestGiven = 0;        ///< REQBUFS never gives more than this; 0 = as requested
  uint32_t strideExtra = 0;
  uint32_t field = V4L2_FIELD_NONE;
  uint32_t memoryPlanes = 1;
  bool echoesRate = false;     ///< S_PARM answers with the request, whatever is set
  uint32_t stubbornWidth = 0;  ///< the width that S_FMT answers; 0 = as requested
  struct {
    uint32_t strideBytes = 0, bufferBytes = 0, height = UINT32_MAX, buffers = 0, planeBytes = 0, imageBytes = 0;
  } lies;                      ///< 0, of the height UINT32_MAX: none
  bool endlessErrors = false;  ///< DQBUF returns every queued buffer at once, with the error flag
  bool unplugged = false, fatal = false, streaming = false;
  int openError = 0;
  /// Per ioctl number: errno and how many more times it fails.
  std::map<unsigned long, std::pair<int, int>> failures;
  v4l2_format format{};
  uint32_t rateHz = 0;             ///< 0: G_PARM reports no interval
  bool fixedRate = false;          ///< G_PARM reports no capability to set the interval
  v4l2_fract requestedInterval{};  ///< of the last S_PARM
  uint32_t memory = 0;
  std::vector<uint32_t> watched;  ///< controls whose changes are events
  std::deque<v4l2_event> events;
  std::vector<Slot> slots;
  std::deque<uint32_t> queued, done;
  /// Value of a control by its name, or `fallback`.
  int64_t valueOf(const char* name, int64_t fallback) const;
  int owner = -1;  ///< descriptor that streams
  int opens = 0, mappings = 0, streamOns = 0;
  int64_t streamOnNs = 0;     ///< CLOCK_MONOTONIC of the last stream start
  uint8_t* newest = nullptr;  ///< memory of the last filled buffer
};

inline bool planar(const Camera& camera) { return (camera.capabilities & V4L2_CAP_VIDEO_CAPTURE_MPLANE) != 0; }

inline uint32_t imageBytes(const Camera& camera, uint32_t plane = 0) {
  return planar(camera) ? camera.format.fmt.pix_mp.plane_fmt[plane].sizeimage : camera.format.fmt.pix.sizeimage;
}

class Driver {
 public:
  Driver();
  ~Driver();

  VideoSystem system{};
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Camera>> cameras;

  /// Fills the oldest queued buffer. Returns false if none is queued or nothing streams.
  bool deliver(Camera& camera, const Image& image);
  void unplug(Camera& camera);
  /// Changes a control, as another program or the camera does.
  void changeControl(Camera& camera, uint32_t id, int64_t value);
  /// Writes into the last filled buffer.
  void poke(Camera& camera, uint32_t offset, uint8_t value);
  /// Starts a thread that delivers `frames` images at a rate, stamped with CLOCK_MONOTONIC. Images without a free
  /// buffer are lost and counted by their sequence numbers, as in a camera.
  void run(const std::string& path, double rateHz, int frames);

 private:
  int open(const char* path);
  int close(int descriptor);
  int control(int descriptor, unsigned long request, void* argument);
  int wait(pollfd* set, int count, int timeoutMs);
  int map(int descriptor, size_t length, int64_t offset, void** memory);
  void unmap(void* memory, size_t length);
  int answer(Camera& camera, int descriptor, unsigned long request, void* argument);
  int answerFormats(Camera& camera, unsigned long request, void* argument);
  int answerControls(Camera& camera, unsigned long request, void* argument);
  int answerBuffers(Camera& camera, int descriptor, unsigned long request, void* argument);
  int queue(Camera& camera, v4l2_buffer& buffer);
  int dequeue(Camera& camera, int descriptor, v4l2_buffer& buffer);

  std::map<int, std::shared_ptr<Camera>> descriptors_;
  /// The address of each mapped buffer, so that deliver() can write into it.
  std::map<std::pair<Camera*, int64_t>, void*> mapped_;
  std::map<void*, Camera*> mappings_;
  std::vector<std::thread> runners_;
  std::atomic<bool> ending_{false};
};

}  // namespace v4l2camera::fake
