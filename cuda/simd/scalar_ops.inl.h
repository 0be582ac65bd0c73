// SPDX-License-Identifier: Apache-2.0
// Small scalar functions for the stages' vector code. Standard templates are out there: an instance of std::min compiled for
// AVX2 could be the copy that the linker keeps for everybody.

namespace {

template <class T>
constexpr T lesser(T a, T b) {
  return b < a ? b : a;
}

template <class T>
constexpr T greater(T a, T b) {
  return a < b ? b : a;
}

/// Elements of what was just stored are read back one by one: without this the compiler takes them out of the register,
/// which is several times as long.
template <class T>
[[gnu::always_inline]] inline void readFromMemory(T& stored) {
  asm volatile("" : "+m"(stored));
}

/// An address worked out once: the compiler then adds constants to it instead of working each one out anew.
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

/// body(0) to body(kCount - 1) without a loop, so that arrays they index become registers; kCount 0: a loop to `count`.
template <int32_t kCount, class Body>
[[gnu::always_inline]] inline void forEach(int32_t count, Body&& body) {
  if constexpr (kCount == 0) {
    for (int32_t i = 0; i < count; ++i) body(i);
  } else {
    unrolled<0, kCount>(body);
  }
}

}  // namespace
