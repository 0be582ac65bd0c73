// SPDX-License-Identifier: Apache-2.0
// Reads depthwatt's frames from shared memory (docs/reference/shared-memory.md), without a copy. C99 or C++ with GCC or Clang on
// Linux; one file, no library. depthwatt_frame.h reads the header of a message (Integrity::sequence).
//
//   depthwatt_shared reader;
//   char error[200];
//   if (depthwatt_shared_open(&reader, "/run/depthwatt/frames.sock", DEPTHWATT_DEPTH, 1000, error, sizeof error) != 0) exit(1);
//   depthwatt_shared_frame frame;
//   while (depthwatt_shared_wait(&reader, 1000, &frame) >= 0) {
//     if (frame.message == NULL) continue;                  // no frame within 1000 ms
//     use(frame.message, frame.bytes);
//     if (!depthwatt_shared_intact(&frame)) discard();      // it was overwritten during use
//   }
//   depthwatt_shared_close(&reader);
//
// The memory is read-only. Frames are never queued: wait() returns the newest one.
#ifndef DEPTHWATT_SHARED_H
#define DEPTHWATT_SHARED_H

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DEPTHWATT_DEPTH = 1, DEPTHWATT_DISPARITY, DEPTHWATT_CONFIDENCE, DEPTHWATT_LEFT, DEPTHWATT_POINTS };

typedef struct {
  int socket;
  const unsigned char* memory; /* the whole mapping */
  size_t bytes;
  uint32_t slots;
  uint64_t slot_bytes;
  uint64_t last; /* number of the frame that wait() returned */
} depthwatt_shared;

typedef struct {
  const unsigned char* message; /* header and body; NULL: there is none */
  size_t bytes;
  uint64_t number;       /* counts the frames of the ring from 1 */
  uint64_t missed;       /* frames since the one before that this reader has not seen */
  uint64_t published_ns; /* CLOCK_MONOTONIC when the frame was complete */
  const unsigned char* slot;
} depthwatt_shared_frame;

enum { DEPTHWATT_SHARED_RING_BYTES = 4096, DEPTHWATT_SHARED_REPLY_BYTES = 16, DEPTHWATT_SHARED_LOOK_MS = 200 };

static inline uint32_t depthwatt_shared_u32(const unsigned char* at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static inline uint64_t depthwatt_shared_u64(const unsigned char* at) {
  uint64_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static inline int64_t depthwatt_shared_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline void depthwatt_shared_close(depthwatt_shared* reader) {
  if (reader->memory != NULL) munmap((void*)reader->memory, reader->bytes);
  if (reader->socket >= 0) close(reader->socket);
  reader->memory = NULL;
  reader->socket = -1;
}

static inline int depthwatt_shared_fail(depthwatt_shared* reader, char* error, size_t room, const char* text,
                                        int number) {
  if (room > 0) {
    if (number != 0) snprintf(error, room, "%.100s: %s", text, strerror(number));
    else snprintf(error, room, "%.150s", text);
  }
  depthwatt_shared_close(reader);
  return -1;
}

/* Receives the reply and the descriptor that came with it, -1 if none did. Returns the bytes of the reply, -1 for an error. */
static inline ssize_t depthwatt_shared_receive(int socket, unsigned char* reply, size_t room, int* descriptor) {
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr aligned;
  } control;
  struct iovec part;
  struct msghdr message;
  struct cmsghdr* rights;
  ssize_t received;
  *descriptor = -1;
  part.iov_base = reply;
  part.iov_len = room;
  memset(&message, 0, sizeof message);
  memset(&control, 0, sizeof control);
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (received < 0) return -1;
  rights = CMSG_FIRSTHDR(&message);
  if (rights != NULL && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
      rights->cmsg_len == CMSG_LEN(sizeof(int)))
    memcpy(descriptor, CMSG_DATA(rights), sizeof(int));
  return received;
}

/* Maps the memory of a descriptor, after checks that no later access can leave it. */
static inline const char* depthwatt_shared_map(depthwatt_shared* reader, int descriptor) {
  struct stat about;
  void* memory;
  /* F_GET_SEALS and F_SEAL_SHRINK: memory that can shrink could end this process with SIGBUS. */
  const int seals = (int)syscall(SYS_fcntl, descriptor, 1034, 0);
  if (seals < 0 || (seals & 2) == 0) return "expected memory that is sealed against shrinking";
  if (fstat(descriptor, &about) != 0 || about.st_size < DEPTHWATT_SHARED_RING_BYTES) return "expected a ring of frames";
  memory = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return "the memory could not be mapped";
  reader->memory = (const unsigned char*)memory;
  reader->bytes = (size_t)about.st_size;
  reader->slots = depthwatt_shared_u32(reader->memory + 8);
  reader->slot_bytes = depthwatt_shared_u64(reader->memory + 16);
  if (memcmp(reader->memory, "DWRG\1\0", 6) != 0) return "expected a ring of frames of version 1";
  if (reader->slots < 1 || reader->slots > 64 || reader->slot_bytes < 64 || reader->slot_bytes % 64 != 0 ||
      reader->slot_bytes > (reader->bytes - DEPTHWATT_SHARED_RING_BYTES) / reader->slots)
    return "expected 1 to 64 slots within the memory";
  return NULL;
}

/* Connects and asks for a stream. Returns 0, or -1 with a sentence in `error`. */
static inline int depthwatt_shared_connect(depthwatt_shared* reader, const char* path, int stream, int timeout_ms,
                                           char* error, size_t error_room) {
  struct sockaddr_un address;
  struct timeval limit;
  unsigned char request[8] = {'D', 'W', 'S', 'M', 1, 0, 0, 0};
  reader->socket = -1;
  reader->memory = NULL;
  reader->last = 0;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address.sun_path)
    return depthwatt_shared_fail(reader, error, error_room, "the path of the socket is too long", 0);
  memcpy(address.sun_path, path, strlen(path));
  reader->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (reader->socket < 0) return depthwatt_shared_fail(reader, error, error_room, "no socket", errno);
  limit.tv_sec = timeout_ms / 1000;
  limit.tv_usec = timeout_ms % 1000 * 1000;
  setsockopt(reader->socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(reader->socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (connect(reader->socket, (struct sockaddr*)&address, sizeof address) != 0)
    return depthwatt_shared_fail(reader, error, error_room, path, errno);
  request[6] = (unsigned char)stream;
  if (send(reader->socket, request, sizeof request, MSG_NOSIGNAL) != (ssize_t)sizeof request)
    return depthwatt_shared_fail(reader, error, error_room, "the request could not be sent", errno);
  return 0;
}

/* Waits for the reply, which comes with the next frame, and maps the memory. Returns 0, or -1 with a sentence in `error`. */
static inline int depthwatt_shared_accept(depthwatt_shared* reader, char* error, size_t error_room) {
  unsigned char reply[DEPTHWATT_SHARED_REPLY_BYTES + 256];
  int descriptor;
  const char* problem;
  const ssize_t received = depthwatt_shared_receive(reader->socket, reply, sizeof reply - 1, &descriptor);
  if (received < DEPTHWATT_SHARED_REPLY_BYTES || memcmp(reply, "DWSM\1\0", 6) != 0) {
    if (descriptor >= 0) close(descriptor);
    return depthwatt_shared_fail(reader, error, error_room,
                                 received == 0 ? "the publisher closed the connection" : "expected depthwatt's reply",
                                 received < 0 ? errno : 0);
  }
  if (descriptor < 0) {
    reply[received] = 0;
    problem = received > DEPTHWATT_SHARED_REPLY_BYTES ? (const char*)reply + DEPTHWATT_SHARED_REPLY_BYTES : "refused";
    return depthwatt_shared_fail(reader, error, error_room, problem, 0);
  }
  problem = depthwatt_shared_map(reader, descriptor);
  close(descriptor);
  return problem == NULL ? 0 : depthwatt_shared_fail(reader, error, error_room, problem, 0);
}

/* Connects and maps the memory of one stream. Returns 0, or -1 with a sentence in `error`. */
static inline int depthwatt_shared_open(depthwatt_shared* reader, const char* path, int stream, int timeout_ms,
                                        char* error, size_t error_room) {
  if (depthwatt_shared_connect(reader, path, stream, timeout_ms, error, error_room) != 0) return -1;
  return depthwatt_shared_accept(reader, error, error_room);
}

/* Returns whether the frame's bytes are still the ones that wait() found. Call it after the last use of the message. */
static inline int depthwatt_shared_intact(const depthwatt_shared_frame* frame) {
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n((const uint64_t*)(const void*)frame->slot, __ATOMIC_RELAXED) == 2 * frame->number;
}

/* Returns the newest frame if this reader has not seen it: 1, or 0. */
static inline int depthwatt_shared_newest(depthwatt_shared* reader, depthwatt_shared_frame* frame) {
  int tries;
  frame->message = NULL;
  for (tries = 0; tries < 100; ++tries) {
    const uint64_t number = __atomic_load_n((const uint64_t*)(const void*)(reader->memory + 72), __ATOMIC_ACQUIRE);
    const unsigned char* slot;
    uint32_t offset, bytes;
    if (number == 0 || number == reader->last) return 0;
    slot = reader->memory + DEPTHWATT_SHARED_RING_BYTES + (number - 1) % reader->slots * reader->slot_bytes;
    frame->slot = slot;
    frame->number = number;
    frame->published_ns = depthwatt_shared_u64(slot + 8);
    offset = depthwatt_shared_u32(slot + 16);
    bytes = depthwatt_shared_u32(slot + 20);
    /* Otherwise the writer was a whole round ahead, and there is a newer frame. */
    if (!depthwatt_shared_intact(frame)) continue;
    if (offset < 24 || offset > reader->slot_bytes || bytes > reader->slot_bytes - offset) return 0;
    frame->message = slot + offset;
    frame->bytes = bytes;
    frame->missed = reader->last == 0 ? 0 : number - reader->last - 1;
    reader->last = number;
    return 1;
  }
  return 0;
}

/* Returns whether the writer has ended or the connection to it is closed. */
static inline int depthwatt_shared_ended(const depthwatt_shared* reader) {
  struct pollfd look;
  if (__atomic_load_n((const uint32_t*)(const void*)(reader->memory + 68), __ATOMIC_ACQUIRE) != 0) return 1;
  look.fd = reader->socket;
  look.events = 0;
  return poll(&look, 1, 0) > 0;
}

/* Waits for a frame that this reader has not seen. Returns 1 with the newest one, 0 after timeout_ms, -1 if the writer has ended:
   open again. A negative timeout waits without a limit. */
static inline int depthwatt_shared_wait(depthwatt_shared* reader, int timeout_ms, depthwatt_shared_frame* frame) {
  const int64_t end = depthwatt_shared_now_ms() + timeout_ms;
  for (;;) {
    const uint32_t* wake = (const uint32_t*)(const void*)(reader->memory + 64);
    const uint32_t before = __atomic_load_n(wake, __ATOMIC_ACQUIRE);
    struct timespec pause;
    int64_t left;
    if (depthwatt_shared_newest(reader, frame)) return 1;
    if (depthwatt_shared_ended(reader)) return -1;
    left = timeout_ms < 0 ? (int64_t)DEPTHWATT_SHARED_LOOK_MS : end - depthwatt_shared_now_ms();
    if (left <= 0) return 0;
    /* A writer that crashes wakes no reader: look at the socket now and then. */
    if (left > DEPTHWATT_SHARED_LOOK_MS) left = DEPTHWATT_SHARED_LOOK_MS;
    pause.tv_sec = 0;
    pause.tv_nsec = (long)left * 1000000;
    syscall(SYS_futex, wake, FUTEX_WAIT, before, &pause, NULL, 0);
  }
}

#ifdef __cplusplus
}
#endif
#endif /* DEPTHWATT_SHARED_H */
