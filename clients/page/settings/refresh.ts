// SPDX-License-Identifier: Apache-2.0
// Asks a broker's device again for its values when another client may have changed one. A device serves few requests a
// second, of all clients together: the page's own requests must leave capacity for the user's.
import { ask } from "../live.js";
import { pageState } from "../store.js";
import { holds } from "./changes.js";

/** One change is reported in several documents. */
const TOGETHER_MS = 500;
/** A device that was asked too much serves again after a second. */
const BUSY_MS = 1500;

/** Devices whose values will be asked for, or are. */
const due = new Set<string>();

/** Once for all calls within half a second; again where the device was too busy to answer. */
export function refreshSettings(device: string): void {
  if (due.has(device)) return;
  due.add(device);
  setTimeout(() => void refresh(device), TOGETHER_MS);
}

async function refresh(device: string): Promise<void> {
  due.delete(device); // a change that comes while the device answers may be missing in its answer
  if (device !== pageState().device || !Object.hasOwn(pageState().opened, device)) return;
  const answer = await ask("get", {});
  holds(device, answer);
  if (answer.ok || answer.code !== "CONTROL_BUSY") return;
  setTimeout(() => refreshSettings(device), BUSY_MS - TOGETHER_MS);
}
