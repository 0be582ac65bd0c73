// SPDX-License-Identifier: Apache-2.0
// Opens the MQTT output: the broker that the settings name, the publisher, one sink for each stream that is on.
import { withHint } from "../../../core/mqtt/broker-errors.js";
import { uniqueClientId } from "../../../core/mqtt/connection.js";
import { type PreparedBroker, prepareBroker } from "../../broker/prepared-broker.js";
import type { TrialBroker } from "../../broker/trial-broker.js";
import type { OutputContext } from "../../contracts/output.js";
import { MqttDoor } from "../../control/mqtt-door.js";
import { readCredentials } from "../../mqtt/credentials.js";
import { MqttOutput } from "./mqtt-output.js";
import { createPublisher } from "./publisher.js";
import type { Publisher } from "./publisher-types.js";
import type { MqttSettings } from "./settings.js";

export async function openMqtt(context: OutputContext<MqttSettings>): Promise<MqttOutput> {
  const { settings, base, device, rateHz, notice } = context;
  let broker: TrialBroker | undefined;
  if (settings.broker === "embedded") {
    const prepared = (context.prepared as PreparedBroker | undefined) ?? prepareBroker();
    broker = await prepared.started;
    void prepared.failed.then((error) => notice(error.message));
    for (const text of broker.notices) notice(text);
  }
  const brokerUrl = broker?.url ?? settings.broker;
  let closing = false;
  let publisher: Publisher | undefined;
  let door: MqttDoor | undefined;
  const close = async () => {
    closing = true;
    await Promise.all([publisher?.close(), door?.close()]);
    await broker?.close();
  };
  try {
    publisher = createPublisher({
      broker: brokerUrl,
      base,
      device,
      ...given(settings, ["username", "passwordFile", "caFile", "certFile", "keyFile"]),
      protocolVersion: broker === undefined ? settings.protocolVersion : 4,
      maxPendingBytes: settings.maxPendingBytes,
      maxPayloadBytes: settings.maxPayloadBytes,
      ...(rateHz !== undefined && { framePeriodMs: 1000 / rateHz }),
      onStatus: (status) => {
        if (status.connected || closing) return;
        const { error } = status;
        // An error that passes automatically needs no advice; another one is reported with its hint.
        notice(`broker: ${error === undefined || error.retryable ? status.reason : withHint(error)}`);
      },
      onNotice: notice,
    });
    door = openDoor(context, brokerUrl, broker !== undefined);
    return new MqttOutput({ context, publisher, door, brokerUrl, embedded: broker !== undefined, close });
  } catch (error) {
    // Files of credentials are read again for each connection, and may be gone by then.
    await close();
    throw error;
  }
}

/** Where requests come in, if they may. */
function openDoor(
  context: OutputContext<MqttSettings>,
  url: string,
  embedded: boolean,
): MqttDoor | undefined {
  const { settings, base, device, control, notice } = context;
  if (control === undefined || control.off !== undefined) return undefined;
  if (control.secret === undefined && !control.brokerAuthenticates) {
    notice("control: only the live page is served; requests over MQTT need control.secretFile");
    return undefined;
  }
  return new MqttDoor({
    base,
    device,
    control,
    notice,
    connection: {
      url,
      clientId: uniqueClientId(`depthwatt-${device}-control`),
      protocolVersion: embedded ? 4 : settings.protocolVersion,
      ...readCredentials(settings),
    },
  });
}

/** The named settings that have a value. */
function given<T extends object, K extends keyof T>(settings: T, keys: readonly K[]) {
  return Object.fromEntries(
    keys.filter((key) => settings[key] !== undefined).map((key) => [key, settings[key]]),
  ) as { [P in K]?: NonNullable<T[P]> };
}
