// SPDX-License-Identifier: Apache-2.0
// Sends frames straight from the engine's memory: newest frame wins, nothing is queued, copied or waited for, and every
// frame that does not reach the socket is counted under a cause.
import { randomInt } from "node:crypto";
import type { MqttClient } from "mqtt";
import { localClockDomain } from "../../frame/clock-domain.js";
import { BrokerConnection, uniqueClientId } from "../../mqtt/connection.js";
import { checkBrokerUrl, readCredentials } from "../../mqtt/credentials.js";
import { makeLanes, messageBytes, type PendingFrame, type Lane, sumLanes } from "./lane.js";
import { expirySeconds, frameProperties } from "./frame-properties.js";
import { type FrameDescription, writeFrame } from "../../frame/payload.js";
import { MAX_REMAINING_LENGTH, publishPacketHead } from "./publish-packet.js";
import type {
  BrokerStatus,
  DeviceState,
  Publisher,
  PublishDropCause,
  PublisherCounters,
  PublisherOptions,
} from "./publisher-types.js";
import { RetainedTopics } from "./retained.js";
import { makeTopics, type Topics } from "../../frame/topics.js";

const DEFAULT_MAX_PENDING_BYTES = 4 << 20;
const DEFAULT_MAX_PAYLOAD_BYTES = 64 << 20;
/** Topic and properties beside the payload; far above what makeTopics allows. */
const PACKET_HEAD_ALLOWANCE = 1024;
const CLOSE_GRACE_MS = 2000;

/** @throws DepthwattError CONFIG_INVALID, CONFIG_UNREADABLE: URL, names, credential files. Nothing is thrown later. */
export function createPublisher(options: PublisherOptions): Publisher {
  return new MqttPublisher(options);
}

class MqttPublisher implements Publisher {
  readonly firstAttempt: Promise<BrokerStatus>;
  private readonly topics: Topics;
  private readonly connection: BrokerConnection;
  private readonly retained = new RetainedTopics();
  private readonly lanes = makeLanes();
  private readonly runId = randomInt(1, 2 ** 32);
  private readonly clockDomain = localClockDomain();
  private readonly maxPendingBytes: number;
  private readonly periodMs: number;
  private maxMessageBytes: number;
  private client: MqttClient | undefined;
  private version: 4 | 5 = 5;
  private status: BrokerStatus = { connected: false, reason: "connecting" };
  private connections = 0;
  private closing: Promise<void> | undefined;
  private readonly noticed = new Set<string>();

  constructor(private readonly options: PublisherOptions) {
    checkBrokerUrl(options.broker);
    this.topics = makeTopics(options.base, options.device);
    this.maxPendingBytes = options.maxPendingBytes ?? DEFAULT_MAX_PENDING_BYTES;
    this.periodMs = options.framePeriodMs ?? 1000 / 30;
    this.maxMessageBytes = options.maxPayloadBytes ?? DEFAULT_MAX_PAYLOAD_BYTES;
    const will = JSON.stringify({ state: "offline", reason: "the connection to the device was lost" });
    const connection = {
      url: options.broker,
      protocolVersion: options.protocolVersion ?? "auto",
      clientId: options.clientId ?? uniqueClientId(`depthwatt-${options.device}`),
      will: { topic: this.topics.state, payload: will },
      ...readCredentials(options),
    };
    this.connection = new BrokerConnection(connection, {
      onUp: (client, version, connack) => {
        this.client = client;
        this.version = version;
        this.connections++;
        const brokerLimit = connack.properties?.maximumPacketSize ?? MAX_REMAINING_LENGTH;
        this.maxMessageBytes = Math.min(
          options.maxPayloadBytes ?? DEFAULT_MAX_PAYLOAD_BYTES,
          brokerLimit - PACKET_HEAD_ALLOWANCE,
        );
        this.retained.markAll();
        this.flush();
      },
      onDown: () => this.dropAll("lost"),
      onStatus: (status) => {
        this.status = status;
        options.onStatus?.(status);
      },
    });
    this.firstAttempt = this.connection.firstAttempt;
  }

  publish(
    buffer: Uint8Array,
    bodyOffset: number,
    bodyBytes: number,
    frame: FrameDescription,
    release: (sent: boolean) => void,
  ): void {
    const lane = this.lanes[frame.stream];
    const frameNumber = lane.nextFrameNumber();
    const pending: PendingFrame = { buffer, bodyOffset, bodyBytes, frame, frameNumber, release };
    if (this.closing !== undefined) lane.drop(pending, "closed");
    else if (this.client === undefined) lane.drop(pending, "offline");
    else if (messageBytes(pending) > this.maxMessageBytes) {
      lane.drop(pending, "oversize");
      this.noticeOversize(pending);
    } else {
      lane.replaceWaiting(pending);
      this.flush();
    }
  }

  /** Sends what may be sent now: changed retained topics first, then each stream's newest frame. */
  private flush(): void {
    const { client } = this;
    if (client === undefined || client.stream.destroyed) return;
    if (this.pendingBytes() <= this.maxPendingBytes) this.retained.publishChanged(client);
    for (const lane of Object.values(this.lanes)) {
      const next = lane.waiting;
      if (next === undefined || lane.sending !== undefined) continue;
      const pendingBytes = this.pendingBytes();
      // An idle socket takes one frame of any size, or a large frame would never leave.
      if (pendingBytes > 0 && pendingBytes + messageBytes(next) > this.maxPendingBytes) continue;
      lane.waiting = undefined;
      this.send(client, lane, next);
    }
  }

  private send(client: MqttClient, lane: Lane, pending: PendingFrame): void {
    const { frame, frameNumber, bodyOffset, bodyBytes } = pending;
    let message: Uint8Array;
    try {
      const identity = { frameNumber, runId: this.runId, clockDomain: this.clockDomain };
      message = writeFrame(pending.buffer, bodyOffset, bodyBytes, frame, identity);
    } catch (error) {
      lane.drop(pending, "invalid");
      this.notice("invalid", `a frame could not be written: ${String(error)}`);
      return;
    }
    const topic = this.topics.stream(frame.stream);
    const properties = this.version === 5 ? frameProperties(frame, frameNumber, this.periodMs) : undefined;
    const head = publishPacketHead(topic, message.length, properties);
    lane.sending = pending;
    const { stream } = client;
    stream.cork();
    stream.write(head);
    // Written past client.publish, whose callback comes when a packet is accepted, with its memory still in the socket's
    // queue; this callback comes when the kernel (or TLS) has the bytes. QoS 0 needs no book-keeping of the client's.
    stream.write(Buffer.from(message.buffer, message.byteOffset, message.length), (error) => {
      // A write that a broken socket gave up comes back without an error; that the socket is destroyed tells.
      lane.settle(pending, error || stream.destroyed ? undefined : message.length);
      this.flush();
    });
    stream.uncork();
  }

  private noticeOversize(pending: PendingFrame): void {
    const { stream, width, height, encoding } = pending.frame;
    const size = `${messageBytes(pending)} bytes (${width} x ${height}, ${encoding})`;
    this.notice(
      `oversize ${stream}`,
      `${stream} frames of ${size} exceed the limit of ${this.maxMessageBytes} bytes and are dropped: raise ` +
        `outputs.mqtt.maxPayloadBytes (and the broker's own limit), choose the encoding rvl, or a smaller picture`,
    );
  }

  private notice(key: string, text: string): void {
    if (this.noticed.has(key)) return;
    this.noticed.add(key);
    this.options.onNotice?.(text);
  }

  private dropAll(cause: "lost" | "closed"): void {
    this.client = undefined;
    for (const lane of Object.values(this.lanes)) {
      if (lane.sending !== undefined) lane.settle(lane.sending, undefined);
      lane.dropWaiting(cause === "lost" ? "offline" : "closed");
    }
  }

  private pendingBytes(): number {
    return this.client?.stream.writableLength ?? 0;
  }

  state(state: DeviceState, reason: string): void {
    this.setRetained(this.topics.state, { state, reason });
  }

  info(info: object): void {
    this.setRetained(this.topics.info, info);
  }

  cameraInfo(cameraInfo: object): void {
    this.setRetained(this.topics.cameraInfo, cameraInfo);
  }

  private setRetained(topic: string, value: object): void {
    this.retained.set(topic, JSON.stringify(value));
    this.flush();
  }

  metrics(metrics: object): void {
    if (this.client === undefined || this.pendingBytes() > this.maxPendingBytes) return;
    this.client.publish(this.topics.metrics, JSON.stringify(metrics), { qos: 0 });
  }

  preview(file: Uint8Array, contentType: string): PublishDropCause | undefined {
    const { client } = this;
    if (this.closing !== undefined) return "closed";
    if (client === undefined) return "offline";
    if (file.length > this.maxMessageBytes) return "oversize";
    if (this.pendingBytes() + file.length > this.maxPendingBytes) return "backpressure";
    const properties = { contentType, messageExpiryInterval: expirySeconds(1000) };
    const payload = Buffer.from(file.buffer, file.byteOffset, file.length);
    client.publish(this.topics.preview, payload, { qos: 0, ...(this.version === 5 && { properties }) });
    return undefined;
  }

  counters(): PublisherCounters {
    const { connections, status } = this;
    const pendingBytes = this.pendingBytes();
    return {
      ...sumLanes(this.lanes),
      connected: status.connected,
      reason: status.reason,
      connections,
      pendingBytes,
    };
  }

  close(): Promise<void> {
    this.closing ??= this.shutDown();
    return this.closing;
  }

  private async shutDown(): Promise<void> {
    this.state("stopped", "depthwatt was stopped");
    for (const lane of Object.values(this.lanes)) lane.dropWaiting("closed");
    await this.connection.end(CLOSE_GRACE_MS);
    this.dropAll("closed");
  }
}
