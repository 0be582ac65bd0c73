// SPDX-License-Identifier: Apache-2.0
// A view of an image that another object owns: x to the right, y down, rows strideBytes apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace depthwatt {

template <class T>
struct ImageView {
  T* data = nullptr;
  int32_t width = 0;       ///< pixels
  int32_t height = 0;      ///< pixels
  size_t strideBytes = 0;  ///< at least width * sizeof(T)

  // Always inlined: the linker must not share a copy that was compiled for one instruction set.
  [[gnu::always_inline]] T* row(int32_t y) const {
    using Byte = std::conditional_t<std::is_const<T>::value, const uint8_t, uint8_t>;
    return reinterpret_cast<T*>(reinterpret_cast<Byte*>(data) + static_cast<size_t>(y) * strideBytes);
  }
  ImageView<const T> asConst() const { return {data, width, height, strideBytes}; }
};

/// Returns a view of contiguous rows.
template <class T>
ImageView<T> packedView(T* data, int32_t width, int32_t height) {
  return {data, width, height, static_cast<size_t>(width) * sizeof(T)};
}

/// A colour pixel of three bytes, in memory order.
struct Rgb8 {
  uint8_t red, green, blue;
};
static_assert(sizeof(Rgb8) == 3, "three bytes, nothing between them");

/// The invalid value of a disparity image, in disparityQ4 and in whole pixels.
constexpr int16_t kInvalidDisparity = -32768;

}  // namespace depthwatt
