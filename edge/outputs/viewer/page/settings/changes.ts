// SPDX-License-Identifier: Apache-2.0
// What this page has changed: each step for the way back, and all of it for the configuration file.
import type { ControlAnswer } from "../../../../control/answer.js";
import { ask } from "../live.js";
import { change, pageState } from "../store.js";

export type Value = string | number | boolean;
/** null: no value. */
export type Values = Record<string, Value | null>;

const MOST_STEPS = 50;

/** What holds now. */
function valuesNow(keys: readonly string[]): Values {
  const { values } = pageState().control;
  return Object.fromEntries(keys.map((key) => [key, (values[key] as Value | undefined) ?? null]));
}

/** Changes them, all or none. */
export async function changeSettings(values: Values): Promise<ControlAnswer> {
  const before = valuesNow(Object.keys(values));
  const answer = await ask("set", { values });
  if (!answer.ok) return answer;
  const { steps, unsaved } = pageState().changes;
  const keys = new Set([...unsaved, ...Object.keys(values)]);
  change({ changes: { steps: [...steps, before].slice(-MOST_STEPS), unsaved: [...keys] } });
  return answer;
}

/** The newest step back. */
export async function undoChange(): Promise<ControlAnswer | undefined> {
  const last = pageState().changes.steps.at(-1);
  if (last === undefined) return undefined;
  const answer = await ask("set", { values: last });
  const { steps, unsaved } = pageState().changes;
  if (answer.ok) change({ changes: { steps: steps.filter((step) => step !== last), unsaved } });
  return answer;
}

/** Writes what was changed here into the configuration file of the device. */
export async function saveChanges(): Promise<ControlAnswer> {
  const { unsaved } = pageState().changes;
  const answer = await ask("set", { values: valuesNow(unsaved), save: true });
  const { steps, unsaved: now } = pageState().changes;
  if (answer.ok) change({ changes: { steps, unsaved: now.filter((key) => !unsaved.includes(key)) } });
  return answer;
}
