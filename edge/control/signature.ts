// SPDX-License-Identifier: Apache-2.0
// Requests that prove who made them: HMAC-SHA256 with a shared secret, valid for half a minute, once, on one device.
import { createHmac, timingSafeEqual } from "node:crypto";
import { DepthwattError } from "../../core/index.js";

/** How far the sender's clock and ours may be apart, and how long a request may take. */
export const SIGNATURE_WINDOW_MS = 30_000;

export interface Addressed {
  /** BASE/DEVICE: a signature for one device is invalid for another. */
  device: string;
  command: string;
  /** The request as JSON text, exactly as it travels. */
  text: string;
}

function digest(secret: string, { device, command, text }: Addressed): Buffer {
  // Neither a topic level nor a command holds a line end, so no two requests are the same bytes here.
  const head = `depthwatt-control-1\n${device}\n${command}\n`;
  return createHmac("sha256", secret).update(head).update(text).digest();
}

/** 64 hexadecimal digits. */
export function signRequest(secret: string, request: Addressed): string {
  return digest(secret, request).toString("hex");
}

/** The time and nonce of a signed request. */
export interface Stamp {
  timeMs: number;
  nonce: string;
}

export interface VerifierClock {
  /** Milliseconds since 1970, as senders see it. */
  now(): number;
}

/** Remembers accepted requests. A request with a wrong signature leaves no trace here, so it cannot fill the memory. */
export class SignatureVerifier {
  readonly #secret: string;
  readonly #clock: VerifierClock;
  /** Times of accepted requests by nonce. */
  readonly #seen = new Map<string, number>();
  /** Nonces of requests up to then are not known: they were used before the start, or are forgotten. */
  #notBeforeMs: number;

  constructor(secret: string, clock: VerifierClock = { now: () => Date.now() }) {
    this.#secret = secret;
    this.#clock = clock;
    this.#notBeforeMs = clock.now();
  }

  /** @throws DepthwattError CONTROL_SECRET */
  checkSignature(request: Addressed, signature: string): void {
    const given = Buffer.from(signature, "hex");
    const expected = digest(this.#secret, request);
    if (given.length === expected.length && timingSafeEqual(given, expected)) return;
    throw new DepthwattError(
      "CONTROL_SECRET",
      `expected a signature made with this device's secret, for ${request.device} and "${request.command}"; this one is not`,
    );
  }

  /** Marks a correctly signed request as used. @throws DepthwattError CONTROL_TIME, CONTROL_REPLAYED */
  use({ timeMs, nonce }: Stamp): void {
    const now = this.#clock.now();
    this.#forget(now);
    const apart = now - timeMs;
    if (Math.abs(apart) > SIGNATURE_WINDOW_MS) {
      const words = `${(Math.abs(apart) / 1000).toFixed(0)} s ${apart > 0 ? "behind" : "ahead of"}`;
      throw new DepthwattError(
        "CONTROL_TIME",
        `expected a request of the last ${SIGNATURE_WINDOW_MS / 1000} s; its time is ${words} this device's clock`,
      );
    }
    if (this.#seen.has(nonce))
      throw new DepthwattError("CONTROL_REPLAYED", "expected a nonce that was never used; this one was");
    if (timeMs < this.#notBeforeMs) {
      throw new DepthwattError(
        "CONTROL_TIME",
        "expected a request made since this run began, because what was used before is not known; its time is earlier",
      );
    }
    this.#seen.set(nonce, timeMs);
  }

  /** A clock that is set back makes times valid again whose nonces are gone: those stay refused. */
  #forget(now: number): void {
    for (const [nonce, timeMs] of this.#seen) {
      if (timeMs >= now - SIGNATURE_WINDOW_MS) continue;
      this.#seen.delete(nonce);
      this.#notBeforeMs = Math.max(this.#notBeforeMs, timeMs + 1);
    }
  }
}
