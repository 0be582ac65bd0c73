// SPDX-License-Identifier: Apache-2.0
// A button that sends a command to the device, and the reason where the device refuses it.
import { useState } from "preact/hooks";
import type { ControlAnswer } from "../../../edge/outputs/viewer/protocol.js";
import { ask } from "../live.js";
import { refusalText } from "../refusal.js";

interface CommandButtonProps {
  command: string;
  body: object;
  label: string;
  title: string;
  pressed?: boolean;
  disabled?: boolean;
  onAnswer?(answer: ControlAnswer): void;
}

export function CommandButton(props: CommandButtonProps) {
  const { command, body, label, title, pressed, disabled, onAnswer } = props;
  const [refusal, setRefusal] = useState("");
  const send = async () => {
    const answer = await ask(command, body);
    setRefusal(answer.ok ? "" : refusalText(answer));
    onAnswer?.(answer);
  };
  return (
    <>
      <button
        type="button"
        data-command={command}
        aria-pressed={pressed}
        disabled={disabled}
        title={title}
        onClick={() => void send()}
      >
        {label}
      </button>
      {refusal !== "" && (
        <p role="status" class="bad">
          {refusal}
        </p>
      )}
    </>
  );
}
