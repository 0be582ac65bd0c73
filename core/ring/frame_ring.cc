// SPDX-License-Identifier: Apache-2.0
// The writer's side of a ring of frames; see frame_ring.h.
#include "frame_ring.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>

// Headers of older C libraries lack these.
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1U
#endif
#ifndef MFD_ALLOW_SEALING
#define MFD_ALLOW_SEALING 2U
#endif
#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_SEAL_SEAL 0x0001
#define F_SEAL_SHRINK 0x0002
#define F_SEAL_GROW 0x0004
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010  // Linux 5.1
#endif

namespace depthwatt {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMaxRingBytes = size_t{4} << 30;
constexpr int16_t kInvalidDisparity = INT16_MIN;

size_t wholePages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

uint64_t monotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

void wakeAll(uint32_t* word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

Status noMemory(size_t bytes, const char* call) {
  return Status::error(Code::kMemoryExhausted, "Expected %zu MB of shared memory, the system gave none (%s: %s).",
                       bytes / 1000000 + 1, call, std::strerror(errno));
}

void writeCounts(const int16_t* disparityQ4, size_t count, uint16_t* out) {
  for (size_t i = 0; i < count; ++i) {
    out[i] = disparityQ4[i] == kInvalidDisparity ? uint16_t{0} : static_cast<uint16_t>(disparityQ4[i] + 1);
  }
}

}  // namespace

Status FrameRing::open(uint32_t slots, size_t bodyBytes) {
  if (slots < 2 || slots > kMaxRingSlots || bodyBytes == 0 || bodyBytes > kMaxRingBytes / slots - 2 * kPage) {
    return Status::error(Code::kParameter,
                         "Expected 2 to %u slots and 1 byte to 4 GB in all, got %u slots of %zu bytes.", kMaxRingSlots,
                         slots, bodyBytes);
  }
  slots_ = slots;
  capacity_ = bodyBytes;
  slotBytes_ = wholePages(kSlotBodyOffset + bodyBytes);
  bytes_ = kRingHeaderBytes + slots * slotBytes_;
  const Status status = allocate();
  if (!status.ok()) {
    close();
    return status;
  }
  auto* header = reinterpret_cast<RingHeader*>(memory_);
  header->magic = kRingMagic;
  header->version = kRingVersion;
  header->slots = slots;
  header->bodyOffset = kSlotBodyOffset;
  header->slotBytes = slotBytes_;
  return Status();
}

Status FrameRing::allocate() {
  const int memory = static_cast<int>(syscall(SYS_memfd_create, "depthwatt", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory < 0) return noMemory(bytes_, "memfd_create");
  // All pages are allocated now: a page that is missing later would end the process with SIGBUS.
  const char* failed = nullptr;
  if (ftruncate(memory, static_cast<off_t>(bytes_)) != 0) failed = "ftruncate";
  else if (fallocate(memory, 0, 0, static_cast<off_t>(bytes_)) != 0) failed = "fallocate";
  void* mapped = failed ? MAP_FAILED : mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (!failed && mapped == MAP_FAILED) failed = "mmap";
  if (failed) {
    const Status status = noMemory(bytes_, failed);
    ::close(memory);
    return status;
  }
  memory_ = static_cast<uint8_t*>(mapped);
  // A kernel before 5.1 has no seal against writing, where only the read-only descriptor protects the memory.
  const int size = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (fcntl(memory, F_ADD_SEALS, size | F_SEAL_FUTURE_WRITE) != 0) fcntl(memory, F_ADD_SEALS, size);
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
  descriptor_ = ::open(path, O_RDONLY | O_CLOEXEC);
  const Status status = descriptor_ < 0 ? noMemory(bytes_, path) : Status();
  ::close(memory);
  return status;
}

Status FrameRing::publish(const uint8_t* header, size_t headerBytes, const void* body, size_t bodyBytes,
                          BodyForm form) {
  if (!isOpen()) return Status::error(Code::kFailed, "The ring of frames is closed.");
  if (headerBytes == 0 || headerBytes > kMaxMessageHeaderBytes || bodyBytes > capacity_) {
    return Status::error(Code::kParameter,
                         "Expected a header of 1 to %zu bytes and a body of at most %zu, got %zu and %zu.",
                         kMaxMessageHeaderBytes, capacity_, headerBytes, bodyBytes);
  }
  auto* ring = reinterpret_cast<RingHeader*>(memory_);
  const uint64_t number = ++published_;
  uint8_t* at = memory_ + kRingHeaderBytes + (number - 1) % slots_ * slotBytes_;
  auto* slot = reinterpret_cast<SlotHeader*>(at);
  __atomic_store_n(&slot->sequence, 2 * number + 1, __ATOMIC_RELAXED);
  // Readers that see any of the new bytes see the odd number as well.
  __atomic_thread_fence(__ATOMIC_RELEASE);
  const size_t offset = kSlotBodyOffset - headerBytes;
  slot->messageOffset = static_cast<uint32_t>(offset);
  slot->messageBytes = static_cast<uint32_t>(headerBytes + bodyBytes);
  std::memcpy(at + offset, header, headerBytes);
  if (form == BodyForm::kDisparityCounts) {
    writeCounts(static_cast<const int16_t*>(body), bodyBytes / 2, reinterpret_cast<uint16_t*>(at + kSlotBodyOffset));
  } else if (bodyBytes > 0) {  // An empty array may have no address.
    std::memcpy(at + kSlotBodyOffset, body, bodyBytes);
  }
  slot->publishedNs = monotonicNs();
  __atomic_store_n(&slot->sequence, 2 * number, __ATOMIC_RELEASE);
  __atomic_store_n(&ring->published, number, __ATOMIC_RELEASE);
  __atomic_fetch_add(&ring->wake, 1, __ATOMIC_RELEASE);
  wakeAll(&ring->wake);
  return Status();
}

Status FrameRing::offer(int socket, const uint8_t* reply, size_t replyBytes) const {
  if (!isOpen()) return Status::error(Code::kFailed, "The ring of frames is closed.");
  iovec part{const_cast<uint8_t*>(reply), replyBytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &descriptor_, sizeof(int));
  const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(replyBytes)) return Status();
  return Status::error(Code::kParameter, "Expected a connected Unix socket with room for a reply, got %s.",
                       sent < 0 ? std::strerror(errno) : "a full one");
}

void FrameRing::close() {
  if (memory_ != nullptr) {
    auto* ring = reinterpret_cast<RingHeader*>(memory_);
    __atomic_store_n(&ring->ended, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&ring->wake, 1, __ATOMIC_RELEASE);
    wakeAll(&ring->wake);
    munmap(memory_, bytes_);
  }
  if (descriptor_ >= 0) ::close(descriptor_);
  memory_ = nullptr;
  descriptor_ = -1;
}

}  // namespace depthwatt
