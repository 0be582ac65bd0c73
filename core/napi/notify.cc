// SPDX-License-Identifier: Apache-2.0
// Sends the service manager's datagram; see notify.h.
#include "notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "errors.h"

namespace depthwatt {
namespace {

/// 0 or an errno value.
int sendDatagram(const std::string& address, const std::string& message) {
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  if (address.empty() || address.size() >= sizeof target.sun_path) return ENAMETOOLONG;
  std::memcpy(target.sun_path, address.data(), address.size());
  if (target.sun_path[0] == '@') target.sun_path[0] = '\0';
  // An abstract name ends where its length says, not at a NUL.
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());

  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const ssize_t sent = sendto(fd, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                              reinterpret_cast<const sockaddr*>(&target), size);
  const int error = sent == static_cast<ssize_t>(message.size()) ? 0 : errno;
  close(fd);
  return error;
}

}  // namespace

Napi::Value sdNotify(const Napi::CallbackInfo& info) {
  if (info.Length() != 2 || !info[0].IsString() || !info[1].IsString()) {
    throwUnlessOk(info.Env(), Status::error(Code::kParameter, "sdNotify: expected a socket address and a message"));
  }
  const int error = sendDatagram(info[0].As<Napi::String>(), info[1].As<Napi::String>());
  return Napi::String::New(info.Env(), error == 0 ? "" : std::strerror(error));
}

}  // namespace depthwatt
