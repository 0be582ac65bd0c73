// SPDX-License-Identifier: Apache-2.0
// Keeps the connections of the trial broker. If all places are taken, a newcomer replaces the client that was idle for
// longest; if every client is in use, the newcomer is refused.
import type { Duplex } from "node:stream";
import { PacketMeter } from "../../core/mqtt/packet-meter.js";

/** A connection that has neither subscribed nor published for this time may be closed to make room. */
const OF_NO_USE_MS = 5000;
/** How long a newcomer without a place may take to say which MQTT it speaks, so that the broker can give the reason. */
const REFUSAL_MS = 2000;

interface Guest {
  /** CONNECT was accepted. */
  known: boolean;
  subscriptions: number;
  lastUsefulMs: number;
}

export class Guests {
  refused = 0;
  readonly #guests = new Map<Duplex, Guest>();
  #refusing = 0;
  readonly #maxGuests: number;
  readonly #maxPacketBytes: number;

  constructor(maxGuests: number, maxPacketBytes: number) {
    this.#maxGuests = maxGuests;
    this.#maxPacketBytes = maxPacketBytes;
  }

  get count(): number {
    return this.#guests.size;
  }

  /** @returns whether it may stay; else it is sent away */
  admit(connection: Duplex): boolean {
    if (this.#guests.size >= this.#maxGuests && !this.#makeRoom()) {
      this.refused++;
      this.#refuse(connection);
      return false;
    }
    this.#guests.set(connection, { known: false, subscriptions: 0, lastUsefulMs: performance.now() });
    connection.once("close", () => this.#guests.delete(connection));
    this.#watchPackets(connection);
    return true;
  }

  of(connection: unknown): Guest | undefined {
    return this.#guests.get(connection as Duplex);
  }

  /** It has said who it is, or has published. */
  useful(connection: unknown): void {
    const guest = this.of(connection);
    if (guest === undefined) return;
    guest.known = true;
    guest.lastUsefulMs = performance.now();
  }

  #makeRoom(): boolean {
    const now = performance.now();
    let idlest: Duplex | undefined;
    let worst = 0;
    for (const [connection, { known, subscriptions, lastUsefulMs }] of this.#guests) {
      const idleMs = now - lastUsefulMs;
      // One that has not even said CONNECT goes at once, a moment after it came.
      const usefulForMs = !known ? 200 : subscriptions > 0 ? Number.POSITIVE_INFINITY : OF_NO_USE_MS;
      if (idleMs > usefulForMs && idleMs > worst) [idlest, worst] = [connection, idleMs];
    }
    if (idlest === undefined) return false;
    this.#guests.delete(idlest);
    idlest.destroy();
    return true;
  }

  /** aedes takes what it reads into memory, and looks at its size when a packet is whole. */
  #watchPackets(connection: Duplex): void {
    const meter = new PacketMeter(this.#maxPacketBytes);
    const read = connection.read.bind(connection);
    connection.read = (size?: number) => {
      const bytes = read(size) as Uint8Array | null;
      if (bytes === null || meter.take(bytes)) return bytes;
      connection.destroy();
      return null;
    };
  }

  /** Answers "server unavailable" in the client's version of MQTT: a connection that is only closed looks like a wrong port. */
  #refuse(connection: Duplex): void {
    if (this.#refusing >= this.#maxGuests) {
      connection.destroy();
      return;
    }
    this.#refusing++;
    const timer = setTimeout(() => connection.destroy(), REFUSAL_MS);
    connection.on("error", () => {});
    connection.once("close", () => {
      clearTimeout(timer);
      this.#refusing--;
    });
    connection.once("data", (bytes: Buffer) => {
      const name = bytes.subarray(0, 16).indexOf("MQTT");
      const isFive = name > 0 && bytes[name + 4] === 5;
      connection.end(Buffer.from(isFive ? [0x20, 3, 0, 136, 0] : [0x20, 2, 0, 3]));
    });
  }
}
