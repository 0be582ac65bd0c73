// SPDX-License-Identifier: Apache-2.0
// Publishes alarms, retained, on a connection whose last will makes them unavailable.
import type { BrokerAccess } from "../../contracts/output.js";
import { SideTopics } from "../../mqtt/side-topics.js";
import { type Alarm, type AlarmRule, renewAlarms, type ZoneReading } from "./alarms.js";

/** Alarms are published when one changes, and again after this time. */
const REPEAT_MS = 10_000;
/** MQTT 5 brokers forget them after this time, so that an alarm of a device that is gone does not stay off. */
const EXPIRY_SECONDS = 30;
const CHECK_MS = 250;
const LEAST_STALE_MS = 2000;

const unavailable = (reason: string) => JSON.stringify({ available: false, reason });

export interface AlarmTopicOptions {
  broker: BrokerAccess;
  device: string;
  topic: string;
  notice(text: string): void;
  /** A clock that never goes back, milliseconds; default: the process's. */
  nowMs?(): number;
}

export class AlarmTopic {
  readonly #options: AlarmTopicOptions;
  readonly #nowMs: () => number;
  #alarms: Alarm[] = [];
  #side: SideTopics | undefined;
  #timer: NodeJS.Timeout | undefined;
  #staleMs = LEAST_STALE_MS;
  #lastFrameMs: number;
  #published = "";
  #publishedMs = 0;
  /** Counts of connections that were closed because there were no alarms any more. */
  #sentBefore = { sent: 0, bytes: 0 };

  constructor(options: AlarmTopicOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#lastFrameMs = this.#nowMs();
  }

  get names(): readonly string[] {
    return this.#alarms.map(({ rule }) => rule.zone);
  }

  get ready(): Promise<unknown> | undefined {
    return this.#side?.ready;
  }

  get sent(): { sent: number; bytes: number } {
    const { sent, bytes } = this.#sentBefore;
    return { sent: sent + (this.#side?.sent ?? 0), bytes: bytes + (this.#side?.bytes ?? 0) };
  }

  /** The word for each alarm, by zone. */
  get states(): Record<string, string> {
    return Object.fromEntries(this.#alarms.map(({ rule, state }) => [rule.zone, state.state]));
  }

  /** @param rateHz frames a second that are expected at most */
  configure(rules: readonly AlarmRule[], sameZone: (name: string) => boolean, rateHz: number | "max"): void {
    this.#staleMs = Math.max(LEAST_STALE_MS, rateHz === "max" ? 0 : 3000 / rateHz);
    this.#alarms = renewAlarms(this.#alarms, rules, sameZone);
    if (rules.length === 0) {
      void this.#end("");
      return;
    }
    if (this.#side === undefined) {
      const { broker, device, topic, notice } = this.#options;
      this.#side = new SideTopics({
        broker,
        name: `${device}-alarms`,
        notice,
        will: { topic, payload: unavailable("the device is not connected") },
      });
      this.#timer = setInterval(() => this.check(), CHECK_MS).unref();
      this.#published = "";
    }
    this.#publish();
  }

  frame(readings: Record<string, ZoneReading>): void {
    if (this.#alarms.length === 0) return;
    const nowMs = this.#nowMs();
    this.#lastFrameMs = nowMs;
    for (const alarm of this.#alarms)
      alarm.frame(nowMs, readings[alarm.rule.zone] ?? { matchedShare: 0, reason: "the zone was not seen" });
    this.#publish();
  }

  /** Notices that frames are missing, and repeats what was published. */
  check(): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#lastFrameMs > this.#staleMs)
      for (const alarm of this.#alarms) alarm.noFrame(nowMs, `no frame for ${this.#staleMs / 1000} s`);
    this.#publish();
  }

  #publish(): void {
    const alarms = Object.fromEntries(
      this.#alarms.map(({ rule, state }) => [rule.zone, { ...state, metres: rule.metres }]),
    );
    const text = JSON.stringify(alarms);
    const nowMs = this.#nowMs();
    if (text === this.#published && nowMs - this.#publishedMs < REPEAT_MS) return;
    this.#published = text;
    this.#publishedMs = nowMs;
    this.#side?.keep(this.#options.topic, JSON.stringify({ timeMs: Date.now(), alarms }), EXPIRY_SECONDS);
  }

  async #end(lastText: string): Promise<void> {
    const side = this.#side;
    clearInterval(this.#timer);
    if (side === undefined) return;
    this.#side = undefined;
    side.keep(this.#options.topic, lastText);
    await side.close();
    this.#sentBefore.sent += side.sent;
    this.#sentBefore.bytes += side.bytes;
  }

  close(): Promise<void> {
    return this.#end(unavailable("the program has ended"));
  }
}
