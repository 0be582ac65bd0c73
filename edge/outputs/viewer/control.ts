// SPDX-License-Identifier: Apache-2.0
// Gives the page access to the run's settings through control's requests. If there is a secret, the page signs them, so
// that an eavesdropped request is useless.
import type { RunControl } from "../../contracts/control.js";
import { RequestGate } from "../../control/gate.js";
import type { HubControl, Visitor } from "./hub.js";
import type { ControlState } from "./protocol.js";

const TRIAL_NOTE =
  "No secret is needed, because only this machine reaches this page. To change files and sources too, set control.secretFile.";
const TRIAL_ELSEWHERE =
  "open the page on the machine that runs the program, at 127.0.0.1 and without a proxy, or set control.secretFile.";

export interface PageControlOptions {
  control: RunControl;
  /** BASE/DEVICE. */
  device: string;
  /** True if a page must pass the server's password before it can ask. */
  gated: boolean;
  notice(text: string): void;
}

export function createPageControl({ control, device, gated, notice }: PageControlOptions): HubControl {
  const { secret, trial, canSave } = control;
  // A topic has no blank, so a signature for the page is invalid at the same device's broker endpoint.
  const signedFor = `page of ${device}`;
  const unproven = secret === undefined && !gated;
  const off =
    control.off ?? (unproven ? "control needs control.secretFile or http.passwordFile." : undefined);
  const state: ControlState =
    off === undefined
      ? { enabled: true, canSave, ...(secret !== undefined && { signedFor }) }
      : { enabled: false, reason: off };
  const stateFor = ({ local }: Visitor): ControlState => {
    if (!trial) return state;
    return local ? { enabled: true, canSave, note: TRIAL_NOTE } : { enabled: false, reason: TRIAL_ELSEWHERE };
  };
  const gate = new RequestGate({
    device: signedFor,
    secret,
    perform: (command, body, from) => control.perform(command, body, from),
  });

  return {
    describe: (visitor) => ({ type: "control", state: stateFor(visitor), ...control.settings() }),
    async ask({ id, command, payload }, visitor) {
      const { who } = visitor;
      const now = stateFor(visitor);
      if (!now.enabled) {
        const message = "Nothing can be changed from here.";
        const answer = {
          ok: false,
          code: "CONTROL_UNSUPPORTED",
          message,
          hint: `It is off: ${now.reason}`,
        } as const;
        return { type: "answer", id, answer };
      }
      const answer = await gate.answer(command, Buffer.from(payload), { who: `the page at ${who}` });
      if (answer?.ok === false && answer.code === "CONTROL_SECRET")
        notice(`a request of the page at ${who} was refused: ${answer.message}`);
      if (answer !== undefined) return { type: "answer", id, answer };
      const message = "Too many requests were refused; this one was only counted.";
      const busy = { ok: false, code: "CONTROL_BUSY", message, hint: "Wait a second." } as const;
      return { type: "answer", id, answer: busy };
    },
  };
}
