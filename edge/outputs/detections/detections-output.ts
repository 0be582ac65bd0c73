// SPDX-License-Identifier: Apache-2.0
// Answers messages with detections: finds the frame that each belongs to, measures, and publishes the distances.
import { makeTopics } from "../../../core/frame/topics.js";
import type {
  BrokerAccess,
  FrameLease,
  Output,
  OutputContext,
  OutputCounters,
  OutputPicture,
} from "../../contracts/output.js";
import { RateLimit } from "../../control/rate-limit.js";
import { requireBroker, SideTopics } from "../../mqtt/side-topics.js";
import { RealtimeOffset } from "../mqtt/realtime-offset.js";
import { answerDetections } from "./answer.js";
import { DepthHistory, type Lookup } from "./history.js";
import { type DetectionMessage, parseMessage } from "./message.js";
import type { DetectionsSettings } from "./settings.js";
import { TimeBudget } from "./time-budget.js";
import { Tracks } from "./tracks.js";

/** Larger messages are dropped by an MQTT 5 broker; up to this size the answer names the limit. */
const MAX_PACKET_BYTES = 1 << 20;
/** Refusals that are answered one by one, per second; the others are summed up once a second. */
const MAX_REFUSALS_A_SECOND = 10;
/** Share of the main thread's time that messages may take. */
const MAX_TIME_SHARE = 0.25;
/** How long a detection may be ahead of the frames, and how many messages wait for theirs. */
const WAIT_MS = 1000;
const MAX_WAITING = 64;
const TICK_MS = 250;

export async function openDetections(context: OutputContext<DetectionsSettings>): Promise<Output> {
  const broker = requireBroker(
    context,
    "detections",
    "Set outputs.mqtt.broker to the broker that the detections come from.",
  );
  return new DetectionsOutput(context, broker);
}

interface Waiting {
  message: DetectionMessage;
  untilMs: number;
}

class DetectionsOutput implements Output {
  readonly streams = ["distances"];
  readonly ready: Promise<unknown>;
  readonly #settings: DetectionsSettings;
  readonly #side: SideTopics;
  readonly #topics: { detections: string; distances: string };
  readonly #offset = new RealtimeOffset();
  readonly #history: DepthHistory;
  readonly #tracks: Tracks;
  readonly #limit: RateLimit;
  readonly #refusals = new RateLimit(MAX_REFUSALS_A_SECOND);
  readonly #budget = new TimeBudget(MAX_TIME_SHARE);
  readonly #timer: NodeJS.Timeout;
  #picture: OutputPicture;
  #waiting: Waiting[] = [];
  #measured = 0;
  #ignored = 0;
  readonly #refused: Record<string, number> = {};
  /** Refused messages that no answer named yet, by reason. */
  #unanswered = new Map<string, number>();

  constructor(context: OutputContext<DetectionsSettings>, broker: BrokerAccess) {
    const { base, device, settings, notice } = context;
    this.#settings = settings;
    this.#picture = context;
    const topics = makeTopics(base, device);
    this.#topics = { detections: settings.topic ?? topics.detections, distances: topics.distances };
    this.#history = new DepthHistory(settings.historyFrames);
    this.#tracks = new Tracks(settings.keepSeconds);
    this.#limit = new RateLimit(settings.maxPerSecond);
    this.#side = new SideTopics({
      broker,
      name: `${device}-detections`,
      notice: (text) => notice(`detections: ${text}`),
      subscriptions: [this.#topics.detections],
      maximumPacketBytes: MAX_PACKET_BYTES,
      onMessage: (_, text, retained) => this.#take(text, retained),
    });
    this.ready = this.#side.ready;
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  configure(_: DetectionsSettings, picture: OutputPicture): void {
    if (picture.rig !== this.#picture.rig) {
      this.#history.clear();
      this.#tracks.clear();
    }
    this.#picture = picture;
  }

  frame(lease: FrameLease): void {
    const { frame } = lease;
    const offset = this.#offset.of(frame.clock);
    const capturedNs =
      offset === undefined
        ? frame.arrivedNs + this.#offset.monotonicToRealtimeNs
        : frame.leftTimestampNs + offset;
    this.#history.add(frame, Number(capturedNs) / 1e6);
    lease.release();
    lease.sent();
    if (this.#waiting.length > 0) this.#serveWaiting(performance.now());
  }

  #take(text: string, retained: boolean): void {
    // A retained message is as old as anything.
    if (retained) this.#refuse("retained", undefined, "retained messages are ignored");
    else if (!this.#limit.take()) {
      const { maxPerSecond } = this.#settings;
      this.#refuse("rateLimit", undefined, `more than ${maxPerSecond} detections a second`);
    } else if (!this.#budget.spend(() => this.#serve(text)))
      this.#refuse("busy", undefined, `detections took ${100 * MAX_TIME_SHARE} % of the time already`);
  }

  #serve(text: string): void {
    const { format, camera, imageWidth: width, imageHeight: height } = this.#settings;
    const imageSize = width === undefined || height === undefined ? undefined : { width, height };
    const message = parseMessage(text, { format, camera, imageSize });
    if (message === undefined) {
      this.#ignored++;
      return;
    }
    if ("reason" in message) {
      this.#refuse("invalid", message.id, message.reason);
      return;
    }
    for (let extra = 1; extra < message.detections.length; extra++)
      if (!this.#limit.take()) {
        const { maxPerSecond } = this.#settings;
        this.#refuse("rateLimit", message.id, `more than ${maxPerSecond} detections a second`);
        return;
      }
    if (this.#answer(message, false)) return;
    if (this.#waiting.length < MAX_WAITING)
      this.#waiting.push({ message, untilMs: performance.now() + WAIT_MS });
    else this.#refuse("waiting", message.id, `${MAX_WAITING} messages wait for their frames already`);
  }

  #find({ reference }: DetectionMessage, isLast: boolean): Lookup {
    const { delayMs, toleranceMs } = this.#settings;
    switch (reference.kind) {
      case "newest":
        return this.#history.newest ?? "empty";
      case "time":
        return this.#history.byTime(reference.timeMs - delayMs, toleranceMs, isLast);
      case "timestamp":
        return this.#history.byTimestamp(reference.timestampNs, toleranceMs, isLast);
      case "sequence":
        return this.#history.bySequence(reference.sequence);
    }
  }

  /** @returns false if the message should wait for a frame */
  #answer(message: DetectionMessage, isLast: boolean): boolean {
    const { id, reference, detections } = message;
    for (const { id: ended } of detections.filter((detection) => detection.ended))
      if (ended !== undefined) this.#tracks.end(ended);
    if (detections.length > 0 && detections.every(({ ended }) => ended)) {
      this.#publish({
        id,
        ok: true,
        detections: detections.map((detection) => ({
          id: detection.id,
          label: detection.label,
          ended: true,
        })),
        nearestMetres: this.#tracks.nearest(),
      });
      return true;
    }
    const found = this.#find(message, isLast);
    if (typeof found === "object") {
      const { minConfidence, image } = this.#settings;
      const options = {
        picture: this.#picture,
        image: message.image ?? image,
        minConfidence: Math.ceil(255 * minConfidence),
      };
      this.#publish({
        id,
        ok: true,
        clock: found.clock,
        leftTimestampNs: String(found.timestampNs),
        leftSequence: found.sequence,
        timeMs: Number(found.timeMs.toFixed(3)),
        detections: answerDetections(found, detections, this.#tracks, options),
        nearestMetres: this.#tracks.nearest(),
      });
      this.#measured += detections.length;
      return true;
    }
    if ((found === "early" || found === "empty") && !isLast) {
      const ahead = reference.kind === "time" ? reference.timeMs - this.#settings.delayMs - Date.now() : 0;
      if (ahead <= WAIT_MS) return false;
      this.#refuse("future", id, `the time is ${Math.round(ahead)} ms in the future; compare the clocks`);
      return true;
    }
    this.#refuse(found, id, this.#reason(found));
    return true;
  }

  #reason(found: Exclude<Lookup, object>): string {
    switch (found) {
      case "early":
        return `no such frame came within ${WAIT_MS} ms`;
      case "empty":
        return "no frame was computed yet";
      case "late":
        return "the frame is older than outputs.detections.historyFrames frames";
      case "missing":
        return "that frame was not kept; outputs.detections.rateHz limits how many are";
    }
  }

  #serveWaiting(now: number): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) if (!this.#answer(one.message, now >= one.untilMs)) this.#waiting.push(one);
  }

  #refuse(cause: string, id: string | undefined, reason: string): void {
    this.#refused[cause] = (this.#refused[cause] ?? 0) + 1;
    if (this.#refusals.take()) this.#publish({ id, ok: false, reason });
    else this.#unanswered.set(cause, (this.#unanswered.get(cause) ?? 0) + 1);
  }

  #tick(): void {
    this.#serveWaiting(performance.now());
    if (this.#unanswered.size === 0 || !this.#refusals.take()) return;
    const refused = Object.fromEntries(this.#unanswered);
    this.#unanswered.clear();
    this.#publish({ ok: false, reason: "too many messages were refused to answer each", refused });
  }

  #publish(document: object): void {
    this.#side.send(this.#topics.distances, JSON.stringify(document));
  }

  counters(): OutputCounters {
    const { sent, bytes, drops, connected } = this.#side;
    return {
      sent,
      bytes,
      drops: {},
      details: {
        connected,
        measured: this.#measured,
        waiting: this.#waiting.length,
        ignored: this.#ignored,
        refused: { ...this.#refused },
        messageDrops: { ...drops },
      },
    };
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#side.close();
  }
}
