// SPDX-License-Identifier: Apache-2.0
// A bench supply or smart plug on MQTT as a power sensor: this is the connection, power/external.ts is the sensor.
import { redactUrl } from "../../core/index.js";
import type { BrokerConnection } from "../../core/mqtt/connection.js";
import { ExternalSensor, type PowerSensor, type Unavailable } from "../../power/index.js";
import type { Config } from "../config/index.js";
import { checkBrokerUrl } from "../mqtt/credentials.js";

/** Readings older than this many intervals are not shown any more. */
const STALE_INTERVALS = 3;

class MqttSupply extends ExternalSensor {
  #connection: BrokerConnection | undefined;
  #closed = false;

  constructor(supply: Config["power"]["supply"], broker: string, topic: string) {
    super({
      source: topic,
      path: supply.path ?? "",
      unit: supply.unit,
      intervalMs: supply.intervalMs,
      staleAfterMs: STALE_INTERVALS * supply.intervalMs,
    });
    void this.#connect(broker, topic);
  }

  /** The library is two hundred modules: only who has such a supply waits for them. */
  async #connect(broker: string, topic: string): Promise<void> {
    const { BrokerConnection, uniqueClientId } = await import("../../core/mqtt/connection.js");
    if (this.#closed) return;
    const clientId = uniqueClientId("depthwatt-supply");
    this.#connection = new BrokerConnection(
      { url: broker, protocolVersion: "auto", clientId },
      {
        onUp: (client) => {
          client.on("message", (_topic, payload) => this.accept(payload.toString("utf8")));
          client.subscribe(topic);
        },
        onDown: () => {},
        onStatus: (status) => {
          if (!status.connected) this.lose(`${redactUrl(broker)}: ${status.reason}`);
        },
      },
    );
  }

  override close(): void {
    this.#closed = true;
    void this.#connection?.end(500);
  }
}

/**
 * Connects and subscribes; readings come when the supply sends them.
 * @throws DepthwattError CONFIG_INVALID for a URL that is none
 */
export function openSupply(supply: Config["power"]["supply"]): PowerSensor | Unavailable {
  const { broker, topic } = supply;
  if (broker === undefined || topic === undefined) {
    const reason =
      "power.sensor is 'mqtt', so power.supply.broker and power.supply.topic must say where the readings are";
    return { available: false, reason };
  }
  checkBrokerUrl(broker, "power.supply.broker");
  return new MqttSupply(supply, broker, topic);
}
