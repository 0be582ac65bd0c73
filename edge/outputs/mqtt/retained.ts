// SPDX-License-Identifier: Apache-2.0
// What every newcomer must find at the broker: kept here and published again on each connect, because a broker may forget.
import type { MqttClient } from "mqtt";

export class RetainedTopics {
  private readonly values = new Map<string, string>();
  private readonly changed = new Set<string>();

  /** Keeps only the newest value of a topic, however often it changes while the broker is away. */
  set(topic: string, value: string): void {
    this.values.set(topic, value);
    this.changed.add(topic);
  }

  markAll(): void {
    for (const topic of this.values.keys()) this.changed.add(topic);
  }

  publishChanged(client: MqttClient): void {
    for (const topic of this.changed) {
      client.publish(topic, this.values.get(topic) ?? "", { qos: 1, retain: true }, ignoreFailure);
    }
    this.changed.clear();
  }
}

// A failure here means that the connection broke: markAll() on the next one makes up for it.
function ignoreFailure(): void {}
