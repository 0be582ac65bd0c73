// SPDX-License-Identifier: Apache-2.0
// The settings tab: what can be changed while it runs, from the program's own schema.
import { useMemo, useState } from "preact/hooks";
import type { SettingDescription } from "../../../../config/setting.js";
import { useStore } from "../store.js";
import { S } from "../strings.js";
import { SettingRow } from "./setting-row.js";
import { setSecret } from "./secret.js";

const T = S.settings;

export function Settings() {
  const { state, settings, values } = useStore((page) => page.control);
  const [search, setSearch] = useState("");
  const [undo, setUndo] = useState<Record<string, unknown>[]>([]);
  const live = useMemo(() => settings.filter((setting) => setting.live), [settings]);
  if (live.length === 0) return <p class="quiet">{T.none}</p>;
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = live.filter(({ key, description }) => {
    const text = `${key} ${description}`.toLowerCase();
    // Parameters of matchers that do not run are found by searching.
    const matcher = /^match\.(\w+)\./.exec(key)?.[1];
    const idle = words.length === 0 && matcher !== undefined && matcher !== values["match.algorithm"];
    return !idle && words.every((word) => text.includes(word));
  });
  const groups = new Map<string, SettingDescription[]>();
  for (const setting of found) {
    const group = setting.key.slice(0, Math.max(0, setting.key.lastIndexOf(".")));
    groups.set(group, [...(groups.get(group) ?? []), setting]);
  }
  const last = undo.at(-1);
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
        {state.enabled && state.secret && (
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
        {state.enabled && <p class="quiet">{T.region}</p>}
      </div>
      {found.length === 0 && <p class="quiet">{T.noMatch}</p>}
      {[...groups].map(([group, members]) => (
        <fieldset key={group} disabled={!state.enabled}>
          <legend>{group === "" ? S.title : group}</legend>
          {members.map((setting) => (
            <SettingRow
              key={setting.key}
              setting={setting}
              value={values[setting.key]}
              last={last}
              onChanged={(before) => setUndo((list) => [...list.slice(-49), before])}
              onUndone={() => setUndo((list) => list.slice(0, -1))}
            />
          ))}
        </fieldset>
      ))}
    </div>
  );
}
