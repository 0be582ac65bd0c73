// SPDX-License-Identifier: Apache-2.0
// Types what core/ registers on the native addon: functions that no other folder owns.
import { loadAddon } from "./addon.js";

export interface SystemExports {
  /** CLOCK_MONOTONIC and CLOCK_REALTIME read back to back, nanoseconds. */
  clocks(): { monotonicNs: bigint; realtimeNs: bigint };
  /** State of CLOCK_REALTIME from the kernel (adjtimex), or the reason why it is unknown. */
  wallClock():
    | { synchronised: boolean; maxErrorMs: number; estimatedErrorMs: number; taiOffsetSeconds: number }
    | string;
  /**
   * One datagram to a Unix socket ("@" in front: abstract namespace), as sd_notify(3) sends it. Never blocks.
   * @returns "" when sent, else the system's words for why not
   */
  sdNotify(socketAddress: string, message: string | Uint8Array): string;
  /**
   * Returns the process at the other end of a connected Unix socket, as the kernel reports it (SO_PEERCRED).
   * @throws DepthwattError ENGINE_PARAMETER if the descriptor is no such socket
   */
  peerCredentials(descriptor: number): { pid: number; uid: number; gid: number };
  /**
   * Locks an open file (flock) until the descriptor is closed or the process ends.
   * @returns false if another descriptor holds the lock
   * @throws DepthwattError ENGINE_PARAMETER if the descriptor is none
   */
  lockFile(descriptor: number): boolean;
  /**
   * For its own program, before it allocates much: from now on every block of 128 KiB and more is its own mapping, which
   * the system has back when it is freed. Concerns the whole process.
   * @returns false where the C library has no such switch
   */
  giveMemoryBack(): boolean;
}

/** @throws DepthwattError ADDON_MISSING */
export const systemAddon = (): SystemExports => loadAddon<SystemExports>();
