// SPDX-License-Identifier: Apache-2.0
// An open MQTT output: hands each frame to every stream that is on, and the retained topics and metrics to the publisher.
import type { DepthwattError } from "../../../core/index.js";
import { brokerName } from "../../../core/mqtt/broker-errors.js";
import type { Unavailable } from "../../contracts/availability.js";
import type { FrameSink } from "../../contracts/computed-frame.js";
import type {
  BrokerAccess,
  DeviceState,
  FrameLease,
  Output,
  OutputContext,
  OutputCounters,
  OutputPicture,
} from "../../contracts/output.js";
import { CountsByCause } from "../../contracts/statistics.js";
import type { MqttDoor } from "../../control/mqtt-door.js";
import { readCredentials } from "../../mqtt/credentials.js";
import { consumeCommand } from "./consume-command.js";
import { previewSink } from "./preview.js";
import type { Publisher } from "./publisher-types.js";
import { RealtimeOffset } from "./realtime-offset.js";
import { depthColours } from "./registered-colours.js";
import type { MqttSettings } from "./settings.js";
import type { StreamSink } from "./stream-sink.js";
import { streamSinks } from "./streams.js";
import { streamsOn, type TopicName, withStreams } from "./streams-on.js";

export interface MqttOutputParts {
  context: OutputContext<MqttSettings>;
  publisher: Publisher;
  /** Takes requests; undefined: control is off. */
  door: MqttDoor | undefined;
  brokerUrl: string;
  /** The broker is the one in this process. */
  embedded: boolean;
  close: () => Promise<void>;
}

export class MqttOutput implements Output {
  readonly ready: Promise<unknown>;
  readonly close: () => Promise<void>;
  readonly broker: BrokerAccess;
  readonly #parts: MqttOutputParts;
  readonly #offset = new RealtimeOffset();
  readonly #drops = new CountsByCause();
  readonly #reduced = new CountsByCause();
  #settings: MqttSettings;
  #streams: TopicName[] = [];
  #sinks: StreamSink[] = [];
  #lastNumber = 0;
  #preview: FrameSink | undefined;
  #previewEncoding: MqttSettings["preview"]["encoding"] | undefined;

  constructor(parts: MqttOutputParts) {
    this.#parts = parts;
    this.ready = Promise.all([parts.publisher.firstAttempt, parts.door?.ready]);
    this.close = parts.close;
    this.#settings = parts.context.settings;
    const { settings } = parts.context;
    this.broker = {
      url: parts.brokerUrl,
      embedded: parts.embedded,
      protocolVersion: parts.embedded ? 4 : settings.protocolVersion,
      ...readCredentials(settings),
    };
    this.configure(parts.context.settings, parts.context);
  }

  get streams(): readonly TopicName[] {
    return this.#streams;
  }

  configure(settings: MqttSettings, { hasDepth, rateHz, rig }: OutputPicture): void {
    const { publisher, context } = this.#parts;
    const on = withStreams(settings, hasDepth);
    const onDropped = (cause: string) => this.#drops.add(cause);
    const onReduced = (stream: string, reduction: number) => this.#reduced.add(`${stream}.${reduction}`);
    const range = () => context.searched();
    const colours = depthColours(() => ({ range: range(), rectification: rig?.rectification }));
    this.#settings = settings;
    this.#streams = streamsOn(settings, hasDepth);
    const streams = this.#streams.filter((name) => name !== "preview");
    publisher.expect(streams, rateHz === undefined ? undefined : 1000 / rateHz);
    const offset = this.#offset;
    this.#sinks = streamSinks(on, hasDepth, { publisher, offset, onDropped, onReduced, colours });
    // The existing preview continues, so that its pace is kept.
    if (!on.preview.enabled) this.#preview = undefined;
    else if (this.#preview === undefined || on.preview.encoding !== this.#previewEncoding) {
      this.#previewEncoding = on.preview.encoding;
      this.#preview = previewSink({ publisher, encoding: on.preview.encoding, range, onDropped });
    }
  }

  /** The frame is given back when its last stream is done; its latency is that of the first stream. */
  frame(lease: FrameLease): void {
    const sinks = this.#sinks;
    // Frames that this output could not get keep their numbers, so that readers see that they are missing.
    for (let missed = lease.number - this.#lastNumber - 1; missed > 0; missed--) {
      for (const stream of this.#streams)
        if (stream !== "preview") this.#parts.publisher.nextFrameNumber(stream);
    }
    this.#lastNumber = lease.number;
    let busy = sinks.length + 1;
    const done = () => {
      if (--busy === 0) lease.release();
    };
    for (const [index, sink] of sinks.entries()) {
      sink(lease.frame, (sent) => {
        if (sent && index === 0) lease.sent();
        done();
      });
    }
    if (this.#preview) this.#preview(lease.frame, done);
    else done();
  }

  get failure(): DepthwattError | undefined {
    return this.#parts.publisher.failure;
  }

  state(state: DeviceState, reason: string, code?: string): void {
    this.#parts.publisher.state(state, reason, code);
  }

  info(info: object): void {
    const { maxPayloadBytes, maxPendingBytes } = this.#settings;
    const limits = { maxPayloadBytes, maxPendingBytes };
    this.#parts.publisher.info({ ...info, streams: this.#streams, limits, control: this.#control() });
  }

  /** True if requests are answered. Clients read it instead of waiting for a timeout. */
  #control(): { available: true } | Unavailable {
    const { door, context } = this.#parts;
    if (door !== undefined) return { available: true };
    const reason = context.control?.off?.replace(/\.$/, "") ?? "requests need control.secretFile";
    return { available: false, reason };
  }

  cameraInfo(cameraInfo: object | undefined): void {
    this.#parts.publisher.cameraInfo(cameraInfo);
  }

  metrics(metrics: object): void {
    this.#parts.publisher.metrics(metrics);
  }

  counters(): OutputCounters {
    const { published, bytes, connected, reason, streams, oversizeDocuments } =
      this.#parts.publisher.counters();
    const drops = this.#drops.snapshot();
    const sentByStream: Record<string, number> = {};
    for (const [stream, counters] of Object.entries(streams)) {
      sentByStream[stream] = counters.published;
      for (const [cause, count] of Object.entries(counters.drops)) drops[`${stream}.${cause}`] = count;
    }
    for (const [name, count] of Object.entries(oversizeDocuments)) drops[`${name}.oversize`] = count;
    const control = this.#parts.door?.counters();
    const reduced = this.#reduced.snapshot();
    const details = {
      connected,
      reason,
      sentByStream,
      ...(Object.keys(reduced).length > 0 && { reduced }),
      ...(control && { control }),
    };
    return { sent: published, bytes, drops, details };
  }

  greeting(): [label: string, text: string][] {
    const { brokerUrl, embedded, context } = this.#parts;
    const { base, device } = context;
    const kind = embedded ? " (embedded, for trying out: loopback only, MQTT 3.1.1)" : "";
    const topics = [...this.#streams, "metrics", "state", "info", "camera_info"].join(",");
    const command = consumeCommand(
      { base, device, settings: this.#settings },
      { brokerUrl, embedded, streams: this.#streams },
    );
    return [
      ["broker", `${brokerName(brokerUrl)}${kind}`],
      ["topics", `${base}/${device}/{${topics}}`],
      ...(command === undefined ? [] : [["consume", command] as [string, string]]),
    ];
  }
}
