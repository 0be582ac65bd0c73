// SPDX-License-Identifier: Apache-2.0
// Scalar functions for the stages' vector code. It must not use standard templates: the linker could keep an instance
// of std::min that was compiled for AVX2 and use it on every CPU.

namespace {

template <class T>
constexpr T lesser(T a, T b) {
  return b < a ? b : a;
}

template <class T>
constexpr T greater(T a, T b) {
  return a < b ? b : a;
}

/// Keeps the compiler from extracting single elements of a stored vector from the register, which takes several times
/// as long as reading them from memory.
template <class T>
[[gnu::always_inline]] inline void readFromMemory(T& stored) {
  asm volatile("" : "+m"(stored));
}

/// Returns an address that the compiler computes once, and to which it then adds constants.
template <class T>
[[gnu::always_inline]] inline T* settled(T* address) {
  asm("" : "+r"(address));
  return address;
}

template <int32_t kFrom, int32_t kEnd, class Body>
[[gnu::always_inline]] inline void unrolled(Body& body) {
  if constexpr (kFrom < kEnd) {
    body(kFrom);
    unrolled<kFrom + 1, kEnd>(body);
  }
}

/// Calls body(0) to body(kCount - 1) without a loop, so that arrays they index become registers. kCount 0: a loop to
/// `count`.
template <int32_t kCount, class Body>
[[gnu::always_inline]] inline void forEach(int32_t count, Body&& body) {
  if constexpr (kCount == 0) {
    for (int32_t i = 0; i < count; ++i) body(i);
  } else {
    unrolled<0, kCount>(body);
  }
}

}  // namespace
