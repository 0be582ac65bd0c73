// SPDX-License-Identifier: Apache-2.0
// How the check's programs end on an error.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace depthwatt {

[[noreturn]] inline void fail(const std::string& what) {
  std::printf("FAILED: %s\n", what.c_str());
  std::exit(1);
}

}  // namespace depthwatt
