// SPDX-License-Identifier: Apache-2.0
// Many consumers of one topic in one thread, for bench/run/load.mjs: plain MQTT 3.1.1 over sockets, so that only
// publisher and broker are measured. Arguments: port, topic, count. Lines on stdin: "reset" starts counting, "report"
// prints one JSON line.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace {

/// leftTimestampNs of the frame header, where every publisher of the comparison stores the time of publishing.
constexpr size_t kStampAt = 32;

int64_t nowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

std::string text(const std::string& value) {
  return std::string{static_cast<char>(value.size() >> 8), static_cast<char>(value.size() & 255)} + value;
}

std::string packet(char type, const std::string& body) {
  return std::string{type, static_cast<char>(body.size())} + body;
}

struct Totals {
  bool subscribed = false;
  int64_t frames = 0;
};

std::vector<float> latenciesMs;
int64_t bytesRead = 0;

class Consumer {
 public:
  Consumer(uint16_t port, const std::string& topic, int index) {
    socket_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      perror("connect");
      std::exit(1);
    }
    const std::string id = "load-" + std::to_string(index);
    const std::string hello = text("MQTT") + std::string{4, 2, 0, 0} + text(id);
    const std::string both =
        packet(0x10, hello) + packet(static_cast<char>(0x82), std::string{0, 1} + text(topic) + std::string{0});
    if (write(socket_, both.data(), both.size()) != static_cast<ssize_t>(both.size())) std::exit(1);
  }

  int socket() const { return socket_; }
  Totals totals;

  /// Returns false if the broker has closed the connection.
  bool read(uint8_t* buffer, size_t capacity) {
    const ssize_t got = ::read(socket_, buffer, capacity);
    if (got <= 0) return false;
    bytesRead += got;
    for (size_t at = 0; at < static_cast<size_t>(got);) at += take(buffer + at, static_cast<size_t>(got) - at);
    return true;
  }

 private:
  static int socket(int domain, int type, int protocol) { return ::socket(domain, type, protocol); }

  /// Returns how many bytes were consumed.
  size_t take(const uint8_t* bytes, size_t count) {
    if (inHead_) {
      headBytes(bytes[0]);
      return 1;
    }
    const size_t taken = std::min(count, left_);
    // Keep the start of the message, which has topic and time.
    const size_t kept = std::min(taken, sizeof start_ - startBytes_);
    std::memcpy(start_ + startBytes_, bytes, kept);
    startBytes_ += kept;
    left_ -= taken;
    if (left_ == 0) finish();
    return taken;
  }

  void headBytes(uint8_t byte) {
    if (lengthBytes_ < 0) {
      type_ = byte & 0xf0;
      lengthBytes_ = 0;
      left_ = 0;
      startBytes_ = 0;
      return;
    }
    left_ |= static_cast<size_t>(byte & 127) << (7 * lengthBytes_++);
    if (byte & 128) return;
    inHead_ = false;
    if (left_ == 0) finish();
  }

  void finish() {
    inHead_ = true;
    lengthBytes_ = -1;
    if (type_ == 0x90) totals.subscribed = true;
    if (type_ != 0x30) return;
    const size_t payload = 2 + ((size_t{start_[0]} << 8) | start_[1]);
    if (payload + kStampAt + 8 > startBytes_) return;
    int64_t stamp = 0;
    std::memcpy(&stamp, start_ + payload + kStampAt, sizeof stamp);
    totals.frames++;
    latenciesMs.push_back(static_cast<float>(static_cast<double>(nowNs() - stamp) * 1e-6));
  }

  int socket_ = -1;
  bool inHead_ = true;
  int lengthBytes_ = -1;
  uint8_t type_ = 0;
  size_t left_ = 0;
  size_t startBytes_ = 0;
  uint8_t start_[512];
};

double percentile(double part) {
  if (latenciesMs.empty()) return -1;
  const size_t at =
      std::min(latenciesMs.size() - 1, static_cast<size_t>(part * static_cast<double>(latenciesMs.size())));
  std::nth_element(latenciesMs.begin(), latenciesMs.begin() + static_cast<ptrdiff_t>(at), latenciesMs.end());
  return latenciesMs[at];
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  const auto port = static_cast<uint16_t>(std::atoi(words[1]));
  std::vector<Consumer> consumers;
  for (int i = 0; i < std::atoi(words[3]); ++i) consumers.emplace_back(port, words[2], i);
  const int events = epoll_create1(0);
  for (size_t i = 0; i <= consumers.size(); ++i) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    epoll_ctl(events, EPOLL_CTL_ADD, i < consumers.size() ? consumers[i].socket() : 0, &event);
  }
  std::vector<uint8_t> buffer(1 << 20);
  size_t gone = 0;
  bool ready = false;
  for (;;) {
    epoll_event some[64];
    const int got = epoll_wait(events, some, 64, -1);
    for (int i = 0; i < got; ++i) {
      const size_t who = some[i].data.u64;
      if (who < consumers.size()) {
        if (!consumers[who].read(buffer.data(), buffer.size())) {
          epoll_ctl(events, EPOLL_CTL_DEL, consumers[who].socket(), nullptr);
          gone++;
        }
        continue;
      }
      char line[16] = {};
      if (::read(0, line, sizeof line - 1) <= 0) return 0;
      if (line[0] == 'r') {
        latenciesMs.clear();
        bytesRead = 0;
        for (Consumer& one : consumers) one.totals.frames = 0;
        continue;
      }
      int64_t all = 0, fewest = INT64_MAX;
      for (const Consumer& one : consumers) {
        all += one.totals.frames;
        fewest = std::min(fewest, one.totals.frames);
      }
      std::printf(
          "{\"frames\": %lld, \"fewest\": %lld, \"bytes\": %lld, \"gone\": %zu, \"p50Ms\": %.3f, \"p99Ms\": %.3f}\n",
          static_cast<long long>(all), static_cast<long long>(fewest), static_cast<long long>(bytesRead), gone,
          percentile(0.5), percentile(0.99));
      std::fflush(stdout);
    }
    if (!ready &&
        std::all_of(consumers.begin(), consumers.end(), [](const Consumer& one) { return one.totals.subscribed; })) {
      ready = true;
      std::puts("ready");
      std::fflush(stdout);
    }
  }
}
