// SPDX-License-Identifier: Apache-2.0
// The settings tab: what can be changed while it runs, from the program's own schema.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { PresetChoice, SettingDescription } from "../../../edge/outputs/viewer/protocol.js";
import { isRecord } from "../documents.js";
import { controlNow, useDocuments, useStore } from "../store.js";
import { S } from "../strings.js";
import { choosePreset, openSettings, saveChanges, undoChange } from "./changes.js";
import { Commands } from "./commands.js";
import { refreshSettings } from "./refresh.js";
import { setSecret } from "./request.js";
import { SettingRow } from "./setting-row.js";

const T = S.settings;

/** Settings of sources and matchers that do not run are found by searching. */
function isIdle(key: string, values: Record<string, unknown>): boolean {
  const [, group, kind] = /^(match|source)\.(\w+)\./.exec(key) ?? [];
  if (group === "match") return kind !== values["match.algorithm"];
  return group === "source" && kind !== values["source.kind"];
}

export function Settings() {
  const { state, settings, values, presets } = useStore(controlNow);
  const device = useStore((page) => page.device);
  const info = useDocuments().info;
  const [search, setSearch] = useState("");
  const live = useMemo(() => settings.filter((setting) => setting.live), [settings]);
  useEffect(() => {
    if (device !== undefined) refreshSettings(device);
  }, [device, info]);
  if (!state.enabled && state.askedBelow !== undefined) return <OpenSettings key={device} />;
  if (live.length === 0) return <p class="quiet">{T.none}</p>;
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = live.filter(({ key, description }) => {
    const text = `${key} ${description}`.toLowerCase();
    return (words.length > 0 || !isIdle(key, values)) && words.every((word) => text.includes(word));
  });
  const groups = new Map<string, SettingDescription[]>();
  for (const setting of found) {
    const group = setting.key.slice(0, Math.max(0, setting.key.lastIndexOf(".")));
    groups.set(group, [...(groups.get(group) ?? []), setting]);
  }
  return (
    <div class="settings">
      {!state.enabled && (
        <p class="notice">
          {T.off} {state.reason}
        </p>
      )}
      <div class="tools">
        <label class="field">
          <span>{T.search}</span>
          <input type="search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
        </label>
        {state.enabled && state.signedFor !== undefined && (
          <label class="field">
            <span>{T.secret}</span>
            <input
              type="password"
              autocomplete="off"
              title={T.secretHint}
              onInput={(event) => setSecret(event.currentTarget.value)}
            />
          </label>
        )}
      </div>
      {state.enabled && presets.length > 0 && <Presets presets={presets} />}
      {state.enabled && <Steps />}
      {state.enabled && <Commands />}
      {found.length === 0 && <p class="quiet">{T.noMatch}</p>}
      {[...groups].map(([group, members]) => (
        <fieldset key={group} disabled={!state.enabled}>
          <legend>{group === "" ? S.title : group}</legend>
          {group === "region" && state.enabled && <p class="quiet">{T.region}</p>}
          {members.map((setting) => (
            <SettingRow key={setting.key} setting={setting} value={values[setting.key]} />
          ))}
        </fieldset>
      ))}
    </div>
  );
}

/** A broker's device reports its settings to who has its secret. */
function OpenSettings() {
  const [said, setSaid] = useState("");
  const [asking, setAsking] = useState(false);
  const open = async () => {
    setAsking(true);
    const answer = await openSettings();
    setAsking(false);
    setSaid(answer.ok ? "" : `${answer.message} ${answer.hint}`);
  };
  return (
    <form
      class="settings"
      onSubmit={(event) => {
        event.preventDefault();
        void open();
      }}
    >
      <p class="quiet">{T.openHint}</p>
      <div class="tools">
        <label class="field">
          <span>{T.secret}</span>
          <input
            type="password"
            autocomplete="off"
            title={T.secretHint}
            onInput={(event) => setSecret(event.currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={asking}>
          {T.open}
        </button>
      </div>
      {said !== "" && (
        <p role="status" class="bad" data-said="refused">
          {said}
        </p>
      )}
    </form>
  );
}

/** Sets what a preset names. Which one it was is not kept, because each of its settings can be changed again. */
function Presets({ presets }: { presets: readonly PresetChoice[] }) {
  const [chosen, setChosen] = useState<PresetChoice>();
  const [said, setSaid] = useState<{ ok: boolean; text: string }>();
  const set = async ({ name }: PresetChoice) => {
    const answer = await choosePreset(name);
    if (answer.ok) setSaid({ ok: true, text: T.presetSet(name, Object.keys(answer.values ?? {}).length) });
    else setSaid({ ok: false, text: `${answer.message} ${answer.hint}` });
  };
  return (
    <div class="presets">
      <div class="tools">
        <label class="field">
          <span>{T.preset}</span>
          <select
            value={chosen?.name ?? ""}
            aria-describedby="preset-about"
            onChange={({ currentTarget }) => {
              setChosen(presets.find(({ name }) => name === currentTarget.value));
              setSaid(undefined);
            }}
          >
            <option value="" disabled>
              {T.presetNone}
            </option>
            {Object.entries(T.presetGroups).map(([group, label]) => (
              <optgroup key={group} label={label}>
                {presets
                  .filter((preset) => (preset.group ?? "paper") === group)
                  .map(({ name }) => (
                    <option key={name}>{name}</option>
                  ))}
              </optgroup>
            ))}
          </select>
        </label>
        <button type="button" disabled={!chosen} onClick={() => chosen && void set(chosen)}>
          {T.presetUse}
        </button>
      </div>
      <p id="preset-about" class="quiet">
        {chosen ? T.presetAbout(chosen.summary) : T.presetHint}
      </p>
      {said && (
        <p role="status" class={said.ok ? "good" : "bad"} data-said={said.ok ? "ok" : "refused"}>
          {said.text}
        </p>
      )}
    </div>
  );
}

/** The way back, and into the configuration file. */
function Steps() {
  const { steps, unsaved } = useStore((page) => page.changes);
  const [said, setSaid] = useState<{ ok: boolean; text: string }>();
  const last = steps.at(-1);
  const undo = async () => {
    const answer = await undoChange();
    if (answer?.ok === false) setSaid({ ok: false, text: `${answer.message} ${answer.hint}` });
    else setSaid(undefined);
  };
  const save = async () => {
    const answer = await saveChanges();
    if (!answer.ok) {
      setSaid({ ok: false, text: `${answer.message} ${answer.hint}` });
      return;
    }
    const { file, overridden } = isRecord(answer.saved) ? answer.saved : {};
    const still = Array.isArray(overridden) ? overridden.join(", ") : "";
    setSaid({ ok: true, text: T.saved(String(file), still) });
  };
  if (last === undefined && unsaved.length === 0 && said === undefined) return null;
  return (
    <div class="steps">
      <div class="buttons">
        {last !== undefined && (
          <button type="button" data-step="undo" onClick={() => void undo()}>
            {T.undo(Object.keys(last))}
          </button>
        )}
        {unsaved.length > 0 && (
          <button type="button" data-step="save" title={T.saveHint} onClick={() => void save()}>
            {T.save(unsaved.length)}
          </button>
        )}
      </div>
      {said && (
        <p role="status" class={said.ok ? "good" : "bad"} data-said={said.ok ? "ok" : "refused"}>
          {said.text}
        </p>
      )}
    </div>
  );
}
