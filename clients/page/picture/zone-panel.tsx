// SPDX-License-Identifier: Apache-2.0
// Lists the zones by name, including a zone that is being drawn. Everything that the mouse does on the image has a button
// here.
import { useState } from "preact/hooks";
import type { ControlAnswer } from "../../../edge/outputs/viewer/protocol.js";
import { member, unavailableReason } from "../documents.js";
import { refusalText } from "../refusal.js";
import { useDocuments } from "../store.js";
import { S } from "../strings.js";
import { addZone, freeName, type Point, removeZone, type Zone } from "./zones.js";

const T = S.zones;

function distanceText(metres: number | undefined): string {
  if (metres === undefined) return "";
  return Number.isNaN(metres) ? T.tooFew : T.nearest(`${metres.toFixed(2)} ${S.units.m}`);
}

/** The state of a zone's alarm as the device publishes it. */
function AlarmWord({ state }: { state: unknown }) {
  if (state !== "on" && state !== "off" && state !== "unknown") return null;
  return (
    <span class={`alarm ${state}`} data-alarm={state}>
      {T.alarm[state]}{" "}
    </span>
  );
}

interface ZonePanelProps {
  zones: readonly Zone[];
  /** Corners of the zone that is being drawn; undefined: none is. */
  corners: readonly Point[] | undefined;
  /** Metres in the frame on screen; NaN: too few pixels were matched; undefined: no depth. */
  nearest: (zone: Zone) => number | undefined;
  onCorners: (corners: readonly Point[] | undefined) => void;
}

export function ZonePanel({ zones, corners, nearest, onCorners }: ZonePanelProps) {
  const [name, setName] = useState<string>();
  const [said, setSaid] = useState<{ ok: boolean; text: string }>();
  const derived = member(useDocuments().metrics?.outputs, "derived");
  const alarms = member(derived, "alarms");
  const chosen = name ?? freeName(zones);
  const report = (answer: ControlAnswer, done: string) =>
    setSaid({ ok: answer.ok, text: answer.ok ? done : refusalText(answer) });
  const finish = async () => {
    if (corners === undefined) return;
    const answer = await addZone({ name: chosen, corners });
    report(answer, T.drawn(chosen));
    if (!answer.ok) return;
    setName(undefined);
    onCorners(undefined);
  };
  return (
    <section class="zones" aria-labelledby="zones-title">
      <h2 id="zones-title">{T.title}</h2>
      {corners === undefined ? (
        <>
          {derived !== undefined && (
            <p class="quiet">{unavailableReason(derived) === undefined ? T.published : T.unpublished}</p>
          )}
          <ul>
            {zones.map((zone) => (
              <li key={zone.name} data-zone={zone.name}>
                {zone.name} <b data-zone-nearest={zone.name}>{distanceText(nearest(zone))}</b>{" "}
                <AlarmWord state={member(alarms, zone.name)} />
                <button
                  type="button"
                  aria-label={`${T.remove} ${zone.name}`}
                  onClick={async () => report(await removeZone(zone.name), T.removed(zone.name))}
                >
                  {T.remove}
                </button>
              </li>
            ))}
          </ul>
          <button type="button" onClick={() => onCorners([])}>
            {T.draw}
          </button>
        </>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void finish();
          }}
        >
          <p class="quiet">{T.hint}</p>
          <label class="field">
            <span>{T.name}</span>
            <input
              value={chosen}
              maxLength={32}
              pattern="[A-Za-z0-9_\-]+"
              onInput={(event) => setName(event.currentTarget.value)}
            />
          </label>
          <p data-zone-corners={corners.length}>{T.corners(corners.length)}</p>
          <div class="buttons">
            <button type="submit" disabled={corners.length < 3}>
              {T.finish}
            </button>
            <button
              type="button"
              disabled={corners.length === 0}
              onClick={() => onCorners(corners.slice(0, -1))}
            >
              {T.back}
            </button>
            <button type="button" onClick={() => onCorners(undefined)}>
              {T.cancel}
            </button>
          </div>
        </form>
      )}
      {said && (
        <p role="status" class={said.ok ? "good" : "bad"} data-said={said.ok ? "ok" : "refused"}>
          {said.text}
        </p>
      )}
    </section>
  );
}
