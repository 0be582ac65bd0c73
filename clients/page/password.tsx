// SPDX-License-Identifier: Apache-2.0
// Asks for the page's password; the worker keeps it in memory, for the way back after a loss.
import { useEffect, useRef, useState } from "preact/hooks";
import { login } from "./live.js";
import { S } from "./strings.js";

export function PasswordForm({ reason }: { reason: "needed" | "wrong" | "wait" }) {
  const [text, setText] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const [tries, setTries] = useState(0);
  // Ready to be typed over, also after a wrong one.
  useEffect(() => input.current?.select(), [reason, tries]);
  return (
    <form
      class="password"
      onSubmit={(event) => {
        event.preventDefault();
        login(text);
        setTries(tries + 1);
      }}
    >
      <h1>{S.title}</h1>
      <p role="status" class={reason === "needed" ? "" : "bad"}>
        {S.password[reason]}
      </p>
      <label class="field">
        <span>{S.password.title}</span>
        <input
          ref={input}
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
