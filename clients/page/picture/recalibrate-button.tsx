// SPDX-License-Identifier: Apache-2.0
// The button that keeps the correction of a rig as its calibration, and afterwards undoes it.
import { useState } from "preact/hooks";
import { finiteNumber, member, nonEmptyText } from "../documents.js";
import { controlNow, useDocuments, useStore } from "../store.js";
import { S } from "../strings.js";
import { CommandButton } from "./command-button.js";

const T = S.recalibrate;

export function RecalibrateButton() {
  const control = useStore((state) => controlNow(state).state.enabled);
  const correction = member(useDocuments().metrics?.health, "correction");
  const [before, setBefore] = useState<string>();
  const degrees = Math.hypot(
    ...["pitch", "yaw", "roll"].map((axis) => finiteNumber(member(correction, axis)) ?? 0),
  );
  const undo = degrees === 0 && before !== undefined;
  if (!control || (degrees === 0 && !undo)) return null;
  return (
    <CommandButton
      command="recalibrate"
      body={{ undo }}
      label={undo ? T.undo : T.button}
      title={undo ? T.undoHint(before) : T.hint(degrees)}
      onAnswer={(answer) => {
        if (answer.ok) setBefore(undo ? undefined : nonEmptyText(member(answer, "before")));
      }}
    />
  );
}
