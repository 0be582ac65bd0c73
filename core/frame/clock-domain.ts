// SPDX-License-Identifier: Apache-2.0
// Distinguishes processes that share one monotonic clock, without revealing which host it is.
import { crc32 } from "./crc32.js";
import { nodeBuiltin } from "./node-builtin.js";

const BOOT_ID_PATH = "/proc/sys/kernel/random/boot_id";

/** CRC-32 of the kernel's boot id: CLOCK_MONOTONIC counts from that boot. 0 where it cannot be read, as in a browser. */
export function localClockDomain(path = BOOT_ID_PATH): number {
  const files = nodeBuiltin<typeof import("node:fs")>("node:fs");
  if (files === undefined) return 0;
  try {
    return crc32(new TextEncoder().encode(files.readFileSync(path, "utf8").trim()));
  } catch {
    return 0;
  }
}
