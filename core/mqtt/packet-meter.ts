// SPDX-License-Identifier: Apache-2.0
// Follows the packets of a byte stream by their fixed headers (MQTT section 2.2), so that a packet that is too large is known by its
// first five bytes and not only when all of it is in memory.

/** Largest packet of MQTT with its fixed header (MQTT 5 section 2.1.4). */
export const LARGEST_PACKET_BYTES = 268_435_460;

export class PacketMeter {
  #left = 0;
  #state: "type" | "length" | "body" = "type";
  #length = 0;
  #shift = 0;
  readonly #maxPacketBytes: number;

  /** @param maxPacketBytes size of a whole packet, as MQTT 5 counts it (section 3.1.2.11.4) */
  constructor(maxPacketBytes: number) {
    this.#maxPacketBytes = maxPacketBytes;
  }

  /** @returns false where a packet that is too large has begun, or a length that is none */
  take(bytes: Uint8Array): boolean {
    for (let at = 0; at < bytes.length; ) {
      if (this.#state === "body") {
        const here = Math.min(this.#left, bytes.length - at);
        at += here;
        this.#left -= here;
        if (this.#left === 0) this.#state = "type";
      } else if (this.#state === "type") {
        at++;
        this.#state = "length";
        this.#length = 0;
        this.#shift = 0;
      } else {
        const byte = bytes[at++]!;
        this.#length += (byte & 0x7f) * 2 ** this.#shift;
        this.#shift += 7;
        if (1 + this.#shift / 7 + this.#length > this.#maxPacketBytes) return false;
        if (byte > 0x7f) {
          if (this.#shift >= 28) return false;
          continue;
        }
        this.#left = this.#length;
        this.#state = this.#left > 0 ? "body" : "type";
      }
    }
    return true;
  }
}
