// SPDX-License-Identifier: Apache-2.0
// Runs the power readers without Node, for sanitizers: NVML from any library found, and a sampler of it and of files,
// drained by one thread while others read the same GPUs. Arguments: milliseconds, files to sample. Prints the number of
// readings and rows.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "power/native/nvml.h"
#include "power/native/sampler.h"

using namespace depthwatt;
using Clock = std::chrono::steady_clock;

namespace {

void readAll(const Nvml& nvml, uint32_t device, int64_t* readings) {
  // Heap blocks of the exact size, so that a sanitizer detects an extra byte.
  for (const uint32_t bytes : {1u, 7u, 96u}) {
    const std::unique_ptr<char[]> text(new char[bytes]);
    nvml.deviceName(device, text.get(), bytes);
    if (std::strlen(text.get()) >= bytes) std::abort();
    nvml.deviceUuid(device, text.get(), bytes);
    if (std::strlen(text.get()) >= bytes) std::abort();
  }
  using Reader = int (Nvml::*)(uint32_t, double*) const;
  const Reader readers[] = {&Nvml::powerMilliwatts,  &Nvml::powerUsageMilliwatts, &Nvml::energyMillijoules,
                            &Nvml::smClockMegahertz, &Nvml::memoryClockMegahertz, &Nvml::temperatureCelsius,
                            &Nvml::throttleReasons};
  for (const Reader reader : readers) {
    double value = 0;
    const int status = (nvml.*reader)(device, &value);
    if (value < 0) std::abort();
    if (nvml.errorText(status) == nullptr) std::abort();
    ++*readings;
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return 2;
  const auto end = Clock::now() + std::chrono::milliseconds(std::atoi(words[1]));
  Nvml& nvml = Nvml::instance();
  bool there = false;
  for (int i = 0; i < 1000 && !there; ++i) {
    const char* problem = nvml.open();
    there = problem == nullptr;
    if (!there && std::strlen(problem) == 0) std::abort();
  }
  const uint32_t devices = there ? nvml.deviceCount() : 0;
  if (there && std::strlen(nvml.driverVersion()) > 95) std::abort();
  int64_t readings = 0, rows = 0, rounds = 0;
  while (Clock::now() < end) {
    std::vector<SampleSource> sources;
    for (int i = 2; i < count; ++i) sources.push_back({SampleSource::Kind::kFile, words[i], 0});
    for (uint32_t i = 0; i < devices; ++i)
      for (const auto kind :
           {SampleSource::Kind::kNvmlPower, SampleSource::Kind::kNvmlPowerUsage, SampleSource::Kind::kNvmlEnergy})
        sources.push_back({kind, "", i});
    const size_t each = sources.size();
    Sampler sampler(std::move(sources), 200'000, 16);
    if (sampler.start() != 0) std::abort();
    std::atomic<bool> stop{false};
    int64_t nvmlReadings = 0;
    std::thread reader([&] {
      while (!stop)
        for (uint32_t i = 0; i < devices; ++i) readAll(nvml, i, &nvmlReadings);
    });
    std::vector<Sample> out(each * 5);
    for (int i = 0; i < 30; ++i) {
      rows += sampler.drain(out.data(), 5);
      const SamplerCost cost = sampler.cost();
      if (cost.wallNs < 0) std::abort();
      std::this_thread::sleep_for(std::chrono::microseconds(700));
    }
    // Stop while the ring is full, and while it is empty.
    if (rounds % 2) rows += sampler.drain(out.data(), 5);
    sampler.stop();
    stop = true;
    reader.join();
    readings += nvmlReadings;
    rounds++;
  }
  std::printf("%lld readings of %u GPUs, %lld rows, %lld samplers\n", static_cast<long long>(readings), devices,
              static_cast<long long>(rows), static_cast<long long>(rounds));
  return 0;
}
