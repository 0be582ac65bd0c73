// SPDX-License-Identifier: Apache-2.0
// Publishes the state of a device whose outputs are not open, such as a rig that waits for its camera.
import { makeTopics } from "../../../core/frame/topics.js";
import { BrokerConnection, uniqueClientId } from "../../../core/mqtt/connection.js";
import type { DeviceState } from "../../contracts/output.js";
import { readCredentials } from "../../mqtt/credentials.js";
import type { MqttSettings } from "./settings.js";

export interface AbsentDevice {
  settings: MqttSettings;
  base: string;
  device: string;
  /** The broker, where the settings name no URL. */
  url?: string | undefined;
}

export class AbsentState {
  readonly #connection: BrokerConnection;
  readonly #publish: () => void;
  #send: ((payload: string) => void) | undefined;
  #document = "";

  /** @throws DepthwattError of credentials that cannot be read */
  constructor({ settings, base, device, url }: AbsentDevice) {
    const topic = makeTopics(base, device).state;
    this.#publish = () => this.#send?.(this.#document);
    this.#connection = new BrokerConnection(
      {
        url: url ?? settings.broker,
        protocolVersion: url === undefined ? settings.protocolVersion : 4,
        clientId: uniqueClientId(`depthwatt-${device}-state`),
        ...readCredentials(settings),
      },
      {
        onUp: (client) => {
          this.#send = (payload) => client.publish(topic, payload, { qos: 1, retain: true }, () => {});
          this.#publish();
        },
        onDown: () => {
          this.#send = undefined;
        },
        onStatus: () => {},
      },
    );
  }

  state(state: DeviceState, reason: string, code: string): void {
    this.#document = JSON.stringify({ state, reason, code });
    this.#publish();
  }

  /** Disconnects. The state stays until the outputs replace it. */
  async close(): Promise<void> {
    await this.#connection.end(500);
  }
}
