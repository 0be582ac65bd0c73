// SPDX-License-Identifier: Apache-2.0
// The button that begins and ends a recording on the device. It says why a device cannot record.
import { member, nonEmptyText, unavailableReason } from "../documents.js";
import { controlNow, useDocuments, useStore } from "../store.js";
import { S } from "../strings.js";
import { CommandButton } from "./command-button.js";

const T = S.record;

export function RecordButton() {
  const control = useStore((state) => controlNow(state).state.enabled);
  const recorder = member(useDocuments().metrics?.outputs, "mcap");
  if (!control || recorder === undefined) return null;
  const missing = unavailableReason(recorder);
  const recording = member(recorder, "recording") === true;
  return (
    <CommandButton
      command="record"
      body={{ recording: !recording }}
      label={T.button}
      title={missing === undefined ? T.hint(nonEmptyText(member(recorder, "file")) ?? "") : T.needsFile}
      pressed={recording}
      disabled={missing !== undefined}
    />
  );
}
