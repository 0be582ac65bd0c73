// SPDX-License-Identifier: Apache-2.0
// One datagram to the service manager: Node has no datagram sockets of the Unix kind, so this is the whole of our libsystemd.
#pragma once

#include <napi.h>

namespace depthwatt {

/// sdNotify(socketAddress, message): sends `message` to the Unix datagram socket `socketAddress`, where "@" in front means
/// the abstract namespace (sd_notify(3)). Never blocks. Returns "" when sent, else the system's words for why not.
Napi::Value sdNotify(const Napi::CallbackInfo& info);

}  // namespace depthwatt
