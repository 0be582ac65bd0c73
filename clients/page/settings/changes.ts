// SPDX-License-Identifier: Apache-2.0
// Remembers the changes that this page made: each step for undo, and all of them for the configuration file.
import type {
  ControlAnswer,
  PresetChoice,
  SettingDescription,
} from "../../../edge/outputs/viewer/protocol.js";
import { isRecord } from "../documents.js";
import { ask } from "../live.js";
import { type Control, change, controlNow, pageState } from "../store.js";
import { S } from "../strings.js";

export type Value = string | number | boolean;
/** null: no value. */
export type Values = Record<string, Value | null>;

const MAX_STEPS = 50;

/** Returns the current or former values. */
function valuesNow(keys: readonly string[], { values } = controlNow(pageState())): Values {
  return Object.fromEntries(keys.map((key) => [key, (values[key] as Value | undefined) ?? null]));
}

/**
 * Takes over the current values from an answer: a run sends them to every page, a broker's device answers only the
 * client that asked.
 */
export function holds(device: string | undefined, answer: ControlAnswer): void {
  const values = answer.ok ? answer.values : undefined;
  const { opened } = pageState();
  const known = device === undefined ? undefined : opened[device];
  if (device === undefined || known === undefined || !isRecord(values)) return;
  change({ opened: { ...opened, [device]: { ...known, values: { ...known.values, ...values } } } });
}

/** Asks the device that is shown for its settings, with the secret that was typed. */
export async function openSettings(): Promise<ControlAnswer> {
  const { device, control } = pageState();
  const below = control.state.enabled ? undefined : control.state.askedBelow;
  if (device === undefined || below === undefined) return S.unanswered;
  const schema = await ask("schema", {});
  if (!schema.ok) return schema;
  const now = pageState().device === device ? await ask("get", {}) : S.unanswered;
  if (!now.ok) return now;
  const settings = schema.settings as SettingDescription[];
  const state = { enabled: true, canSave: true, signedFor: `${below}/${device}` } as const;
  // A device of an older version knows no presets.
  const presets = (schema.presets ?? []) as PresetChoice[];
  const found: Control = { state, settings, values: now.values ?? {}, presets };
  change({ opened: { ...pageState().opened, [device]: found } });
  return now;
}

/** Changes them, all or none. */
export const changeSettings = (values: Values): Promise<ControlAnswer> => set({ values });

/** All settings that the preset names. */
export const choosePreset = (preset: string): Promise<ControlAnswer> => set({ preset });

async function set(body: { values: Values } | { preset: string }): Promise<ControlAnswer> {
  const held = controlNow(pageState());
  const { device } = pageState();
  const answer = await ask("set", body);
  if (!answer.ok) return answer;
  holds(device, answer);
  if (pageState().device !== device) return answer;
  const { steps, unsaved } = pageState().changes;
  const names = Object.keys(answer.values ?? {});
  const before = valuesNow(names, held);
  const keys = new Set([...unsaved, ...names]);
  change({ changes: { steps: [...steps, before].slice(-MAX_STEPS), unsaved: [...keys] } });
  return answer;
}

/** The newest step back. */
export async function undoChange(): Promise<ControlAnswer | undefined> {
  const last = pageState().changes.steps.at(-1);
  if (last === undefined) return undefined;
  const { device } = pageState();
  const answer = await ask("set", { values: last });
  holds(device, answer);
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
