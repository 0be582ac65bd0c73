// SPDX-License-Identifier: Apache-2.0
// The sampling thread: allocates nothing after start(), parses numbers itself, keeps descriptors open.
#include "sampler.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <system_error>
#include <utility>

#include "nvml.h"

namespace depthwatt {
namespace {

int64_t nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

/// Parses a whole number with optional sign, followed only by white space or NUL, as the kernel prints it. Exact up to
/// 2^53, which a counter of microjoules reaches after 9 gigajoules.
bool parseWholeNumber(const char* text, size_t bytes, double* value) {
  size_t i = 0;
  while (i < bytes && (text[i] == ' ' || text[i] == '\t')) ++i;
  const bool negative = i < bytes && text[i] == '-';
  if (i < bytes && (text[i] == '-' || text[i] == '+')) ++i;
  const size_t firstDigit = i;
  double number = 0;
  for (; i < bytes && text[i] >= '0' && text[i] <= '9'; ++i) number = number * 10 + (text[i] - '0');
  if (i == firstDigit) return false;
  for (; i < bytes; ++i) {
    if (text[i] != '\n' && text[i] != ' ' && text[i] != '\0') return false;
  }
  *value = negative ? -number : number;
  return true;
}

int readNvml(const SampleSource& source, double* value) {
  const Nvml& nvml = Nvml::instance();
  switch (source.kind) {
    case SampleSource::Kind::kNvmlPower: return nvml.powerMilliwatts(source.device, value);
    case SampleSource::Kind::kNvmlPowerUsage: return nvml.powerUsageMilliwatts(source.device, value);
    default: return nvml.energyMillijoules(source.device, value);
  }
}

}  // namespace

Sampler::Sampler(std::vector<SampleSource> sources, int64_t periodNs, uint32_t capacityRows)
    : sources_(std::move(sources)), descriptors_(sources_.size(), -1), texts_(sources_.size() * kTextBytes),
      ring_(sources_.size() * capacityRows), periodNs_(periodNs), capacity_(capacityRows) {}

Sampler::~Sampler() { stop(); }

int Sampler::start() {
  timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  if (timer_ < 0) return errno;
  itimerspec period{};
  period.it_interval.tv_sec = periodNs_ / 1000000000;
  period.it_interval.tv_nsec = periodNs_ % 1000000000;
  period.it_value.tv_nsec = 1;
  if (timerfd_settime(timer_, 0, &period, nullptr) != 0) return errno;
  originNs_ = nanoseconds(CLOCK_MONOTONIC);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    return error.code().value();
  }
  pthread_setname_np(thread_.native_handle(), "dw-power");
  return 0;
}

void Sampler::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) {
    itimerspec now{};
    now.it_value.tv_nsec = 1;
    timerfd_settime(timer_, 0, &now, nullptr);
    thread_.join();
  }
  if (timer_ >= 0) close(timer_);
  timer_ = -1;
  for (int& descriptor : descriptors_) {
    if (descriptor >= 0) close(descriptor);
    descriptor = -1;
  }
}

void Sampler::run() {
  std::vector<Sample> row(sources_.size());
  while (!stopping_.load(std::memory_order_relaxed)) {
    uint64_t expirations = 0;
    if (read(timer_, &expirations, sizeof expirations) != sizeof expirations) {
      if (errno == EINTR) continue;
      break;
    }
    if (stopping_.load(std::memory_order_relaxed)) break;
    const int64_t awake = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    if (expirations > 1) missed_.fetch_add(expirations - 1, std::memory_order_relaxed);
    const int64_t beforeReads = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    const int64_t afterReads = tick(row.data());
    decode(row.data());
    const uint64_t written = written_.load(std::memory_order_relaxed);
    if (written - taken_.load(std::memory_order_acquire) >= capacity_) {
      overruns_.fetch_add(1, std::memory_order_relaxed);
    } else {
      Sample* slot = &ring_[(written % capacity_) * sources_.size()];
      for (size_t i = 0; i < row.size(); ++i) slot[i] = row[i];
      written_.store(written + 1, std::memory_order_release);
    }
    ticks_.fetch_add(1, std::memory_order_relaxed);
    const int64_t done = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    readNs_.fetch_add(afterReads - beforeReads, std::memory_order_relaxed);
    ownNs_.fetch_add(beforeReads - awake + done - afterReads, std::memory_order_relaxed);
    threadNs_.store(done, std::memory_order_relaxed);
  }
}

void Sampler::readFile(size_t source, Sample* sample) {
  int& descriptor = descriptors_[source];
  // Non-blocking, because stop() would also wait for the writer of a pipe.
  if (descriptor < 0) descriptor = open(sources_[source].path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    sample->status = errno;
    return;
  }
  char* text = &texts_[source * kTextBytes];
  const ssize_t bytes = pread(descriptor, text, kTextBytes, 0);
  if (bytes < 0) {
    sample->status = errno;
    // A device that was removed and came back has new files at the same path.
    close(descriptor);
    descriptor = -1;
    return;
  }
  sample->status = 0;
  sample->value = static_cast<double>(bytes);
}

int64_t Sampler::tick(Sample* row) {
  const int64_t begin = nanoseconds(CLOCK_MONOTONIC);
  int64_t before = begin;
  for (size_t i = 0; i < sources_.size(); ++i) {
    row[i].value = 0;
    row[i].status = 0;
    if (sources_[i].kind == SampleSource::Kind::kFile) {
      readFile(i, &row[i]);
    } else if (const int status = readNvml(sources_[i], &row[i].value); status != 0) {
      row[i].status = kNvmlStatus + status;
    }
    const int64_t after = nanoseconds(CLOCK_MONOTONIC);
    row[i].beforeNs = static_cast<double>(before - originNs_);
    row[i].afterNs = static_cast<double>(after - originNs_);
    before = after;
  }
  const int64_t threadNow = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  if (before - begin > slowestNs_.load(std::memory_order_relaxed)) slowestNs_.store(before - begin);
  return threadNow;
}

void Sampler::decode(Sample* row) {
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].kind != SampleSource::Kind::kFile || row[i].status != 0) continue;
    const auto bytes = static_cast<size_t>(row[i].value);
    if (!parseWholeNumber(&texts_[i * kTextBytes], bytes, &row[i].value)) row[i].status = kNotANumber;
  }
}

uint32_t Sampler::drain(Sample* out, uint32_t rows) {
  const uint64_t taken = taken_.load(std::memory_order_relaxed);
  const uint64_t ready = written_.load(std::memory_order_acquire) - taken;
  const uint32_t count = ready < rows ? static_cast<uint32_t>(ready) : rows;
  for (uint32_t i = 0; i < count; ++i) {
    const Sample* slot = &ring_[((taken + i) % capacity_) * sources_.size()];
    for (size_t j = 0; j < sources_.size(); ++j) out[i * sources_.size() + j] = slot[j];
  }
  taken_.store(taken + count, std::memory_order_release);
  return count;
}

SamplerCost Sampler::cost() const {
  SamplerCost cost{};
  cost.wallNs = nanoseconds(CLOCK_MONOTONIC) - originNs_;
  cost.readNs = readNs_.load(std::memory_order_relaxed);
  cost.ownNs = ownNs_.load(std::memory_order_relaxed);
  cost.timerNs = threadNs_.load(std::memory_order_relaxed) - cost.readNs - cost.ownNs;
  cost.ticks = ticks_.load(std::memory_order_relaxed);
  cost.missedTicks = missed_.load(std::memory_order_relaxed);
  cost.overruns = overruns_.load(std::memory_order_relaxed);
  cost.slowestReadNs = slowestNs_.load(std::memory_order_relaxed);
  return cost;
}

}  // namespace depthwatt
