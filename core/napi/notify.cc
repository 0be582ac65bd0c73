// SPDX-License-Identifier: Apache-2.0
// Datagrams and peers of Unix sockets; see notify.h.
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

/// Returns 0 or an errno value.
int sendDatagram(const std::string& address, const void* message, size_t bytes) {
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  if (address.empty() || address.size() >= sizeof target.sun_path) return ENAMETOOLONG;
  std::memcpy(target.sun_path, address.data(), address.size());
  if (target.sun_path[0] == '@') target.sun_path[0] = '\0';
  // The length ends an abstract name, not a NUL.
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());

  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const ssize_t sent =
      sendto(fd, message, bytes, MSG_NOSIGNAL | MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&target), size);
  const int error = sent == static_cast<ssize_t>(bytes) ? 0 : errno;
  close(fd);
  return error;
}

}  // namespace

Napi::Value sdNotify(const Napi::CallbackInfo& info) {
  const bool isText = info.Length() == 2 && info[1].IsString();
  const bool isBytes = info.Length() == 2 && info[1].IsTypedArray() &&
                       info[1].As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array;
  if (!(isText || isBytes) || !info[0].IsString()) {
    throwUnlessOk(info.Env(), Status::error(Code::kParameter, "sdNotify: expected a socket address and a message"));
  }
  const std::string address = info[0].As<Napi::String>();
  int error = 0;
  if (isText) {
    const std::string message = info[1].As<Napi::String>();
    error = sendDatagram(address, message.data(), message.size());
  } else {
    const auto message = info[1].As<Napi::Uint8Array>();
    error = sendDatagram(address, message.Data(), message.ByteLength());
  }
  return Napi::String::New(info.Env(), error == 0 ? "" : std::strerror(error));
}

Napi::Value peerCredentials(const Napi::CallbackInfo& info) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (info.Length() != 1 || !info[0].IsNumber() ||
      getsockopt(info[0].As<Napi::Number>().Int32Value(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.pid == 0) {
    throwUnlessOk(info.Env(), Status::error(Code::kParameter,
                                            "peerCredentials: expected the descriptor of a connected Unix socket"));
  }
  auto answer = Napi::Object::New(info.Env());
  answer.Set("pid", Napi::Number::New(info.Env(), peer.pid));
  answer.Set("uid", Napi::Number::New(info.Env(), peer.uid));
  answer.Set("gid", Napi::Number::New(info.Env(), peer.gid));
  return answer;
}

}  // namespace depthwatt
