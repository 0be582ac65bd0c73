// SPDX-License-Identifier: Apache-2.0
// Runs two tasks in parallel if the system provides a thread, else one after the other.
#pragma once

#include <exception>
#include <system_error>
#include <thread>

namespace depthwatt {
namespace scene {

/// Runs work(0) here and work(1) on another thread. Returns when both are done, and rethrows their exceptions.
template <class Work>
void both(Work&& work) {
  std::exception_ptr failures[2];
  const auto guarded = [&](int which) {
    try {
      work(which);
    } catch (...) {
      failures[which] = std::current_exception();
    }
  };
  std::thread other;
  try {
    other = std::thread(guarded, 1);
  } catch (const std::system_error&) {
    guarded(1);
  }
  guarded(0);
  if (other.joinable()) other.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure != nullptr) std::rethrow_exception(failure);
  }
}

}  // namespace scene
}  // namespace depthwatt
