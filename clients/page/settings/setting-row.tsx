// SPDX-License-Identifier: Apache-2.0
// One setting: its control by its schema, the value that is running, what came of a change.
import { useState } from "preact/hooks";
import type { SettingDescription } from "../../../edge/outputs/viewer/protocol.js";
import { finiteNumber } from "../documents.js";
import { refusalText } from "../refusal.js";
import { S } from "../strings.js";
import { changeSettings, type Value } from "./changes.js";
import { numberKind, settingChoices, typedValue } from "./input-value.js";
import { settingLabel } from "./labels.js";

const T = S.settings;

interface SettingRowProps {
  setting: SettingDescription;
  /** undefined: it has none. */
  value: unknown;
}

export function SettingRow({ setting, value }: SettingRowProps) {
  const { key, description, unit, schema } = setting;
  const [said, setSaid] = useState<{ ok: boolean; text: string }>();
  /** The text being typed: the row is drawn again with every document that arrives. */
  const [draft, setDraft] = useState<string>();
  const id = `setting-${key}`;
  const optional = setting.default === undefined;
  const shown = value === undefined || value === null ? "" : String(value);
  const send = async (next: Value | null, typed?: string) => {
    const answer = await changeSettings({ [key]: next });
    if (answer.ok) {
      const effective = answer.values?.[key] ?? null;
      setSaid({ ok: true, text: effective === null ? T.effectiveNone : T.effective(String(effective)) });
    } else setSaid({ ok: false, text: refusalText(answer) });
    // A field shows what runs, also where what was typed has been refused.
    setDraft((now) => (typed === undefined || now === typed ? undefined : now));
  };
  const choices = settingChoices(schema);
  const numeric = numberKind(schema);
  return (
    <div class="setting" data-setting={key}>
      <label for={id} title={key}>
        {settingLabel(key, unit)}
      </label>
      {schema.type === "boolean" ? (
        <input
          id={id}
          type="checkbox"
          checked={value === true}
          aria-describedby={`${id}-about`}
          onChange={(event) => void send(event.currentTarget.checked)}
        />
      ) : choices ? (
        <select
          id={id}
          value={shown}
          aria-describedby={`${id}-about`}
          onChange={(event) => {
            const chosen = choices.find((choice) => String(choice) === event.currentTarget.value);
            if (chosen !== undefined) void send(chosen);
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
                min: finiteNumber(schema.minimum),
                max: finiteNumber(schema.maximum),
                step: numeric === "integer" ? 1 : "any",
              }
            : {})}
          value={draft ?? shown}
          placeholder={optional ? T.notSet : undefined}
          aria-describedby={`${id}-about`}
          onInput={({ currentTarget: { value: text } }) => setDraft(text === shown ? undefined : text)}
          onKeyDown={(event) => {
            if (event.key === "Escape") setDraft(undefined);
          }}
          onChange={(event) => {
            const text = event.currentTarget.value;
            if (text !== "") void send(typedValue(schema, text), text);
            else if (optional) void send(null, text);
            else setDraft(undefined);
          }}
        />
      )}
      {optional && shown !== "" && (
        <button type="button" aria-label={`${T.unset} ${key}`} onClick={() => void send(null)}>
          {T.unset}
        </button>
      )}
      {setting.default !== undefined && value !== undefined && value !== setting.default && (
        <button
          type="button"
          aria-label={`${T.reset} ${key}`}
          title={T.resetHint(String(setting.default))}
          onClick={() => void send(setting.default ?? null)}
        >
          {T.reset}
        </button>
      )}
      <p id={`${id}-about`} class="quiet">
        {description} <code>{key}</code>,{" "}
        {setting.default === undefined ? T.noDefault : T.default(String(setting.default))}
      </p>
      {said && (
        <p role="status" class={said.ok ? "good" : "bad"} data-said={said.ok ? "ok" : "refused"}>
          {said.text}
        </p>
      )}
    </div>
  );
}
