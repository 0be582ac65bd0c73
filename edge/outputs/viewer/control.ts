// SPDX-License-Identifier: Apache-2.0
// The page's way to the settings of the run: who may change them, how often, and what is answered.
import { isDepthwattError } from "../../../core/index.js";
import { PasswordGate } from "../../http/index.js";
import type { RunControl } from "../output.js";
import type { HubControl } from "./hub.js";
import type { ControlState, ToPage } from "./protocol.js";

type Answer = Extract<ToPage, { type: "answer" }>;

/** Changes a second that all pages together may ask for. */
const MOST_A_SECOND = 10;

/** @param gated whether a page has passed the server's password before it can ask */
export function controlOf(
  control: RunControl,
  gated: boolean,
  notice: (text: string) => void,
  now: () => number = () => performance.now(),
): HubControl {
  const secret = control.secret === undefined ? undefined : new PasswordGate(control.secret);
  const unproven = secret === undefined && !gated;
  const off =
    control.off ?? (unproven ? "control needs control.secretFile or http.passwordFile." : undefined);
  const state: ControlState =
    off === undefined ? { enabled: true, secret: secret !== undefined } : { enabled: false, reason: off };
  const asked: number[] = [];

  const refused = (id: number, code: string, message: string, hint: string): Answer => ({
    ...{ type: "answer", id, ok: false, code, message, hint },
  });

  return {
    describe: () => ({ type: "control", state, ...control.settings() }),
    async set({ id, values, secret: given = "" }, who) {
      if (off !== undefined)
        return refused(id, "CONTROL_OFF", "Nothing can be changed from here.", `It is off: ${off}`);
      while (asked[0] !== undefined && asked[0] < now() - 1000) asked.shift();
      if (asked.length >= MOST_A_SECOND)
        return refused(id, "CONTROL_BUSY", `More than ${MOST_A_SECOND} changes a second.`, "Wait a moment.");
      asked.push(now());
      const found = secret?.check(given) ?? "right";
      if (found !== "right") {
        notice(`a change of settings by the page at ${who} was refused: ${found} secret`);
        const hint = found === "wait" ? "Wait a few seconds." : "Give the secret of control.secretFile.";
        return refused(id, "CONTROL_SECRET", "The control secret is not the right one.", hint);
      }
      try {
        const effective = await control.apply(values, `the page at ${who}`);
        const pairs = Object.entries(effective).map(([key, value]) => `${key}=${String(value)}`);
        notice(`settings changed by the page at ${who}: ${pairs.join(", ")}`);
        return { type: "answer", id, ok: true, values: { ...effective } };
      } catch (error) {
        if (isDepthwattError(error)) return refused(id, error.code, error.message, error.hint);
        throw error;
      }
    },
  };
}
