// SPDX-License-Identifier: Apache-2.0
// Runs capture under a sanitizer, without JavaScript: an in-memory camera at full speed, images returned from another
// thread, restarts, refused calls and unplugging. Prints its counts; the sanitizer ends it on an error.
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <thread>

#include "../native/capture.h"
#include "fake-video/fake_driver.h"

using namespace v4l2camera;

namespace {

int64_t nowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

void restMs(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

std::shared_ptr<fake::Camera> makeCamera() {
  auto camera = std::make_shared<fake::Camera>();
  camera->path = camera->card = camera->bus = camera->driver = "fake";
  camera->capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
  camera->sizes.push_back({V4L2_PIX_FMT_GREY, 64, 48, {1000}});
  camera->rateHz = 1000;
  return camera;
}

/// Runs one camera from open to close. Returns how many images arrived.
uint32_t live(fake::Driver& driver, fake::Camera& camera, int round) {
  Capture capture;
  CaptureOptions options;
  options.path = "fake";
  options.format = {V4L2_PIX_FMT_GREY, 64, 48, 0};
  if (const Status status = capture.open(driver.system, options); !status.ok()) {
    std::printf("%s\n", status.message);
    return 0;
  }
  std::atomic<int> wakes{0};
  capture.start([](void* count) { static_cast<std::atomic<int>*>(count)->fetch_add(1); }, &wakes);
  uint32_t read = 0;
  uint64_t sum = 0;
  const int64_t end = nowNs() + 150000000;
  while (nowNs() < end && capture.fault() == 0) {
    for (const uint32_t produced = capture.produced(); read != produced; ++read) {
      const uint32_t image = capture.ring()[read % kRingEntries];
      sum += capture.images()[image].data[0] + capture.facts()[image].sequence;
      capture.release(image);
    }
    if (read % 40 == 20) {
      std::lock_guard<std::mutex> lock(driver.mutex);
      camera.failures[VIDIOC_QBUF] = {EINVAL, 1};
    }
    if (read % 60 == 30) capture.restartAt(nowNs() + 2000000);
    std::this_thread::yield();
  }
  if (round % 2 == 1) {
    std::lock_guard<std::mutex> lock(driver.mutex);
    driver.unplug(camera);
  }
  capture.stop();
  // Images that were announced last and never read are still held, as by a late reader.
  for (const uint32_t produced = capture.produced(); read != produced; ++read) {
    capture.release(capture.ring()[read % kRingEntries]);
  }
  {
    std::lock_guard<std::mutex> lock(driver.mutex);
    camera.unplugged = false;
  }
  return sum == 1 ? 0 : read;
}

}  // namespace

int main() {
  fake::Driver driver;
  const auto camera = makeCamera();
  driver.cameras["fake"] = camera;
  driver.run("fake", 2000, 100000);
  uint32_t images = 0;
  for (int round = 0; round < 8; ++round) images += live(driver, *camera, round);
  restMs(1);
  std::lock_guard<std::mutex> lock(driver.mutex);
  std::printf("images %u, opens %d, mappings %d\n", images, camera->opens, camera->mappings);
  return camera->opens == 0 && camera->mappings == 0 && images > 100 ? 0 : 1;
}
