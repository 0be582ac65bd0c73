// SPDX-License-Identifier: Apache-2.0
// The button that begins and ends a recording on the device. It says why a device cannot record.
import { useState } from "preact/hooks";
import { member, nonEmptyText, unavailableReason } from "../documents.js";
import { ask } from "../live.js";
import { refusalText } from "../refusal.js";
import { controlNow, useDocuments, useStore } from "../store.js";
import { S } from "../strings.js";

const T = S.record;

export function RecordButton() {
  const control = useStore((state) => controlNow(state).state.enabled);
  const recorder = member(useDocuments().metrics?.outputs, "mcap");
  const [refusal, setRefusal] = useState("");
  if (!control || recorder === undefined) return null;
  const missing = unavailableReason(recorder);
  const recording = member(recorder, "recording") === true;
  const toggle = async () => {
    const answer = await ask("record", { recording: !recording });
    setRefusal(answer.ok ? "" : refusalText(answer));
  };
  return (
    <>
      <button
        type="button"
        data-command="record"
        aria-pressed={recording}
        disabled={missing !== undefined}
        title={missing === undefined ? T.hint(nonEmptyText(member(recorder, "file")) ?? "") : T.needsFile}
        onClick={() => void toggle()}
      >
        {T.button}
      </button>
      {refusal !== "" && (
        <p role="status" class="bad">
          {refusal}
        </p>
      )}
    </>
  );
}
