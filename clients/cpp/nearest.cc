// SPDX-License-Identifier: Apache-2.0
// Example with libmosquitto: prints the nearest and the median depth of each frame.
//   g++ -std=c++17 -O2 nearest.cc -lmosquitto -o nearest && ./nearest 127.0.0.1 1883 depthwatt/robot-1/depth
#include <mosquitto.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "depthwatt_frame.h"

namespace {

struct Reader {
  const char* topic;
  std::vector<uint16_t> counts;
};

constexpr size_t kMaxPixels = size_t{1} << 24;

void onConnect(mosquitto* client, void* state, int code) {
  if (code == 0) mosquitto_subscribe(client, nullptr, static_cast<Reader*>(state)->topic, 0);
}

void onMessage(mosquitto*, void* state, const mosquitto_message* message) {
  Reader& reader = *static_cast<Reader*>(state);
  depthwatt::Frame frame;
  depthwatt::Fault fault = depthwatt::parseFrame(message->payload, static_cast<size_t>(message->payloadlen), frame);
  if (fault == depthwatt::Fault::none && frame.pixels() > kMaxPixels) fault = depthwatt::Fault::room;
  if (fault == depthwatt::Fault::none) {
    reader.counts.resize(frame.pixels());
    fault = depthwatt::decode(frame, reader.counts.data(), reader.counts.size());
  }
  if (fault != depthwatt::Fault::none) {
    std::fprintf(stderr, "%s: %s\n", message->topic, depthwatt::describe(fault));
    return;
  }
  std::vector<uint16_t> valid;
  for (const uint16_t count : reader.counts)
    if (count != 0) valid.push_back(count);
  if (valid.empty()) return;
  const auto middle = valid.begin() + static_cast<std::ptrdiff_t>(valid.size() / 2);
  std::nth_element(valid.begin(), middle, valid.end());
  const uint16_t nearest = *std::min_element(valid.begin(), valid.end());
  std::printf("%u %ux%u nearest %.3f m, median %.3f m\n", frame.frameNumber, frame.width, frame.height,
              static_cast<double>(frame.value(nearest)), static_cast<double>(frame.value(*middle)));
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    std::fprintf(stderr, "usage: nearest HOST PORT TOPIC\n");
    return 2;
  }
  mosquitto_lib_init();
  Reader reader{words[3], {}};
  mosquitto* client = mosquitto_new(nullptr, true, &reader);
  if (client == nullptr) return 1;
  mosquitto_connect_callback_set(client, onConnect);
  mosquitto_message_callback_set(client, onMessage);
  int code = mosquitto_connect(client, words[1], std::atoi(words[2]), 60);
  if (code == MOSQ_ERR_SUCCESS) code = mosquitto_loop_forever(client, -1, 1);
  std::fprintf(stderr, "mosquitto: %s\n", mosquitto_strerror(code));
  mosquitto_destroy(client);
  mosquitto_lib_cleanup();
  return 1;
}
