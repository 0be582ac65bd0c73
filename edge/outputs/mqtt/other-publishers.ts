// SPDX-License-Identifier: Apache-2.0
// Detects other publishers under the same device name, by the runId in their state. Readers would take the two for one
// stream, and when one ends it would set the state of the other.

/** Meaning of a message on this device's state topic. "broken": the state was removed, or is none. */
export type StateMessage = "ours" | "broken" | "other" | "otherEnded" | "older" | "ended";

/** Returns the JSON object in a message; an empty one removes a retained value. */
export function documentIn(payload: Uint8Array): object | undefined {
  try {
    const document: unknown = JSON.parse(new TextDecoder().decode(payload));
    return typeof document === "object" && document !== null ? document : undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param retained kept by the broker from before: what an earlier run left, or another that still runs has said
 */
export function classifyState(payload: Uint8Array, runId: number, retained: boolean): StateMessage {
  const document: { state?: unknown; runId?: unknown } = documentIn(payload) ?? {};
  const { state, runId: theirs } = document;
  if (typeof theirs !== "number" || typeof state !== "string") return "broken";
  if (theirs === runId) return "ours";
  const runs = state === "online" || state === "degraded";
  if (retained) return runs ? "older" : "ended";
  return runs ? "other" : "otherEnded";
}
