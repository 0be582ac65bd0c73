// SPDX-License-Identifier: Apache-2.0
// The password of the HTTP server: compared in constant time; each address has a few guesses a second.
import { createHash, timingSafeEqual } from "node:crypto";
import { isIPv6 } from "node:net";
import type { PasswordCheck } from "../contracts/http.js";

/** Wrong guesses that an address has before it waits, and how fast they come back. */
const MAX_WRONG = 10;
const FORGET_ONE_MS = 1000;
/** Addresses with their own count. Further ones share a count, so that no network of machines guesses without end. */
const MAX_ADDRESSES = 64;
const ALL_OTHERS = "others";

const digest = (text: string) => createHash("sha256").update(text).digest();

/**
 * Returns the network from which one machine can choose its address: a provider gives each customer 2^64 addresses of
 * IPv6 and more.
 */
function networkKey(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = "", tail] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  const omitted = tail === undefined ? 0 : 8 - groups.length - (tail === "" ? 0 : tail.split(":").length);
  const filled = [...groups, ...Array<string>(omitted).fill("0"), ...(tail || "").split(":")];
  return filled.slice(0, 4).join(":");
}

interface Guesses {
  wrong: number;
  sinceMs: number;
}

export class PasswordGate implements PasswordCheck {
  readonly #expected: Buffer;
  readonly #now: () => number;
  /** Recent wrong guesses by network. */
  readonly #guesses = new Map<string, Guesses>();

  constructor(password: string, now: () => number = () => performance.now()) {
    this.#expected = digest(password);
    this.#now = now;
  }

  check(given: string, address: string): "right" | "wrong" | "wait" {
    this.#forget();
    const own = networkKey(address);
    const isCounted = this.#guesses.has(own) || this.#guesses.size < MAX_ADDRESSES;
    const network = isCounted ? own : ALL_OTHERS;
    const guesses = this.#guesses.get(network) ?? { wrong: 0, sinceMs: this.#now() };
    if (guesses.wrong >= MAX_WRONG) return "wait";
    // Digests have one length, so that the time reveals nothing of the password's.
    if (timingSafeEqual(digest(given), this.#expected)) return "right";
    guesses.wrong++;
    this.#guesses.set(network, guesses);
    return "wrong";
  }

  #forget(): void {
    const now = this.#now();
    for (const [network, guesses] of this.#guesses) {
      const forgotten = Math.floor((now - guesses.sinceMs) / FORGET_ONE_MS);
      guesses.wrong -= forgotten;
      guesses.sinceMs += forgotten * FORGET_ONE_MS;
      if (guesses.wrong <= 0) this.#guesses.delete(network);
    }
  }
}
