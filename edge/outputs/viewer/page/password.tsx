// SPDX-License-Identifier: Apache-2.0
// Asks for the page's password; the worker keeps it in memory, for the way back after a loss.
import { useState } from "preact/hooks";
import { login } from "./live.js";
import { S } from "./strings.js";

export function PasswordForm({ reason }: { reason: "needed" | "wrong" | "wait" }) {
  const [text, setText] = useState("");
  return (
    <form
      class="password"
      onSubmit={(event) => {
        event.preventDefault();
        login(text);
      }}
    >
      <h1>{S.title}</h1>
      <p role="status">{S.password[reason]}</p>
      <label class="field">
        <span>{S.password.title}</span>
        <input
          type="password"
          autocomplete="current-password"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit">{S.password.enter}</button>
    </form>
  );
}
