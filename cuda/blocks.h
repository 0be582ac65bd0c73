// SPDX-License-Identifier: Apache-2.0
// The blocks of pixels with one confidence limit each. One stage computes the limit, another one applies it.
#pragma once

#include <cstdint>

namespace depthwatt {

constexpr int32_t kBlockColumns = 8, kBlockRows = 4;

constexpr int32_t blockColumnCount(int32_t width) { return (width + kBlockColumns - 1) / kBlockColumns; }
constexpr int32_t blockRowCount(int32_t height) { return (height + kBlockRows - 1) / kBlockRows; }

}  // namespace depthwatt
