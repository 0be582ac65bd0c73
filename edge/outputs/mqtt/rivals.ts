// SPDX-License-Identifier: Apache-2.0
// Another publisher under the same device name: known by the runId in its state. Readers would take the two for one stream, and
// the one that ends would set the other's state.

/** What a message on this device's state topic says about others. */
export type StateMessage = "ours" | "nothing" | "rival" | "rivalEnded" | "older";

/**
 * @param retained kept by the broker from before: what an earlier run left, or another that still runs has said
 */
export function judgeState(payload: Uint8Array, runId: number, retained: boolean): StateMessage {
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder().decode(payload));
  } catch {
    return "nothing";
  }
  const { state, runId: theirs } = Object(document) as { state?: unknown; runId?: unknown };
  if (typeof theirs !== "number" || typeof state !== "string") return "nothing";
  if (theirs === runId) return "ours";
  const runs = state === "online" || state === "degraded";
  if (retained) return runs ? "older" : "nothing";
  return runs ? "rival" : "rivalEnded";
}
