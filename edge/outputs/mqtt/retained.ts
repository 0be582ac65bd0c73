// SPDX-License-Identifier: Apache-2.0
// Keeps the retained messages and publishes them again on each connect, because a broker may lose them, and when
// another client has removed or replaced one.
import type { MqttClient } from "mqtt";

/** Between two renewals of a topic: another client that keeps replacing it must not make this one publish as often. */
const RENEWAL_MS = 5000;

export class RetainedTopics {
  readonly #values = new Map<string, string>();
  readonly #changed = new Set<string>();
  /** Messages that the broker has not acknowledged, oldest first. */
  readonly #unanswered = new Set<{ topic: string }>();
  readonly #renewedMs = new Map<string, number>();
  readonly #renewals = new Map<string, NodeJS.Timeout>();
  readonly #renewalMs: number;

  constructor(renewalMs = RENEWAL_MS) {
    this.#renewalMs = renewalMs;
  }

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

  /** The topic whose value has waited longest for the broker's acknowledgement. */
  get unanswered(): string | undefined {
    return this.#unanswered.values().next().value?.topic;
  }

  get inFlight(): number {
    return this.#unanswered.size;
  }

  get hasChanges(): boolean {
    return this.#changed.size > 0;
  }

  /**
   * Publishes a topic once more, though its value is the same: at once, or when the time between two renewals is over.
   * @param publish called when the topic is among the changed ones
   */
  renew(topic: string, publish: () => void): void {
    if (!this.#values.get(topic) || this.#renewals.has(topic)) return;
    const dueMs = (this.#renewedMs.get(topic) ?? Number.NEGATIVE_INFINITY) + this.#renewalMs;
    const renewal = setTimeout(
      () => {
        this.#renewals.delete(topic);
        this.#renewedMs.set(topic, performance.now());
        this.#changed.add(topic);
        publish();
      },
      Math.max(0, dueMs - performance.now()),
    );
    this.#renewals.set(topic, renewal);
  }

  /** Gives up the renewals that are due later. */
  close(): void {
    for (const renewal of this.#renewals.values()) clearTimeout(renewal);
  }

  /**
   * @param maxInFlight messages that the broker takes before it acknowledges one; further topics wait
   * @param fits whether the broker takes a value of this size
   * @param onAnswer hears the broker's reason code, 0 where it took the value
   */
  publishChanged(
    client: MqttClient,
    maxInFlight: number,
    fits: (topic: string, value: string) => boolean,
    onAnswer: (topic: string, code: number) => void,
  ): void {
    for (const topic of this.#changed) {
      if (this.#unanswered.size >= maxInFlight) return;
      this.#changed.delete(topic);
      const value = this.#values.get(topic) ?? "";
      if (!fits(topic, value)) continue;
      const sent = { topic };
      this.#unanswered.add(sent);
      client.publish(topic, value, { qos: 1, retain: true }, (error) => {
        this.#unanswered.delete(sent);
        const code = (error as { code?: unknown } | undefined)?.code;
        // A failure without a number means that the connection broke: markAll() on the next one makes up for it.
        if (!error || typeof code === "number") onAnswer(topic, error ? (code as number) : 0);
      });
    }
  }
}
