// SPDX-License-Identifier: Apache-2.0
// Clocks, file locks and Unix sockets for JavaScript; see system.h.
#include "system.h"

#include <malloc.h>
#include <sys/file.h>
#include <sys/timex.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>

#include "errors.h"
#include "notify.h"

namespace depthwatt {
namespace {

int64_t nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

Napi::Value clocks(const Napi::CallbackInfo& info) {
  const int64_t before = nanoseconds(CLOCK_MONOTONIC);
  const int64_t realtime = nanoseconds(CLOCK_REALTIME);
  const int64_t after = nanoseconds(CLOCK_MONOTONIC);
  auto now = Napi::Object::New(info.Env());
  now.Set("monotonicNs", Napi::BigInt::New(info.Env(), before + (after - before) / 2));
  now.Set("realtimeNs", Napi::BigInt::New(info.Env(), realtime));
  return now;
}

/// Returns the kernel's answer about CLOCK_REALTIME, or a string that says why there is none.
Napi::Value wallClock(const Napi::CallbackInfo& info) {
  timex clock{};  // modes 0: reads only
  const int state = adjtimex(&clock);
  if (state < 0) {
    const std::string reason = std::strerror(errno);
    return Napi::String::New(info.Env(), "the kernel does not answer adjtimex (" + reason +
                                             "); the service's sandbox forbids it (ProtectClock)");
  }
  auto result = Napi::Object::New(info.Env());
  result.Set("synchronised", Napi::Boolean::New(info.Env(), state != TIME_ERROR && !(clock.status & STA_UNSYNC)));
  result.Set("maxErrorMs", Napi::Number::New(info.Env(), static_cast<double>(clock.maxerror) / 1000));
  result.Set("estimatedErrorMs", Napi::Number::New(info.Env(), static_cast<double>(clock.esterror) / 1000));
  result.Set("taiOffsetSeconds", Napi::Number::New(info.Env(), clock.tai));
  return result;
}

/// Returns freed memory to the system. By default glibc keeps large freed blocks in its arenas, up to 32 MB each.
/// Engines of many sizes then leave holes of hundreds of megabytes after some minutes.
Napi::Value giveMemoryBack(const Napi::CallbackInfo& info) {
  bool done = false;
#ifdef __GLIBC__
  constexpr int kMappedFromBytes = 128 << 10;
  constexpr int kKeptOnTopBytes = 4 << 20;
  done = mallopt(M_MMAP_THRESHOLD, kMappedFromBytes) == 1 && mallopt(M_TRIM_THRESHOLD, kKeptOnTopBytes) == 1;
#endif
  return Napi::Boolean::New(info.Env(), done);
}

/// Takes a lock of flock(2). The system releases it when the file is closed, also if the process crashes. On a file
/// system without locks it always succeeds.
Napi::Value lockFile(const Napi::CallbackInfo& info) {
  const bool isNumber = info.Length() == 1 && info[0].IsNumber();
  const bool locked = isNumber && flock(info[0].As<Napi::Number>().Int32Value(), LOCK_EX | LOCK_NB) == 0;
  if (!isNumber || (!locked && errno == EBADF))
    throwUnlessOk(info.Env(), Status::error(Code::kParameter, "lockFile: expected the descriptor of an open file"));
  return Napi::Boolean::New(info.Env(), locked || errno != EWOULDBLOCK);
}

}  // namespace

void addSystem(Napi::Env env, Napi::Object exports) {
  exports.Set("clocks", Napi::Function::New(env, clocks, "clocks"));
  exports.Set("wallClock", Napi::Function::New(env, wallClock, "wallClock"));
  exports.Set("sdNotify", Napi::Function::New(env, sdNotify, "sdNotify"));
  exports.Set("peerCredentials", Napi::Function::New(env, peerCredentials, "peerCredentials"));
  exports.Set("lockFile", Napi::Function::New(env, lockFile, "lockFile"));
  exports.Set("giveMemoryBack", Napi::Function::New(env, giveMemoryBack, "giveMemoryBack"));
}

}  // namespace depthwatt
