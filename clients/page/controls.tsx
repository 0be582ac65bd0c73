// SPDX-License-Identifier: Apache-2.0
// The few kinds of control that the page is made of.
import type { ComponentChildren } from "preact";

interface ChoiceProps {
  label: string;
  value: string;
  choices: Readonly<Record<string, string>>;
  onChange: (value: string) => void;
}

export function Choice({ label, value, choices, onChange }: ChoiceProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {Object.entries(choices).map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Switch({
  label,
  on,
  onChange,
}: {
  label: string;
  on: boolean;
  onChange: (on: boolean) => void;
}) {
  return (
    <label class="check">
      <input type="checkbox" checked={on} onChange={(event) => onChange(event.currentTarget.checked)} />
      {label}
    </label>
  );
}

interface TabsProps {
  /** Names the tab list, and begins the ids of its parts. */
  id: string;
  label: string;
  tabs: Readonly<Record<string, string>>;
  chosen: string;
  onChoose: (tab: string) => void;
  children: ComponentChildren;
}

/** Tabs as the ARIA practices have them: one stop for the Tab key, arrows between them. */
export function Tabs({ id, label, tabs, chosen, onChoose, children }: TabsProps) {
  const names = Object.keys(tabs);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const end = { Home: 0, End: names.length - 1 }[event.key];
    if (step === undefined && end === undefined) return;
    event.preventDefault();
    const next = names[end ?? (names.indexOf(chosen) + (step ?? 0) + names.length) % names.length];
    if (next === undefined) return;
    onChoose(next);
    document.getElementById(`${id}-tab-${next}`)?.focus();
  };
  return (
    <section class={`tabs ${id}`}>
      <div role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {names.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-tab-${name}`}
            aria-selected={name === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => onChoose(name)}
          >
            {tabs[name]}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-tab-${chosen}`}>
        {children}
      </div>
    </section>
  );
}
