// SPDX-License-Identifier: Apache-2.0
// What every newcomer must find at the broker: kept here and published again on each connect, because a broker may forget.
import type { MqttClient } from "mqtt";

export class RetainedTopics {
  readonly #values = new Map<string, string>();
  readonly #changed = new Set<string>();
  readonly #unanswered = new Set<string>();

  /** Keeps only the newest value of a topic, however often it changes while the broker is away. */
  set(topic: string, value: string): void {
    this.#values.set(topic, value);
    this.#changed.add(topic);
  }

  /** Marks every topic for a new connection. */
  markAll(): void {
    this.#unanswered.clear();
    for (const topic of this.#values.keys()) this.#changed.add(topic);
  }

  /** The topic whose newest value has waited longest for the broker's acknowledgement. */
  get unanswered(): string | undefined {
    return this.#unanswered.values().next().value;
  }

  /** Publishes a topic once more, though its value is the same. */
  mark(topic: string): void {
    if (this.#values.has(topic)) this.#changed.add(topic);
  }

  /**
   * @param fits whether the broker takes a value of this size
   * @param onAnswer hears the broker's reason code, 0 where it took the value
   */
  publishChanged(
    client: MqttClient,
    fits: (topic: string, value: string) => boolean,
    onAnswer: (topic: string, code: number) => void,
  ): void {
    for (const topic of this.#changed) {
      const value = this.#values.get(topic) ?? "";
      if (!fits(topic, value)) continue;
      this.#unanswered.add(topic);
      client.publish(topic, value, { qos: 1, retain: true }, (error) => {
        this.#unanswered.delete(topic);
        const code = (error as { code?: unknown } | undefined)?.code;
        // A failure without a number means that the connection broke: markAll() on the next one makes up for it.
        if (!error || typeof code === "number") onAnswer(topic, error ? (code as number) : 0);
      });
    }
    this.#changed.clear();
  }
}
