// SPDX-License-Identifier: Apache-2.0
// Reads files and NVML quantities on a separate thread, by its own timer, into a ring that JavaScript empties. A slow
// bus delays only this thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace depthwatt {

/// One number to read at every tick.
struct SampleSource {
  enum class Kind { kFile, kNvmlPower, kNvmlPowerUsage, kNvmlEnergy };
  Kind kind = Kind::kFile;
  std::string path;     ///< kFile
  uint32_t device = 0;  ///< NVML's index
};

/// The result of one source at one tick. Times are CLOCK_MONOTONIC nanoseconds after the sampler's origin.
struct Sample {
  double beforeNs;
  double afterNs;
  double value;
  double status;  ///< 0 = read; 1 to 999 = errno; kNotANumber; kNvmlStatus + NVML's number
};
constexpr double kNotANumber = -1;
constexpr double kNvmlStatus = 1000;

/// CPU time of the sampling thread since its start, nanoseconds.
struct SamplerCost {
  int64_t wallNs;
  int64_t readNs;   ///< inside the reads: kernel and bus driver (or NVML)
  int64_t ownNs;    ///< between system calls: an upper bound of user time, including the measuring calls
  int64_t timerNs;  ///< the rest: the timer's system call, waking up and switching
  uint64_t ticks;
  uint64_t missedTicks;   ///< timer expirations during a read
  uint64_t overruns;      ///< rows lost because the ring was full
  int64_t slowestReadNs;  ///< wall time of the slowest tick
};

class Sampler {
 public:
  Sampler(std::vector<SampleSource> sources, int64_t periodNs, uint32_t capacityRows);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// Starts the thread. Returns 0 or the errno of the timer or thread that could not be created.
  int start();
  void stop();

  /// Copies at most `rows` rows of sources() samples each, oldest first. Returns how many. One reader only.
  uint32_t drain(Sample* out, uint32_t rows);

  size_t sources() const { return sources_.size(); }
  int64_t originNs() const { return originNs_; }
  SamplerCost cost() const;

 private:
  static constexpr size_t kTextBytes = 32;
  void run();
  /// Reads every source once. Returns the thread's CPU time right after the last read.
  int64_t tick(Sample* row);
  void decode(Sample* row);
  void readFile(size_t source, Sample* sample);

  std::vector<SampleSource> sources_;
  std::vector<int> descriptors_;
  std::vector<char> texts_;
  std::vector<Sample> ring_;
  int64_t periodNs_;
  uint32_t capacity_;
  int64_t originNs_ = 0;
  int timer_ = -1;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> taken_{0};
  std::atomic<int64_t> threadNs_{0};
  std::atomic<int64_t> readNs_{0};
  std::atomic<int64_t> ownNs_{0};
  std::atomic<int64_t> slowestNs_{0};
  std::atomic<uint64_t> ticks_{0};
  std::atomic<uint64_t> missed_{0};
  std::atomic<uint64_t> overruns_{0};
};

}  // namespace depthwatt
