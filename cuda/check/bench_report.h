// SPDX-License-Identifier: Apache-2.0
// The result file of a timing program: the machine it ran on, then its rows.
#pragma once

#include <cuda_runtime.h>

#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <string>

#include "../device/check.h"
#include "program.h"

namespace depthwatt {

class Report {
 public:
  Report(const char* path, const char* commit) {
    if (!cudaStatus(cudaGetDeviceProperties(&properties_, 0), "device").ok()) fail("there is no CUDA device");
    int runtime = 0, driver = 0;
    cudaRuntimeGetVersion(&runtime);
    cudaDriverGetVersion(&driver);
    file_ = std::fopen(path, "w");
    if (file_ == nullptr) fail(std::string("cannot write ") + path);
    char date[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    std::fprintf(
        file_,
        "{\"machine\": \"%s\", \"commit\": \"%s\", \"date\": \"%s\", \"toolchain\": \"CUDA runtime %d, driver %d\", "
        "\"powerMode\": \"default\", \"clocks\": \"not locked\", \"load\": \"nothing else on the card\",\n"
        " \"cacheBytes\": %d,\n \"rows\": [",
        properties_.name, commit, date, runtime, driver, properties_.l2CacheSize);
  }
  ~Report() {
    std::fprintf(file_, "\n ]}\n");
    std::fclose(file_);
  }
  /// Returns the multiprocessors of a partition of `sms`, 0 = all.
  int multiprocessors(int sms) const { return sms == 0 ? properties_.multiProcessorCount : sms; }

  /// Adds the fields of a row, each `"name": value`, after its kind.
#if defined(__GNUC__)
  __attribute__((format(printf, 2, 3)))
#endif
  void row(const char* format, ...) {
    std::fprintf(file_, "%s\n  {\"kind\": \"measured\", ", first_ ? "" : ",");
    first_ = false;
    va_list arguments;
    va_start(arguments, format);
    std::vfprintf(file_, format, arguments);
    va_end(arguments);
    std::fprintf(file_, "}");
    std::fflush(file_);  // keep the rows measured before a failure
  }

 private:
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  cudaDeviceProp properties_;
  std::FILE* file_;
  bool first_ = true;
};

}  // namespace depthwatt
