// SPDX-License-Identifier: Apache-2.0
// Compares the sampling of NVML with NVML's energy counter, without Node: integrates power readings over a minute.
// Writes every sample, so that the meter can be tested with the same record.
//   g++ -std=c++17 -O2 -Wall power/tools/nvml_check_main.cc power/native/nvml.cc power/native/sampler.cc -ldl -pthread -o nvml-check
//   ./nvml-check [--seconds 60] [--rate 100] [--device 0] [--out samples.csv]
// Exit status: 0 both agree within 2 %, 1 they do not, 3 NVML or its counter is missing, 2 usage.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../native/nvml.h"
#include "../native/sampler.h"

namespace {

using depthwatt::Nvml;
using depthwatt::Sample;
using depthwatt::Sampler;
using depthwatt::SampleSource;

constexpr double kAllowedShare = 0.02;

struct Options {
  double seconds = 60;
  double rateHz = 100;
  uint32_t device = 0;
  std::string out;
};

bool parse(int count, char** words, Options* options) {
  for (int i = 1; i + 1 < count; i += 2) {
    const char* value = words[i + 1];
    if (std::strcmp(words[i], "--seconds") == 0) options->seconds = std::atof(value);
    else if (std::strcmp(words[i], "--rate") == 0) options->rateHz = std::atof(value);
    else if (std::strcmp(words[i], "--device") == 0) options->device = static_cast<uint32_t>(std::atoi(value));
    else if (std::strcmp(words[i], "--out") == 0) options->out = value;
    else return false;
  }
  return count % 2 == 1 && options->seconds >= 1 && options->rateHz >= 1 && options->rateHz <= 1000;
}

/// Three quantities, read in order at every tick.
enum Column { kInstant, kUsage, kEnergy, kColumns };

/// Integrates the valid readings of one column by trapezoids, joules; times are the middles of the reads.
double integrate(const std::vector<Sample>& samples, Column column) {
  double joules = 0;
  const Sample* last = nullptr;
  for (size_t i = column; i < samples.size(); i += kColumns) {
    const Sample& now = samples[i];
    if (now.status != 0) continue;
    if (last != nullptr) {
      const double gapNs = (now.beforeNs + now.afterNs - last->beforeNs - last->afterNs) / 2;
      joules += gapNs * 1e-9 * (now.value + last->value) / 2 * 1e-3;
    }
    last = &now;
  }
  return joules;
}

const Sample* edge(const std::vector<Sample>& samples, Column column, bool first) {
  const Sample* found = nullptr;
  for (size_t i = column; i < samples.size(); i += kColumns) {
    if (samples[i].status != 0) continue;
    found = &samples[i];
    if (first) break;
  }
  return found;
}

/// Returns how often a column's value changed: the GPU's real update period.
double renewalMs(const std::vector<Sample>& samples, Column column) {
  size_t changes = 0;
  for (size_t i = column + kColumns; i < samples.size(); i += kColumns) {
    if (samples[i].value != samples[i - kColumns].value) ++changes;
  }
  const double spanMs = samples.empty() ? 0 : (samples.back().afterNs - samples.front().beforeNs) * 1e-6;
  return changes == 0 ? NAN : spanMs / static_cast<double>(changes);
}

bool writeCsv(const std::string& path, const std::vector<Sample>& samples) {
  FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  std::fprintf(file, "time_ns,power_instant_mw,power_usage_mw,energy_mj\n");
  for (size_t i = 0; i + kColumns <= samples.size(); i += kColumns) {
    const Sample* row = &samples[i];
    std::fprintf(file, "%.0f", (row[kInstant].beforeNs + row[kInstant].afterNs) / 2);
    for (int column = 0; column < kColumns; ++column) {
      if (row[column].status == 0) std::fprintf(file, ",%.0f", row[column].value);
      else std::fprintf(file, ",");
    }
    std::fprintf(file, "\n");
  }
  return std::fclose(file) == 0;
}

std::vector<Sample> record(const Options& options, depthwatt::SamplerCost* cost, int* error) {
  std::vector<SampleSource> sources(kColumns);
  sources[kInstant].kind = SampleSource::Kind::kNvmlPower;
  sources[kUsage].kind = SampleSource::Kind::kNvmlPowerUsage;
  sources[kEnergy].kind = SampleSource::Kind::kNvmlEnergy;
  for (SampleSource& source : sources) source.device = options.device;
  Sampler sampler(std::move(sources), static_cast<int64_t>(1e9 / options.rateHz), 4096);
  std::vector<Sample> samples;
  *error = sampler.start();
  if (*error != 0) return samples;
  std::vector<Sample> batch(4096 * kColumns);
  for (double passed = 0; passed < options.seconds; passed += 0.25) {
    usleep(250000);
    const uint32_t rows = sampler.drain(batch.data(), 4096);
    samples.insert(samples.end(), batch.begin(), batch.begin() + rows * kColumns);
  }
  *cost = sampler.cost();
  return samples;
}

}  // namespace

int main(int count, char** words) {
  Options options;
  if (!parse(count, words, &options)) {
    std::fprintf(stderr, "usage: nvml-check [--seconds N] [--rate HZ] [--device N] [--out FILE]\n");
    return 2;
  }
  Nvml& nvml = Nvml::instance();
  if (const char* problem = nvml.open()) {
    std::fprintf(stderr, "error: %s\n", problem);
    return 3;
  }
  char name[96] = "";
  if (options.device >= nvml.deviceCount() || nvml.deviceName(options.device, name, sizeof name) != 0) {
    std::fprintf(stderr, "error: NVML shows no GPU %u\n", options.device);
    return 3;
  }
  depthwatt::SamplerCost cost{};
  int error = 0;
  const std::vector<Sample> samples = record(options, &cost, &error);
  const Sample* first = edge(samples, kEnergy, true);
  const Sample* last = edge(samples, kEnergy, false);
  if (error != 0 || first == nullptr || first == last) {
    std::fprintf(stderr, "error: no energy counter was read (errno %d)\n", error);
    return 3;
  }
  if (!options.out.empty() && !writeCsv(options.out, samples)) {
    std::fprintf(stderr, "error: %s cannot be written\n", options.out.c_str());
    return 3;
  }
  const double counter = (last->value - first->value) * 1e-3;
  const double instant = integrate(samples, kInstant);
  const double usage = integrate(samples, kUsage);
  const double seconds = (last->afterNs - first->beforeNs) * 1e-9;
  const double wall = cost.wallNs * 1e-2;
  std::printf(
      "{\"gpu\":\"%s\",\"driver\":\"%s\",\"seconds\":%.3f,\"rows\":%zu,\"counterJoules\":%.3f,"
      "\"instantJoules\":%.3f,\"instantPercent\":%.3f,\"usageJoules\":%.3f,\"usagePercent\":%.3f,\"meanWatts\":%.3f,"
      "\"renewalMs\":{\"instant\":%.1f,\"usage\":%.1f,\"energy\":%.1f},"
      "\"cost\":{\"ownPercent\":%.4f,\"nvmlPercent\":%.4f,\"timerPercent\":%.4f,\"missedTicks\":%llu,\"overruns\":%llu,"
      "\"slowestReadMs\":%.3f}}\n",
      name, nvml.driverVersion(), seconds, samples.size() / kColumns, counter, instant, 100 * (instant / counter - 1),
      usage, 100 * (usage / counter - 1), counter / seconds, renewalMs(samples, kInstant), renewalMs(samples, kUsage),
      renewalMs(samples, kEnergy), cost.ownNs / wall, cost.readNs / wall, cost.timerNs / wall,
      static_cast<unsigned long long>(cost.missedTicks), static_cast<unsigned long long>(cost.overruns),
      cost.slowestReadNs * 1e-6);
  return std::fabs(instant / counter - 1) <= kAllowedShare ? 0 : 1;
}
