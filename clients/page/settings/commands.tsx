// SPDX-License-Identifier: Apache-2.0
// Renders the commands of a device, in addition to its settings: a snapshot of its next frame, and a restart.
import { useState } from "preact/hooks";
import { ask } from "../live.js";
import { download } from "../picture/save.js";
import { refusalText } from "../refusal.js";
import { pageState } from "../store.js";
import { S } from "../strings.js";

const T = S.commands;

const decodeBase64 = (base64: string) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

export function Commands() {
  const [said, setSaid] = useState<{ ok: boolean; text: string }>();
  const [sure, setSure] = useState(false);
  const snapshot = async () => {
    const answer = await ask("snapshot", {});
    if (!answer.ok) {
      setSaid({ ok: false, text: refusalText(answer) });
      return;
    }
    const device = (pageState().device ?? "device").replace(/[^\w.-]/g, "_");
    download(`${device}-snapshot.zip`, [decodeBase64(String(answer.base64))], "application/zip");
    setSaid(undefined);
  };
  const restart = async () => {
    setSure(false);
    const answer = await ask("restart", {});
    setSaid(answer.ok ? { ok: true, text: T.restarting } : { ok: false, text: refusalText(answer) });
  };
  return (
    <div class="commands">
      <div class="buttons">
        <button type="button" data-command="snapshot" title={T.snapshotHint} onClick={() => void snapshot()}>
          {T.snapshot}
        </button>
        <button
          type="button"
          data-command="restart"
          title={T.restartHint}
          onBlur={() => setSure(false)}
          onClick={() => (sure ? void restart() : setSure(true))}
        >
          {sure ? T.sure : T.restart}
        </button>
      </div>
      {said && (
        <p role="status" class={said.ok ? "good" : "bad"} data-said={said.ok ? "ok" : "refused"}>
          {said.text}
        </p>
      )}
    </div>
  );
}
