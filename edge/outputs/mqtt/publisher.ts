// SPDX-License-Identifier: Apache-2.0
// Sends frames straight from the engine's memory: newest frame wins, nothing is queued, copied or waited for, and every
// frame that does not reach the socket is counted under a cause.
import { randomInt } from "node:crypto";
import type { MqttClient, Packet } from "mqtt";
import { localClockDomain } from "../../../core/frame/clock-domain.js";
import type { StreamName } from "../../../core/frame/frame-format.js";
import { type FrameDescription, writeFrame } from "../../../core/frame/payload.js";
import { makeTopics, type Topics } from "../../../core/frame/topics.js";
import { DepthwattError } from "../../../core/index.js";
import { brokerName, withHint } from "../../../core/mqtt/broker-errors.js";
import { BrokerConnection, type BrokerStatus, uniqueClientId } from "../../../core/mqtt/connection.js";
import type { DeviceState } from "../../contracts/output.js";
import { checkBrokerUrl, readCredentials } from "../../mqtt/credentials.js";
import { MAX_REMAINING_LENGTH, plainPacketBytes, publishPacketHead } from "../../mqtt/publish-packet.js";
import { BrokerRefusals } from "./broker-refusals.js";
import { expirySeconds, frameProperties } from "./frame-properties.js";
import { classifyState, documentIn } from "./other-publishers.js";
import type { PublishDropCause, Publisher, PublisherCounters, PublisherOptions } from "./publisher-types.js";
import { RetainedTopics } from "./retained.js";
import {
  makeStreamQueues,
  messageBytes,
  type PendingFrame,
  type StreamQueue,
  sumStreamQueues,
} from "./stream-queue.js";

const DEFAULT_MAX_PENDING_BYTES = 4 << 20;
const DEFAULT_MAX_PAYLOAD_BYTES = 64 << 20;
/** Topic and properties next to the payload; far above what makeTopics allows. */
const PACKET_HEAD_ALLOWANCE = 1024;
const CLOSE_GRACE_MS = 2000;
const DEFAULT_PERIOD_MS = 1000 / 30;
/** MQTT 5 section 3.2.2.3.3: what a broker takes that names no Receive Maximum. */
const DEFAULT_RECEIVE_MAXIMUM = 65_535;

/** @throws DepthwattError CONFIG_INVALID, CONFIG_UNREADABLE: URL, names, credential files. Nothing is thrown later. */
export function createPublisher(options: PublisherOptions): Publisher {
  return new MqttPublisher(options);
}

class MqttPublisher implements Publisher {
  readonly firstAttempt: Promise<BrokerStatus>;
  readonly #topics: Topics;
  readonly #connection: BrokerConnection;
  readonly #retained: RetainedTopics;
  readonly #queues = makeStreamQueues();
  readonly #runId = randomInt(1, 2 ** 32);
  readonly #clockDomain = localClockDomain();
  readonly #maxPendingBytes: number;
  #periodMs: number;
  maxMessageBytes: number;
  #brokersBytes = Number.POSITIVE_INFINITY;
  /** Messages with QoS 1 that the broker takes before it acknowledges one. */
  #receiveMaximum = DEFAULT_RECEIVE_MAXIMUM;
  #client: MqttClient | undefined;
  #version: 4 | 5 = 5;
  #status: BrokerStatus = { connected: false, reason: "connecting" };
  #connections = 0;
  #closing: Promise<void> | undefined;
  /** Called when every document has been sent, or the connection is gone. */
  #onAllSent = () => {};
  readonly #noticed = new Set<string>();
  readonly #refusals: BrokerRefusals;
  /** The broker's limit, if it is what the largest frame exceeds. */
  #brokerLimit: DepthwattError | undefined;
  /** By topic: those whose newest value the broker does not take, and how many values it would not have taken. */
  readonly #tooLarge = new Map<string, DepthwattError>();
  readonly #documents: Record<string, number> = {};
  readonly #options: PublisherOptions;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#retained = new RetainedTopics(options.renewalMs);
    checkBrokerUrl(options.broker);
    this.#topics = makeTopics(options.base, options.device);
    this.#maxPendingBytes = options.maxPendingBytes ?? DEFAULT_MAX_PENDING_BYTES;
    this.#periodMs = options.framePeriodMs ?? DEFAULT_PERIOD_MS;
    this.maxMessageBytes = options.maxPayloadBytes ?? DEFAULT_MAX_PAYLOAD_BYTES;
    const runId = this.#runId;
    const will = JSON.stringify({ state: "offline", reason: "the connection to the device was lost", runId });
    this.#refusals = new BrokerRefusals(options.broker, (error) =>
      this.#notice(error.message, withHint(error)),
    );
    const connection = {
      url: options.broker,
      protocolVersion: options.protocolVersion ?? "auto",
      clientId: options.clientId ?? uniqueClientId(`depthwatt-${options.device}`),
      will: { topic: this.#topics.state, payload: will },
      ...(options.longestPauseMs !== undefined && { longestPauseMs: options.longestPauseMs }),
      ...readCredentials(options),
    };
    this.#connection = new BrokerConnection(connection, {
      onUp: (client, version, connack) => {
        this.#client = client;
        this.#version = version;
        this.#connections++;
        this.#takeLimit(connack.properties?.maximumPacketSize ?? MAX_REMAINING_LENGTH);
        this.#receiveMaximum = connack.properties?.receiveMaximum ?? DEFAULT_RECEIVE_MAXIMUM;
        this.#refusals.forget();
        client.on("error", () => {
          // The connection's own errors end it; a packet that cannot be read leaves it open.
          if (!client.stream.destroyed) this.#refusals.unreadable(this.#retained.unanswered);
        });
        client.on("packetreceive", (packet) => this.#takeAnswer(client, packet));
        client.on("message", (topic, payload, { retain }) => this.#takeDocument(topic, payload, retain));
        // If subscribing is forbidden, a second publisher and a removed document cannot be detected. That is harmless.
        const { state, info, cameraInfo } = this.#topics;
        client.subscribe([state, info, cameraInfo], { qos: 1 }, () => {});
        this.#retained.markAll();
        this.#flush();
      },
      onDown: () => this.#dropAll("lost"),
      onStatus: (status) => {
        this.#status = status;
        options.onStatus?.(status);
      },
    });
    this.firstAttempt = this.#connection.firstAttempt;
  }

  nextFrameNumber(stream: StreamName): number {
    return this.#queues[stream].nextFrameNumber();
  }

  publish(
    buffer: Uint8Array,
    bodyOffset: number,
    bodyBytes: number,
    frame: FrameDescription,
    release: (sent: boolean) => void,
    frameNumber = this.nextFrameNumber(frame.stream),
  ): void {
    const queue = this.#queues[frame.stream];
    const pending: PendingFrame = { buffer, bodyOffset, bodyBytes, frame, frameNumber, release };
    if (this.#closing !== undefined) queue.drop(pending, "closed");
    else if (this.#client === undefined) queue.drop(pending, "offline");
    else if (messageBytes(pending) > this.maxMessageBytes) {
      queue.drop(pending, "oversize");
      this.#noticeOversize(pending);
    } else if (this.#refusals.isRefused(this.#topics.stream(frame.stream, frame.camera)))
      queue.drop(pending, "refused");
    else if (!queue.comesInOrder(pending)) queue.drop(pending, "overtaken");
    else {
      queue.replaceWaiting(pending);
      this.#flush();
    }
  }

  get failure(): DepthwattError | undefined {
    return this.#status.connected
      ? (this.#refusals.refusal ?? this.#brokerLimit ?? this.#tooLarge.values().next().value)
      : this.#status.error;
  }

  /** Applies the broker's largest packet (MQTT 5 section 3.2.2.3.6). */
  #takeLimit(brokerLimit: number): void {
    const own = this.#options.maxPayloadBytes ?? DEFAULT_MAX_PAYLOAD_BYTES;
    this.#brokersBytes = brokerLimit;
    this.maxMessageBytes = Math.min(own, Math.max(0, brokerLimit - PACKET_HEAD_ALLOWANCE));
    this.#brokerLimit = undefined;
    this.#tooLarge.clear();
  }

  /** Most brokers close the connection of a client that exceeds their packet limit. */
  readonly #fits = (topic: string, value: string): boolean => {
    this.#tooLarge.delete(topic);
    const bytes = plainPacketBytes(topic, value);
    if (bytes <= this.#brokersBytes) return true;
    const name = topic.slice(topic.lastIndexOf("/") + 1);
    this.#documents[name] = (this.#documents[name] ?? 0) + 1;
    const error = new DepthwattError(
      "BROKER_REFUSED",
      `the broker ${brokerName(this.#options.broker)} takes packets of at most ${this.#brokersBytes} bytes; ${name} of ${bytes} bytes is dropped`,
      { hint: "Raise the broker's packet limit." },
    );
    this.#tooLarge.set(topic, error);
    this.#notice(`oversize ${name}`, withHint(error));
    return false;
  };

  #takeAnswer(client: MqttClient, packet: Packet): void {
    if (packet.cmd !== "puback" || packet.messageId === undefined) return;
    const { messageId, reasonCode = 0 } = packet as { messageId: number; reasonCode?: number };
    if (!this.#refusals.answer(messageId, reasonCode)) return;
    client.messageIdProvider.deallocate(messageId);
    this.#flush();
  }

  /** @param retained kept by the broker from before this connection, which publishes its own documents first */
  #takeDocument(topic: string, payload: Uint8Array, retained: boolean): void {
    if (topic === this.#topics.state) this.#takeState(topic, payload, retained);
    else if (!retained && documentIn(payload) === undefined) this.#renew(topic);
  }

  #renew(topic: string): void {
    if (this.#closing !== undefined) return;
    this.#retained.renew(topic, () => this.#flush());
  }

  #takeState(topic: string, payload: Uint8Array, retained: boolean): void {
    const said = classifyState(payload, this.#runId, retained);
    if (!retained && (said === "broken" || said === "otherEnded")) this.#renew(topic);
    if (said === "ours" || said === "broken" || said === "ended") return;
    this.#notice(
      "other",
      said === "older"
        ? `another run is still 'online' on ${topic}: if it runs, give each its own device name (--device)`
        : `another depthwatt publishes as ${topic.slice(0, -"/state".length)}: give each its own device name (--device)`,
    );
  }

  /** Sends what may be sent now: changed retained topics first, then each stream's newest frame. */
  #flush(): void {
    const client = this.#client;
    if (client === undefined || client.stream.destroyed) return;
    if (this.#pendingBytes() <= this.#maxPendingBytes) {
      const maxInFlight = this.#receiveMaximum - this.#refusals.inFlight;
      this.#retained.publishChanged(client, maxInFlight, this.#fits, (topic, code) => {
        this.#refusals.recordAnswer(topic, code);
        this.#flush();
      });
    }
    if (!this.#retained.hasChanges) this.#onAllSent();
    for (const queue of Object.values(this.#queues)) {
      const next = queue.waiting;
      if (next === undefined || queue.sending !== undefined) continue;
      const pendingBytes = this.#pendingBytes();
      // An idle socket takes one frame of any size, or a large frame would never leave.
      if (pendingBytes > 0 && pendingBytes + messageBytes(next) > this.#maxPendingBytes) continue;
      queue.waiting = undefined;
      this.#send(client, queue, next);
    }
  }

  #send(client: MqttClient, queue: StreamQueue, pending: PendingFrame): void {
    const { frame, frameNumber, bodyOffset, bodyBytes } = pending;
    let message: Uint8Array;
    try {
      const identity = { frameNumber, runId: this.#runId, clockDomain: this.#clockDomain };
      message = writeFrame(pending.buffer, bodyOffset, bodyBytes, frame, identity);
    } catch (error) {
      queue.drop(pending, "invalid");
      this.#notice("invalid", `a frame could not be written: ${String(error)}`);
      return;
    }
    const topic = this.#topics.stream(frame.stream, frame.camera);
    const properties = this.#version === 5 ? frameProperties(frame, frameNumber, this.#periodMs) : undefined;
    let messageId: number | undefined;
    const mayAsk = this.#retained.inFlight + this.#refusals.inFlight < this.#receiveMaximum;
    if (this.#version === 5 && mayAsk && this.#refusals.isDue(topic)) {
      messageId = client.messageIdProvider.allocate() ?? undefined;
      if (messageId !== undefined) this.#refusals.ask(topic, messageId);
    }
    const head = publishPacketHead(topic, message.length, properties, messageId);
    queue.sending = pending;
    const { stream } = client;
    stream.cork();
    stream.write(head);
    // Written past client.publish, whose callback comes when a packet is accepted, with its memory still in the socket's
    // queue; this callback comes when the kernel (or TLS) has the bytes. QoS 0 needs no book-keeping of the client's.
    stream.write(Buffer.from(message.buffer, message.byteOffset, message.length), (error) => {
      // A write that a broken socket gave up comes back without an error; that the socket is destroyed reports.
      queue.settle(pending, error || stream.destroyed ? undefined : message.length);
      this.#flush();
    });
    stream.uncork();
  }

  #noticeOversize(pending: PendingFrame): void {
    const { stream, width, height, encoding } = pending.frame;
    const size = `${messageBytes(pending)} bytes (${width} x ${height}, ${encoding})`;
    if (messageBytes(pending) + PACKET_HEAD_ALLOWANCE > this.#brokersBytes) {
      const error = new DepthwattError(
        "BROKER_REFUSED",
        `the broker ${brokerName(this.#options.broker)} takes packets of at most ${this.#brokersBytes} bytes; ${stream} frames of ${size} are dropped`,
        {
          hint: "Raise the broker's packet limit, choose the encoding rvl, set reduceToFit, or take a smaller picture.",
        },
      );
      this.#brokerLimit = error;
      this.#notice(`oversize ${stream}`, withHint(error));
      return;
    }
    this.#notice(
      `oversize ${stream}`,
      `${stream} frames of ${size} exceed the limit of ${this.maxMessageBytes} bytes and are dropped: raise ` +
        `outputs.mqtt.maxPayloadBytes, choose the encoding rvl, set reduceToFit, or take a smaller picture`,
    );
  }

  #notice(key: string, text: string): void {
    if (this.#noticed.has(key)) return;
    this.#noticed.add(key);
    this.#options.onNotice?.(text);
  }

  #dropAll(cause: "lost" | "closed"): void {
    this.#client = undefined;
    this.#onAllSent();
    for (const queue of Object.values(this.#queues)) {
      if (queue.sending !== undefined) queue.settle(queue.sending, undefined);
      queue.dropWaiting(cause === "lost" ? "offline" : "closed");
    }
  }

  #pendingBytes(): number {
    return this.#client?.stream.writableLength ?? 0;
  }

  state(state: DeviceState, reason: string, code?: string): void {
    this.#setRetained(this.#topics.state, { state, reason, ...(code && { code }), runId: this.#runId });
  }

  info(info: object): void {
    this.#setRetained(this.#topics.info, info);
  }

  cameraInfo(cameraInfo: object | undefined): void {
    this.#setRetained(this.#topics.cameraInfo, cameraInfo);
  }

  expect(streams: readonly StreamName[], periodMs = DEFAULT_PERIOD_MS): void {
    this.#periodMs = periodMs;
    this.#brokerLimit = undefined;
    const off = (Object.keys(this.#queues) as StreamName[]).filter((stream) => !streams.includes(stream));
    this.#refusals.leave(off.map((stream) => this.#topics.stream(stream)));
  }

  /** @param value undefined: an empty message, which makes a broker forget the topic */
  #setRetained(topic: string, value: object | undefined): void {
    this.#retained.set(topic, value === undefined ? "" : JSON.stringify(value));
    this.#flush();
  }

  metrics(metrics: object): void {
    if (this.#client === undefined || this.#pendingBytes() > this.#maxPendingBytes) return;
    const text = JSON.stringify(metrics);
    if (this.#fits(this.#topics.metrics, text)) this.#client.publish(this.#topics.metrics, text, { qos: 0 });
  }

  preview(file: Uint8Array, contentType: string): PublishDropCause | undefined {
    const client = this.#client;
    if (this.#closing !== undefined) return "closed";
    if (client === undefined) return "offline";
    if (file.length > this.maxMessageBytes) return "oversize";
    if (this.#pendingBytes() + file.length > this.#maxPendingBytes) return "backpressure";
    const properties = { contentType, messageExpiryInterval: expirySeconds(1000) };
    const payload = Buffer.from(file.buffer, file.byteOffset, file.length);
    client.publish(this.#topics.preview, payload, { qos: 0, ...(this.#version === 5 && { properties }) });
    return undefined;
  }

  counters(): PublisherCounters {
    return {
      ...sumStreamQueues(this.#queues),
      connected: this.#status.connected,
      reason: this.#status.reason,
      connections: this.#connections,
      pendingBytes: this.#pendingBytes(),
      oversizeDocuments: { ...this.#documents },
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  async #shutDown(): Promise<void> {
    const began = performance.now();
    this.#retained.close();
    for (const queue of Object.values(this.#queues)) queue.dropWaiting("closed");
    // The broker may have to acknowledge other documents first.
    let timer: NodeJS.Timeout | undefined;
    const allSent = new Promise<void>((resolve) => {
      this.#onAllSent = resolve;
      timer = setTimeout(resolve, CLOSE_GRACE_MS);
    });
    this.state("stopped", "depthwatt was stopped");
    if (this.#client !== undefined) await allSent;
    clearTimeout(timer);
    await this.#connection.end(Math.max(0, CLOSE_GRACE_MS - (performance.now() - began)));
    this.#dropAll("closed");
  }
}
