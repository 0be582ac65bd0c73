// SPDX-License-Identifier: Apache-2.0
// A ring of frames in memory that other processes map read-only. The writer never waits: it overwrites the oldest slot,
// and readers notice by the slot's sequence number. clients/cpp/depthwatt_shared.h reads it; docs/reference/shared-memory.md
// has the layout.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../status.h"

namespace depthwatt {

constexpr uint32_t kRingMagic = 0x47525744;  ///< "DWRG"
constexpr uint16_t kRingVersion = 1;
constexpr size_t kRingHeaderBytes = 4096;
constexpr uint32_t kMaxRingSlots = 64;
/// The body of every message begins here in its slot, so that it is aligned for vector code.
constexpr size_t kSlotBodyOffset = 256;
constexpr size_t kMaxMessageHeaderBytes = kSlotBodyOffset - 64;

/// The first bytes of the memory. Readers wait with FUTEX_WAIT while `wake` keeps its value.
struct RingHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t reserved;
  uint32_t slots;
  uint32_t bodyOffset;
  uint64_t slotBytes;
  uint8_t unused[40];
  uint32_t wake;       ///< changes with each frame and at the end
  uint32_t ended;      ///< 1: no frame follows
  uint64_t published;  ///< frames so far; frame n (from 1) is in slot (n - 1) % slots
};
static_assert(sizeof(RingHeader) == 80, "part of the layout that readers know");

/// The first bytes of a slot.
struct SlotHeader {
  uint64_t sequence;  ///< 2 n + 1 while frame n is written, then 2 n
  uint64_t publishedNs;
  uint32_t messageOffset;
  uint32_t messageBytes;
};
static_assert(sizeof(SlotHeader) == 24, "part of the layout that readers know");

enum class BodyForm { kCopy, kDisparityCounts };

class FrameRing {
 public:
  FrameRing() = default;
  FrameRing(const FrameRing&) = delete;
  FrameRing& operator=(const FrameRing&) = delete;
  ~FrameRing() { close(); }

  /// Allocates all memory. Fails with kMemoryExhausted if the system has too little.
  /// @param bodyBytes size of the largest body
  Status open(uint32_t slots, size_t bodyBytes);

  /// Writes one message into the oldest slot and wakes the readers.
  /// @param form kDisparityCounts: the body is disparityQ4, and is written as disparityQ4 + 1 with 0 = invalid
  Status publish(const uint8_t* header, size_t headerBytes, const void* body, size_t bodyBytes, BodyForm form);

  /// Sends `reply` over a Unix socket, with a descriptor of the memory that can only be read.
  Status offer(int socket, const uint8_t* reply, size_t replyBytes) const;

  /// Marks the ring as ended, wakes the readers and unmaps the memory. Readers keep theirs.
  void close();

  bool isOpen() const { return memory_ != nullptr; }
  uint64_t published() const { return published_; }
  size_t mappedBytes() const { return bytes_; }
  size_t bodyCapacity() const { return capacity_; }

 private:
  Status allocate();

  uint8_t* memory_ = nullptr;
  size_t bytes_ = 0, slotBytes_ = 0, capacity_ = 0;
  uint32_t slots_ = 0;
  uint64_t published_ = 0;
  int descriptor_ = -1;  ///< the one for readers
};

}  // namespace depthwatt
