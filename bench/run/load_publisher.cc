// SPDX-License-Identifier: Apache-2.0
// The publisher with libmosquitto for bench/run/load.mjs. Arguments: port, topic, file of the payload, frames a second,
// seconds. At most two messages wait for the socket; further ones are dropped, as in depthwatt. Prints one JSON line.
#include <mosquitto.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <vector>

namespace {

constexpr size_t kStampAt = 32;
constexpr int kMaxWaiting = 2;
std::atomic<int> waiting{0};
std::atomic<bool> connected{false};

int64_t nowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

double cpuSeconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) return 2;
  std::ifstream file(words[3], std::ios::binary);
  std::vector<char> payload{std::istreambuf_iterator<char>(file), {}};
  const double hertz = std::atof(words[4]), seconds = std::atof(words[5]);
  mosquitto_lib_init();
  mosquitto* client = mosquitto_new("load-publisher", true, nullptr);
  mosquitto_connect_callback_set(client, [](mosquitto*, void*, int code) { connected = code == 0; });
  mosquitto_publish_callback_set(client, [](mosquitto*, void*, int) { waiting--; });
  if (mosquitto_connect(client, "127.0.0.1", std::atoi(words[1]), 60) != MOSQ_ERR_SUCCESS) return 1;
  mosquitto_loop_start(client);
  while (!connected) {
    const timespec pause{0, 1000000};
    nanosleep(&pause, nullptr);
  }
  int64_t published = 0, dropped = 0;
  const double before = cpuSeconds();
  const int64_t began = nowNs();
  const auto periodNs = static_cast<int64_t>(1e9 / hertz);
  const auto endNs = began + static_cast<int64_t>(1e9 * seconds);
  for (int64_t next = began; next < endNs; next += periodNs) {
    const timespec until{static_cast<time_t>(next / 1000000000), static_cast<long>(next % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    if (waiting >= kMaxWaiting) {
      dropped++;
      continue;
    }
    const int64_t stamp = nowNs();
    std::memcpy(payload.data() + kStampAt, &stamp, sizeof stamp);
    waiting++;
    if (mosquitto_publish(client, nullptr, words[2], static_cast<int>(payload.size()), payload.data(), 0, false) ==
        MOSQ_ERR_SUCCESS) {
      published++;
    } else {
      waiting--;
      dropped++;
    }
  }
  const double cpu = cpuSeconds() - before;
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("{\"published\": %lld, \"dropped\": %lld, \"cpuSeconds\": %.4f, \"maxResidentKb\": %ld}\n",
              static_cast<long long>(published), static_cast<long long>(dropped), cpu, used.ru_maxrss);
  mosquitto_disconnect(client);
  mosquitto_loop_stop(client, false);
  return 0;
}
