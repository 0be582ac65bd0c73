// SPDX-License-Identifier: Apache-2.0
// The settings tab: what can be changed while it runs, from the program's own schema.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { PresetChoice, SettingDescription } from "../../../edge/outputs/viewer/protocol.js";
import { isRecord, unavailableReason } from "../documents.js";
import { refusalText } from "../refusal.js";
import { controlNow, useDocuments, useStore } from "../store.js";
import { S } from "../strings.js";
import { choosePreset, openSettings, saveChanges, undoChange } from "./changes.js";
import { Commands } from "./commands.js";
import { groupLabel, settingLabel } from "./labels.js";
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

const groupOf = (key: string) => key.slice(0, Math.max(0, key.lastIndexOf(".")));

/** Groups that few people change are closed at first. */
const isRare = (group: string) => /^(calibration|health|outputs|log)(\.|$)/.test(group);

export function Settings() {
  const { state, settings, values, presets } = useStore(controlNow);
  const device = useStore((page) => page.device);
  const info = useDocuments().info;
  const [search, setSearch] = useState("");
  /** Groups that the user has opened or closed. */
  const [toggled, setToggled] = useState<Record<string, boolean>>({});
  const live = useMemo(() => settings.filter((setting) => setting.live), [settings]);
  useEffect(() => {
    if (device !== undefined) refreshSettings(device);
  }, [device, info]);
  if (!state.enabled && state.askedBelow !== undefined) return <OpenSettings key={device} />;
  if (live.length === 0) return <p class="quiet">{T.none}</p>;
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = live.filter(({ key, description, unit }) => {
    const text = `${key} ${settingLabel(key, unit)} ${groupLabel(groupOf(key))} ${description}`.toLowerCase();
    return (words.length > 0 || !isIdle(key, values)) && words.every((word) => text.includes(word));
  });
  const groups = new Map<string, SettingDescription[]>();
  for (const setting of found) {
    const group = groupOf(setting.key);
    groups.set(group, [...(groups.get(group) ?? []), setting]);
  }
  const isOpen = (group: string) => words.length > 0 || (toggled[group] ?? !isRare(group));
  const all = [...groups.keys()];
  const areOpen = all.every(isOpen);
  return (
    <div class="settings">
      {state.enabled ? (
        state.note !== undefined && <p class="quiet">{state.note}</p>
      ) : (
        <p class="notice">
          {T.off(state.reason)} {T.offHint}
        </p>
      )}
      {state.enabled && presets.length > 0 && <Presets presets={presets} />}
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
        {words.length === 0 && (
          <button
            type="button"
            onClick={() => setToggled(Object.fromEntries(all.map((group) => [group, !areOpen])))}
          >
            {areOpen ? T.closeAll : T.openAll}
          </button>
        )}
      </div>
      {state.enabled && <Steps canSave={state.canSave} />}
      {state.enabled && <Commands />}
      {found.length === 0 && <p class="quiet">{T.noMatch}</p>}
      <div class="groups">
        {[...groups].map(([group, members]) => (
          <details
            key={group}
            data-group={group}
            open={isOpen(group)}
            onToggle={({ currentTarget: { open } }) => {
              if (open !== isOpen(group)) setToggled((old) => ({ ...old, [group]: open }));
            }}
          >
            <summary>
              {groupLabel(group)} <span class="quiet">{members.length}</span>
            </summary>
            <fieldset disabled={!state.enabled} aria-label={groupLabel(group)}>
              {group === "region" && state.enabled && <p class="quiet">{T.region}</p>}
              {members.map((setting) => (
                <SettingRow key={setting.key} setting={setting} value={values[setting.key]} />
              ))}
            </fieldset>
          </details>
        ))}
      </div>
    </div>
  );
}

/** A broker's device reports its settings to who has its secret. */
function OpenSettings() {
  const [said, setSaid] = useState("");
  const [asking, setAsking] = useState(false);
  const { info, state } = useDocuments();
  const refused = unavailableReason(info?.control);
  if (refused !== undefined) return <p class="quiet">{T.refuses(refused)}</p>;
  if (state?.state === "offline" || state?.state === "stopped") return <p class="quiet">{T.offline}</p>;
  const open = async () => {
    setAsking(true);
    const answer = await openSettings();
    setAsking(false);
    setSaid(answer.ok ? "" : refusalText(answer));
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

const presetLabel = (name: string) => `${name[0]?.toUpperCase()}${name.slice(1).replaceAll("-", " ")}`;

/** Sets what a preset names. Which one it was is not kept, because each of its settings can be changed again. */
function Presets({ presets }: { presets: readonly PresetChoice[] }) {
  const [chosen, setChosen] = useState<PresetChoice>();
  const [said, setSaid] = useState<{ ok: boolean; text: string }>();
  const set = async ({ name }: PresetChoice) => {
    const answer = await choosePreset(name);
    if (answer.ok) setSaid({ ok: true, text: T.presetSet(name, Object.keys(answer.values ?? {}).length) });
    else setSaid({ ok: false, text: refusalText(answer) });
  };
  const byUse = presets.filter(({ group }) => group === "use");
  return (
    <section class="presets" aria-labelledby="presets-title">
      <h2 id="presets-title">{T.presets}</h2>
      <ul>
        {byUse.map((preset) => (
          <li key={preset.name}>
            <button type="button" data-preset={preset.name} onClick={() => void set(preset)}>
              <b>{presetLabel(preset.name)}</b>
              <span>{T.presetAbout(preset.summary)}</span>
            </button>
          </li>
        ))}
      </ul>
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
            {presets
              .filter(({ group }) => group !== "use")
              .map(({ name }) => (
                <option key={name}>{name}</option>
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
    </section>
  );
}

/** The way back, and into the configuration file. */
function Steps({ canSave }: { canSave: boolean }) {
  const { steps, unsaved } = useStore((page) => page.changes);
  const [said, setSaid] = useState<{ ok: boolean; text: string }>();
  const last = steps.at(-1);
  const undo = async () => {
    const answer = await undoChange();
    if (answer?.ok === false) setSaid({ ok: false, text: refusalText(answer) });
    else setSaid(undefined);
  };
  const save = async () => {
    const answer = await saveChanges();
    if (!answer.ok) {
      setSaid({ ok: false, text: refusalText(answer) });
      return;
    }
    const { file, overridden } = isRecord(answer.saved) ? answer.saved : {};
    const still = Array.isArray(overridden) ? overridden.join(", ") : "";
    setSaid({ ok: true, text: T.saved(String(file), still) });
  };
  if (last === undefined && !(canSave && unsaved.length > 0) && said === undefined) return null;
  return (
    <div class="steps">
      <div class="buttons">
        {last !== undefined && (
          <button type="button" data-step="undo" onClick={() => void undo()}>
            {T.undo(Object.keys(last))}
          </button>
        )}
        {canSave && unsaved.length > 0 && (
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
