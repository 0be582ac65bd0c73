// SPDX-License-Identifier: Apache-2.0
// Functions that Node's Unix sockets lack: sending one datagram to the service manager or the journal, and identifying
// the peer.
#pragma once

#include <napi.h>

namespace depthwatt {

/// sdNotify(socketAddress, message): sends `message`, a text or a Uint8Array, to the Unix datagram socket
/// `socketAddress`, where a leading "@" means the abstract namespace (sd_notify(3)). Never blocks. Returns "" if sent,
/// else the system's error text.
Napi::Value sdNotify(const Napi::CallbackInfo& info);

/// peerCredentials(descriptor): returns {pid, uid, gid} of the process at the other end of a connected Unix socket (SO_PEERCRED,
/// unix(7)). Throws kParameter if the descriptor is not such a socket.
Napi::Value peerCredentials(const Napi::CallbackInfo& info);

}  // namespace depthwatt
