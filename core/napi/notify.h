// SPDX-License-Identifier: Apache-2.0
// What Node's Unix sockets lack: one datagram to the service manager or the journal, and who is at the other end.
#pragma once

#include <napi.h>

namespace depthwatt {

/// sdNotify(socketAddress, message): sends `message`, a text or a Uint8Array, to the Unix datagram socket `socketAddress`,
/// where "@" in front means the abstract namespace (sd_notify(3)). Never blocks. Returns "" when sent, else the system's words for why not.
Napi::Value sdNotify(const Napi::CallbackInfo& info);

/// peerOf(descriptor): {pid, uid, gid} of the process at the other end of a connected Unix socket, as the kernel says
/// (SO_PEERCRED, unix(7)). Throws kParameter where the descriptor is no such socket.
Napi::Value peerOf(const Napi::CallbackInfo& info);

}  // namespace depthwatt
