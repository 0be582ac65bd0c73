// SPDX-License-Identifier: Apache-2.0
// Shared by the comparison programs: random numbers, device images, and the comparison that reports the first mismatch.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "../device/device_buffer.h"
#include "program.h"

namespace depthwatt {

struct Random {
  std::mt19937 engine;
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine); }
  template <class T>
  void fill(std::vector<T>& values, int low, int high) {
    for (T& value : values) value = static_cast<T>(whole(low, high));
  }
};

inline void require(const Status& status, const std::string& what) {
  if (!status.ok()) fail(what + ": " + status.message);
}

template <class T>
std::vector<T> fetched(const DeviceBuffer<T>& buffer) {
  std::vector<T> values(buffer.bytes() / sizeof(T));
  require(cudaStatus(cudaMemcpy(values.data(), buffer.get(), buffer.bytes(), cudaMemcpyDeviceToHost), "copy back"),
          "copy");
  return values;
}

template <class T>
void upload(DeviceBuffer<T>& buffer, const std::vector<T>& values) {
  require(buffer.allocate(values.size()), "allocate");
  require(cudaStatus(cudaMemcpy(buffer.get(), values.data(), buffer.bytes(), cudaMemcpyHostToDevice), "copy"), "copy");
}

template <class T>
void expectSame(const std::vector<T>& reference, const std::vector<T>& got, int width, const std::string& what) {
  for (size_t i = 0; i < reference.size(); ++i) {
    if (reference[i] != got[i]) {
      fail(what + ": first mismatch at x " + std::to_string(i % width) + ", y " + std::to_string(i / width) +
           ": reference " + std::to_string(reference[i]) + ", got " + std::to_string(got[i]));
    }
  }
}

struct Case {
  int width, height;
  std::string name;
};

}  // namespace depthwatt
