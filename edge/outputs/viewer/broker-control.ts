// SPDX-License-Identifier: Apache-2.0
// Passes signed requests from the page to a broker's devices, unchanged. The secret is neither here nor at the broker.
// Unsigned requests are not passed on: they would change a device with this process's broker credentials, not the
// visitor's.
import { z } from "zod";
import { DepthwattError, isDepthwattError } from "../../../core/index.js";
import type { ControlAnswer } from "../../contracts/control.js";
import { refusalFrom } from "../../control/answer.js";
import { type ControlClientOptions, sendRequest } from "../../control/client.js";
import type { HubControl } from "./hub.js";

export type BrokerControlOptions = Pick<
  ControlClientOptions,
  "broker" | "base" | "credentials" | "timeoutMs"
>;

/** Each is its own connection for as long as a device takes to answer. */
const MAX_REQUESTS = 8;

const signedSchema = z.strictObject({ signed: z.string(), signature: z.string() });
const idSchema = z.object({ id: z.string().min(1).max(64) });

/** @throws DepthwattError CONTROL_SECRET, CONTROL_INVALID */
function requestId(payload: string): string {
  try {
    const signed = signedSchema.safeParse(JSON.parse(payload));
    if (signed.success) return idSchema.parse(JSON.parse(signed.data.signed)).id;
  } catch (cause) {
    throw new DepthwattError("CONTROL_INVALID", "expected a request with an id, got something else", {
      cause,
    });
  }
  throw new DepthwattError("CONTROL_SECRET", "expected a signed request; this one is not signed", {
    hint: "Give the device's control secret. A device that trusts its broker is changed by 'depthwatt set'.",
  });
}

export function brokerControl(options: BrokerControlOptions): HubControl {
  let inWork = 0;
  const pass = async (device: string, command: string, payload: string): Promise<ControlAnswer> => {
    if (inWork >= MAX_REQUESTS)
      throw new DepthwattError("CONTROL_BUSY", `expected at most ${MAX_REQUESTS} requests at a time`);
    if (!/^[a-z]{1,32}$/.test(command))
      throw new DepthwattError("CONTROL_INVALID", "expected a command of small letters, got something else");
    const id = requestId(payload);
    inWork++;
    try {
      return await sendRequest({ ...options, device }, command, { id, payload });
    } finally {
      inWork--;
    }
  };
  return {
    describe: () => ({
      type: "control",
      state: { enabled: false, reason: "", askedBelow: options.base },
      settings: [],
      values: {},
      presets: [],
    }),
    async ask({ id, device, command, payload }) {
      try {
        return { type: "answer", id, answer: await pass(device ?? "", command, payload) };
      } catch (error) {
        if (isDepthwattError(error)) return { type: "answer", id, answer: refusalFrom(error) };
        throw error;
      }
    },
  };
}
