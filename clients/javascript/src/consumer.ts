// SPDX-License-Identifier: Apache-2.0
// Subscribes to depthwatt's topics and hands out checked frames. For Node and browsers.
import type { MqttClient } from "mqtt";
import { isRegistered, STREAM_CODES, type StreamName } from "../../../core/frame/frame-format.js";
import { type FrameHeader, parseFrame } from "../../../core/frame/payload.js";
import { checkBaseTopic, checkDeviceName, registeredLeaf, splitTopic } from "../../../core/frame/topics.js";
import { DepthwattError, isDepthwattError, redactBrokenUrl } from "../../../core/index.js";
import { refusedSubscription } from "../../../core/mqtt/broker-errors.js";
import { BrokerConnection, type BrokerStatus, uniqueClientId } from "../../../core/mqtt/connection.js";
import { LARGEST_PACKET_BYTES } from "../../../core/mqtt/packet-meter.js";
import { type Continuity, ContinuityByStream } from "./continuity.js";
import {
  type Counts,
  checkPixels,
  DEFAULT_MAX_PIXELS,
  decodeBody,
  decodePoints,
  type Points,
  toValues,
} from "./decode.js";
import { Emitter } from "./emitter.js";
import { frameLatencyMs } from "./latency.js";

export interface ConsumerOptions {
  /** Default "depthwatt". */
  base?: string;
  /** Default: every device below the base topic. */
  device?: string;
  /** Default ["depth"]. */
  streams?: readonly StreamName[];
  /** Also emits `grid`, from the topic of outputs.derived. Default false. */
  grid?: boolean;
  username?: string;
  password?: string;
  /** PEM texts; Node only, browsers bring their own authorities. */
  ca?: Uint8Array;
  cert?: Uint8Array;
  key?: Uint8Array;
  protocolVersion?: "auto" | 4 | 5;
  /** Longest pause between two attempts to connect, milliseconds; default 30 000. */
  longestPauseMs?: number;
  /** Frames that claim more pixels are `invalid` and never unpacked; default 2^24, 4096 x 4096. */
  maxPixels?: number;
}

/** One frame whose header and CRC were found right; its body is unpacked when asked for. */
export interface ReceivedFrame {
  device: string;
  stream: StreamName;
  header: FrameHeader;
  /** Packed body, a view of the message. */
  body: Uint8Array;
  messageBytes: number;
  /** From capture to now; undefined where the clocks cannot be compared. */
  latencyMs: number | undefined;
  /** Frames of this stream lost just before this one. */
  missingBefore: number;
  /** Counts as they travel. @throws DepthwattError PAYLOAD_INVALID */
  counts(): Counts;
  /** Metres or pixels, NaN = no value. @throws DepthwattError PAYLOAD_INVALID */
  values(): Float32Array;
  /**
   * Only for the stream points: returns the position of each pixel, and its colour. @throws DepthwattError
   * PAYLOAD_INVALID
   */
  points(): Points;
}

export interface ConsumerEvents {
  frame: ReceivedFrame;
  /** A message on a stream's topic that is no frame; `crc` where it was damaged on its way. */
  invalid: { device: string; stream: StreamName; crc: boolean; error: DepthwattError };
  /** Two or more publishers send this stream at once, under one device name; emitted once for each set of them. */
  concurrentPublishers: { device: string; stream: StreamName; runIds: readonly number[] };
  /** `runId` is that of the publisher's frames; undefined where it does not say. */
  state: { device: string; state: string; reason: string; runId: number | undefined };
  info: { device: string; info: unknown };
  cameraInfo: { device: string; cameraInfo: unknown };
  metrics: { device: string; metrics: unknown };
  /** The floor from above; only with the option `grid`. */
  grid: { device: string; grid: unknown };
  status: BrokerStatus;
}

/** Leaves of JSON messages, and the event each becomes. */
const DOCUMENTS = {
  state: "state",
  info: "info",
  camera_info: "cameraInfo",
  metrics: "metrics",
  grid: "grid",
} as const;

/** A frame of another stream would be taken for depth: its values are read by its header, but no consumer looks at `quantity`. */
function refuseStream(expected: StreamName, found: StreamName): never {
  throw new DepthwattError(
    "PAYLOAD_INVALID",
    `frame header: expected stream ${expected} as in the topic, found ${found}`,
    { context: { field: "stream", expected, found } },
  );
}

export class Consumer extends Emitter<ConsumerEvents> {
  /** Outcome of the first attempt to connect; never rejects. Later attempts continue automatically. */
  readonly firstAttempt: Promise<BrokerStatus>;
  readonly #base: string;
  readonly #filters: string[];
  readonly #continuity = new ContinuityByStream();
  /** Number of competing runs that were reported, by stream; as bounded as the streams that are remembered. */
  readonly #reportedPublishers = new WeakMap<Continuity, number>();
  readonly #maxPixels: number;
  readonly #connection: BrokerConnection | undefined;
  readonly #given: MqttClient | undefined;
  #client: MqttClient | undefined;
  readonly #asked = new Set<string>();
  readonly #receive = (topic: string, payload: Uint8Array) => this.#take(topic, payload);
  readonly #resubscribe = () => void this.#given?.subscribe(this.#filters);

  /** @throws DepthwattError CONFIG_INVALID for a base or device that is no topic */
  constructor(broker: string | MqttClient, options: ConsumerOptions = {}) {
    super();
    const {
      base = "depthwatt",
      device,
      streams = ["depth"],
      grid = false,
      protocolVersion = "auto",
      maxPixels = DEFAULT_MAX_PIXELS,
      longestPauseMs = 30_000,
      ...credentials
    } = options;
    checkBaseTopic(base);
    if (device !== undefined) checkDeviceName(device);
    this.#base = base;
    this.#maxPixels = maxPixels;
    const leaves = [
      ...streams.map((name) => (isRegistered(name) ? registeredLeaf(name, "+") : name)),
      ...Object.keys(DOCUMENTS).filter((leaf) => leaf !== "grid" || grid),
    ];
    this.#filters = leaves.map((leaf) => `${base}/${device ?? "+"}/${leaf}`);
    if (typeof broker === "string") {
      const clientId = uniqueClientId("depthwatt-consumer");
      this.#connection = new BrokerConnection(
        {
          url: broker,
          protocolVersion,
          clientId,
          longestPauseMs,
          ...(streams.length > 0 && { maximumPacketBytes: LARGEST_PACKET_BYTES }),
          ...credentials,
        },
        {
          onUp: (client) => {
            this.#client = client;
            client.on("message", this.#receive);
            client.subscribe(this.#filters, (error, _subscriptions, packet) => {
              const codes = (packet as { granted?: number[] } | undefined)?.granted ?? [];
              const refused = this.#filters.filter((_, at) => (codes[at] ?? 0) >= 128);
              // Without a code the connection broke: the next connection subscribes again.
              if (!error || refused.length === 0) return;
              const code = codes.find((one) => one >= 128);
              const reported = refusedSubscription(broker, refused, code);
              this.emit("status", { connected: true, reason: reported.message, error: reported });
            });
          },
          onDown: () => {
            this.#client = undefined;
          },
          onStatus: (status) => this.emit("status", status),
        },
      );
      this.firstAttempt = this.#connection.firstAttempt;
    } else {
      this.#given = broker;
      broker.on("message", this.#receive);
      broker.on("connect", this.#resubscribe);
      if (broker.connected) this.#resubscribe();
      this.firstAttempt = Promise.resolve({ connected: broker.connected, reason: "a client that was given" });
    }
  }

  #take(topic: string, payload: Uint8Array): void {
    const place = splitTopic(this.#base, topic);
    if (place === undefined) return;
    const { device, leaf } = place;
    if (Object.hasOwn(STREAM_CODES, leaf)) this.#takeFrame(device, leaf as StreamName, payload);
    else if (Object.hasOwn(DOCUMENTS, leaf))
      this.#takeDocument(device, leaf as keyof typeof DOCUMENTS, payload);
  }

  #takeFrame(device: string, stream: StreamName, payload: Uint8Array): void {
    try {
      const { header, body } = parseFrame(payload);
      if (header.stream !== stream) refuseStream(stream, header.stream);
      const maxPixels = this.#maxPixels;
      checkPixels(header, maxPixels);
      const counts = () => decodeBody(header, body, { maxPixels });
      const continuity = this.#continuity.of(`${device}/${stream}`);
      const missingBefore = continuity.missingBefore(header);
      this.#reportOtherPublishers(device, stream, continuity);
      this.emit("frame", {
        device,
        stream,
        header,
        body,
        messageBytes: payload.length,
        latencyMs: frameLatencyMs(header),
        missingBefore,
        counts,
        values: () => toValues(header, counts()),
        points: () => decodePoints(header, body, { maxPixels }),
      });
    } catch (error) {
      if (!isDepthwattError(error) || error.code !== "PAYLOAD_INVALID") throw error;
      this.emit("invalid", { device, stream, crc: error.context.field === "crc32", error });
    }
  }

  #reportOtherPublishers(device: string, stream: StreamName, continuity: Continuity): void {
    const runIds = continuity.concurrentRuns;
    if (runIds.length <= (this.#reportedPublishers.get(continuity) ?? 0)) return;
    this.#reportedPublishers.set(continuity, runIds.length);
    this.emit("concurrentPublishers", { device, stream, runIds });
  }

  #takeDocument(device: string, leaf: keyof typeof DOCUMENTS, payload: Uint8Array): void {
    let document: unknown;
    try {
      document = JSON.parse(new TextDecoder().decode(payload));
    } catch {
      // Not ours, or an empty message that clears a retained one.
      return;
    }
    if (leaf === "state") {
      const { state, reason, runId } = Object(document) as Record<string, unknown>;
      // String() would call a toString that the sender chose.
      if (typeof state !== "string") return;
      this.emit("state", {
        device,
        state,
        reason: typeof reason === "string" ? reason : "",
        runId: typeof runId === "number" ? runId : undefined,
      });
    } else if (leaf === "info") this.emit("info", { device, info: document });
    else if (leaf === "camera_info") this.emit("cameraInfo", { device, cameraInfo: document });
    else if (leaf === "grid") this.emit("grid", { device, grid: document });
    else this.emit("metrics", { device, metrics: document });
  }

  /**
   * Subscribes to a device's state, info and camera_info by their exact names: RabbitMQ sends no retained messages to
   * clients that subscribe with wildcards. Only the first call for a device does anything. @throws DepthwattError
   * CONFIG_INVALID
   */
  ask(device: string): void {
    checkDeviceName(device);
    if (this.#asked.has(device)) return;
    this.#asked.add(device);
    const exact = ["state", "info", "camera_info"].map((leaf) => `${this.#base}/${device}/${leaf}`);
    // Subscribed again on each connect.
    this.#filters.push(...exact);
    (this.#client ?? this.#given)?.subscribe(exact, () => {});
  }

  /** Ends the subscription, and no message is reported after the call; a client that was given stays connected. */
  async close(): Promise<void> {
    // Stops messages that arrived with the current one, or that come before the broker knows.
    this.#client?.removeListener("message", this.#receive);
    if (this.#given !== undefined) {
      this.#given.removeListener("message", this.#receive);
      this.#given.removeListener("connect", this.#resubscribe);
      if (this.#given.connected) await this.#given.unsubscribeAsync(this.#filters);
    }
    await this.#connection?.end(500);
  }
}

/**
 * Connects and subscribes.
 * @param broker a URL (mqtt, mqtts, ws, wss; browsers: ws, wss), or a connected client of the mqtt package
 */
export function connectConsumer(broker: string | MqttClient, options: ConsumerOptions = {}): Consumer {
  if (typeof broker === "string" && !/^(mqtts?|wss?):\/\//.test(broker)) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `expected a mqtt, mqtts, ws or wss URL, got ${JSON.stringify(redactBrokenUrl(broker))}`,
      {
        hint: "Write a URL such as mqtt://broker.local:1883.",
      },
    );
  }
  return new Consumer(broker, options);
}
