// SPDX-License-Identifier: Apache-2.0
// One setting: its control by its schema, the value that is running, what came of a change.
import { useState } from "preact/hooks";
import type { SettingDescription } from "../../../../config/setting.js";
import { isRecord, numberOf } from "../documents.js";
import { ask } from "../live.js";
import { S } from "../strings.js";
import { controlSecret } from "./secret.js";

const T = S.settings;
type Value = string | number | boolean;

/** Values to choose from, where the schema lists them. */
function choicesOf(schema: Record<string, unknown>): Value[] | undefined {
  const isValue = (value: unknown): value is Value => ["string", "number", "boolean"].includes(typeof value);
  if (Array.isArray(schema.enum)) return schema.enum.filter(isValue);
  if (isValue(schema.const)) return [schema.const];
  if (schema.type === "boolean") return [true, false];
  if (!Array.isArray(schema.anyOf)) return undefined;
  const parts = schema.anyOf.filter(isRecord).map(choicesOf);
  return parts.every((part) => part !== undefined) ? parts.flat() : undefined;
}

export interface SettingRowProps {
  setting: SettingDescription;
  value: unknown;
  last: Record<string, unknown> | undefined;
  onChanged: (before: Record<string, unknown>) => void;
  onUndone: () => void;
}

export function SettingRow({ setting, value, last, onChanged, onUndone }: SettingRowProps) {
  const { key, description, unit, schema } = setting;
  const [said, setSaid] = useState<{ ok: boolean; text: string }>();
  const id = `setting-${key}`;
  const send = async (next: Value, before: unknown) => {
    const answer = await ask({ [key]: next }, controlSecret());
    if (answer.ok) {
      if (before !== undefined) onChanged({ [key]: before });
      setSaid({ ok: true, text: T.effective(String(answer.values[key] ?? next)) });
    } else setSaid({ ok: false, text: `${answer.message} ${answer.hint}` });
    return answer.ok;
  };
  const choices = choicesOf(schema);
  const whole = schema.type === "integer";
  const numeric = whole || schema.type === "number";
  const canUndo = last !== undefined && Object.hasOwn(last, key);
  return (
    <div class="setting" data-setting={key}>
      <label for={id}>
        {key.slice(key.lastIndexOf(".") + 1)}
        {unit === undefined ? "" : ` (${unit})`}
      </label>
      {schema.type === "boolean" ? (
        <input
          id={id}
          type="checkbox"
          checked={value === true}
          aria-describedby={`${id}-about`}
          onChange={(event) => void send(event.currentTarget.checked, value)}
        />
      ) : choices ? (
        <select
          id={id}
          value={String(value ?? "")}
          aria-describedby={`${id}-about`}
          onChange={(event) => {
            const chosen = choices.find((choice) => String(choice) === event.currentTarget.value);
            if (chosen !== undefined) void send(chosen, value);
          }}
        >
          {choices.map((choice) => (
            <option key={String(choice)}>{String(choice)}</option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          {...(numeric
            ? {
                type: "number" as const,
                min: numberOf(schema.minimum),
                max: numberOf(schema.maximum),
                step: whole ? 1 : "any",
              }
            : {})}
          value={value === undefined ? "" : String(value)}
          aria-describedby={`${id}-about`}
          onChange={(event) => {
            const { valueAsNumber, value: text } = event.currentTarget;
            if (!numeric) void send(text, value);
            else if (!Number.isNaN(valueAsNumber)) void send(valueAsNumber, value);
          }}
        />
      )}
      {canUndo && (
        <button
          type="button"
          onClick={() => void send(last[key] as Value, undefined).then((ok) => ok && onUndone())}
        >
          {T.undo}
        </button>
      )}
      <p id={`${id}-about`} class="quiet">
        {description}
        {setting.default === undefined ? "" : ` (${T.default(String(setting.default))})`}
      </p>
      {said && (
        <p role="status" class={said.ok ? "good" : "bad"} data-said={said.ok ? "ok" : "refused"}>
          {said.text}
        </p>
      )}
    </div>
  );
}
