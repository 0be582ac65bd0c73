// SPDX-License-Identifier: Apache-2.0
// The button that keeps the correction of a rig as its calibration, and afterwards undoes it.
import { useState } from "preact/hooks";
import { finiteNumber, member, nonEmptyText } from "../documents.js";
import { ask } from "../live.js";
import { refusalText } from "../refusal.js";
import { controlNow, useDocuments, useStore } from "../store.js";
import { S } from "../strings.js";

const T = S.recalibrate;

export function RecalibrateButton() {
  const control = useStore((state) => controlNow(state).state.enabled);
  const correction = member(useDocuments().metrics?.health, "correction");
  const [before, setBefore] = useState<string>();
  const [refusal, setRefusal] = useState("");
  const angles = ["pitch", "yaw", "roll"].map((axis) => finiteNumber(member(correction, axis)) ?? 0);
  const degrees = Math.hypot(...angles);
  if (!control || (degrees === 0 && before === undefined && refusal === "")) return null;
  const undo = degrees === 0 && before !== undefined;
  const change = async () => {
    const answer = await ask("recalibrate", { undo });
    setRefusal(answer.ok ? "" : refusalText(answer));
    if (answer.ok) setBefore(undo ? undefined : nonEmptyText(member(answer, "before")));
  };
  return (
    <>
      <button
        type="button"
        data-command="recalibrate"
        title={undo ? T.undoHint(before) : T.hint(degrees)}
        onClick={() => void change()}
      >
        {undo ? T.undo : T.button}
      </button>
      {refusal !== "" && (
        <p role="status" class="bad">
          {refusal}
        </p>
      )}
    </>
  );
}
