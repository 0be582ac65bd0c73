// SPDX-License-Identifier: Apache-2.0
// One password for whoever may look: compared in constant time, guessed at most a few times a second.
import { createHash, timingSafeEqual } from "node:crypto";
import type { PasswordCheck } from "../contracts/http.js";

/** Wrong guesses that all clients together have before they wait, and how fast they come back. */
const MAX_WRONG = 10;
const FORGET_ONE_MS = 1000;

const digest = (text: string) => createHash("sha256").update(text).digest();

export class PasswordGate implements PasswordCheck {
  readonly #expected: Buffer;
  readonly #now: () => number;
  #wrong = 0;
  #sinceMs: number;

  constructor(password: string, now: () => number = () => performance.now()) {
    this.#expected = digest(password);
    this.#now = now;
    this.#sinceMs = now();
  }

  check(given: string): "right" | "wrong" | "wait" {
    const forgotten = Math.floor((this.#now() - this.#sinceMs) / FORGET_ONE_MS);
    this.#wrong = Math.max(0, this.#wrong - forgotten);
    this.#sinceMs += forgotten * FORGET_ONE_MS;
    if (this.#wrong >= MAX_WRONG) return "wait";
    // Digests are of one length, so that timing tells nothing about the password's.
    if (timingSafeEqual(digest(given), this.#expected)) return "right";
    this.#wrong++;
    return "wrong";
  }
}
