// SPDX-License-Identifier: Apache-2.0
// Requests of control as they travel (docs/reference/requests.md), signed with the secret that a person has typed. It is kept in
// this page's memory and nowhere else, and never sent. Browsers have HMAC only for https; hence the library.
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, randomBytes, utf8ToBytes } from "@noble/hashes/utils.js";

let secret = "";

/** Unique, also among the pages of one broker. */
export const requestId = (): string => bytesToHex(randomBytes(8));

export const setSecret = (text: string): void => {
  secret = text;
};

export interface PageRequest {
  id: string;
  command: string;
  body: object;
  /** The device's name under the signature; undefined: requests are not signed. */
  signedFor: string | undefined;
  /** Milliseconds since 1970 by the program's clock. */
  timeMs: number;
}

export function requestPayload({ id, command, body, signedFor, timeMs }: PageRequest): string {
  if (signedFor === undefined) return JSON.stringify({ id, client: "page", body });
  const nonce = bytesToHex(randomBytes(16));
  const signed = JSON.stringify({ id, client: "page", timeMs, nonce, body });
  const text = utf8ToBytes(`depthwatt-control-1\n${signedFor}\n${command}\n${signed}`);
  return JSON.stringify({ signed, signature: bytesToHex(hmac(sha256, utf8ToBytes(secret), text)) });
}
