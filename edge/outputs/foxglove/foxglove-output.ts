// SPDX-License-Identifier: Apache-2.0
// Serves Foxglove's WebSocket protocol: the channels of a recording, each computed only while somebody subscribes to it. Nothing is
// queued: a client that does not read misses messages.
import { isDeepStrictEqual } from "node:util";
// A CommonJS module without names that Node can see.
import protocol from "@foxglove/ws-protocol";
import type { WebSocket } from "ws";
import type { ComputedFrame } from "../../contracts/computed-frame.js";
import type {
  DeviceState,
  FrameLease,
  Output,
  OutputContext,
  OutputCounters,
  OutputPicture,
} from "../../contracts/output.js";
import { CountsByCause } from "../../contracts/statistics.js";
import { messageEncoding, type RecordedSchema } from "../../mcap/schemas.js";
import {
  type ChannelChoice,
  type FrameChannel,
  type FrameTimes,
  frameChannels,
  topicPrefix,
} from "../mcap/channels.js";
import {
  DOCUMENT_NAMES,
  DOCUMENTS,
  type DocumentName,
  documentText,
  pictureShape,
} from "../mcap/documents.js";
import { RealtimeOffset } from "../mqtt/realtime-offset.js";
import { FoxgloveClient } from "./client.js";
import { foxgloveLayout } from "./layout.js";
import type { FoxgloveSettings } from "./settings.js";

export const FOXGLOVE_PATH = "/foxglove";
/** Messages of one channel that are on their way to clients, whose memory is used again. */
const MAX_SPARES = 2;
/** Repeated with the metrics: the library does not say when a second client subscribes. */
const REPEATED: readonly DocumentName[] = ["state", "info", "settings"];

interface OfferedChannel {
  id: number;
  channel: FrameChannel;
  spares: Uint8Array[];
}

export async function openFoxgloveOutput(context: OutputContext<FoxgloveSettings>): Promise<Output> {
  const { server } = await context.http();
  const url = `${server.url!.replace(/^http/, "ws")}${FOXGLOVE_PATH}`;
  const output = new FoxgloveOutput(context, url);
  server.socket(
    FOXGLOVE_PATH,
    (socket, request) => output.join(socket, request.socket.remoteAddress ?? "unknown"),
    {
      origins: context.settings.origins.split(","),
      protocol: protocol.FoxgloveServer.SUPPORTED_SUBPROTOCOL,
      password: "basic",
    },
  );
  server.get(`${FOXGLOVE_PATH}/layout.json`, (_request, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify(output.layout));
  });
  return output;
}

class FoxgloveOutput implements Output {
  readonly #context: OutputContext<FoxgloveSettings>;
  readonly #url: string;
  readonly #server: protocol.FoxgloveServer;
  readonly #clients = new Set<FoxgloveClient>();
  readonly #subscribed = new Set<number>();
  readonly #documents: ReadonlyMap<DocumentName, number>;
  readonly #latest = new Map<DocumentName, Uint8Array>();
  /** Current settings, by dotted key. */
  readonly #settings = {};
  readonly #offset = new RealtimeOffset();
  readonly #drops = new CountsByCause();
  #channels: OfferedChannel[] = [];
  #picture: OutputPicture;
  /** The message that is being sent. */
  #payload = new Payload(() => {});
  #sent = 0;
  #bytes = 0;

  constructor(context: OutputContext<FoxgloveSettings>, url: string) {
    this.#context = context;
    this.#url = url;
    this.#picture = context;
    this.#server = new protocol.FoxgloveServer({ name: `depthwatt ${context.base}/${context.device}` });
    this.#server.on("subscribe", (id) => this.#subscribed.add(id));
    this.#server.on("unsubscribe", (id) => this.#subscribed.delete(id));
    this.#documents = new Map(
      DOCUMENT_NAMES.map((name) => [name, this.#advertise(`${this.#prefix}/${name}`, DOCUMENTS[name])]),
    );
    this.#offer();
  }

  get #prefix(): string {
    return topicPrefix(this.#context.base, this.#context.device);
  }

  #advertise(topic: string, schema: RecordedSchema): number {
    return this.#server.addChannel({
      topic,
      encoding: messageEncoding(schema),
      schemaName: schema.name,
      schema: schema.text,
      schemaEncoding: schema.encoding,
    });
  }

  #offer(): void {
    for (const { id } of this.#channels) {
      this.#server.removeChannel(id);
      this.#subscribed.delete(id);
    }
    const { points, leftColours, right, registered } = this.#context.settings;
    const settings: ChannelChoice = {
      inputs: true,
      left: true,
      leftColours,
      right,
      registered,
      depth: "image",
      disparity: true,
      confidence: true,
      points,
    };
    this.#channels = frameChannels({ ...this.#picture, settings, prefix: this.#prefix }).map((channel) => ({
      id: this.#advertise(channel.topic, channel.schema),
      channel,
      spares: [],
    }));
  }

  get layout(): object {
    return foxgloveLayout(this.#prefix, this.#picture.hasDepth);
  }

  join(socket: WebSocket, name: string): void {
    const client = new FoxgloveClient(socket, {
      onDrop: () => this.#drops.add("clientBusy"),
      onPayload: () => this.#payload.used(),
    });
    this.#clients.add(client);
    socket.on("close", () => this.#clients.delete(client));
    this.#server.handleConnection(client, name);
  }

  #beginFrame(): void {
    for (const client of this.#clients) client.beginFrame();
  }

  /** Topics that somebody subscribes to. */
  get streams(): readonly string[] {
    return this.#wanted().map(({ channel }) => channel.topic);
  }

  #wanted(): OfferedChannel[] {
    return this.#channels.filter(({ id }) => this.#subscribed.has(id));
  }

  frame(lease: FrameLease): void {
    const { frame } = lease;
    const offset = this.#offset.of(frame.clock) ?? 0n;
    const times = { leftNs: frame.leftTimestampNs + offset, rightNs: frame.rightTimestampNs + offset };
    this.#beginFrame();
    for (const offered of this.#wanted()) this.#sendFrame(offered, frame, times, lease);
    lease.release();
  }

  #sendFrame(
    { id, channel, spares }: OfferedChannel,
    frame: ComputedFrame,
    times: FrameTimes,
    lease: FrameLease,
  ): void {
    const bytes = channel.bytes(frame);
    if (bytes === undefined) return;
    const spare = spares.pop();
    const buffer = spare !== undefined && spare.length >= bytes ? spare : new Uint8Array(bytes);
    const { publishNs } = channel.write(buffer, 0, frame, times);
    this.#send(id, publishNs, buffer.subarray(0, bytes), (uses) => {
      if (uses > 0) lease.sent();
      if (spares.length < MAX_SPARES) spares.push(buffer);
    });
  }

  /** @param settled called once when no socket needs the payload any more, with the number of clients that got it */
  #send(id: number, timestampNs: bigint, payload: Uint8Array, settled: (uses: number) => void): void {
    const sending = new Payload((uses) => {
      this.#sent += uses;
      this.#bytes += uses * payload.length;
      settled(uses);
    });
    this.#payload = sending;
    this.#server.sendMessage(id, timestampNs, payload as Uint8Array<ArrayBuffer>);
    sending.end();
  }

  #document(name: DocumentName, content: object): void {
    const text = Buffer.from(documentText(content));
    this.#latest.set(name, text);
    this.#repeat(name);
  }

  #repeat(name: DocumentName): void {
    const id = this.#documents.get(name)!;
    const text = this.#latest.get(name);
    if (text === undefined || !this.#subscribed.has(id)) return;
    const now = process.hrtime.bigint() + this.#offset.monotonicToRealtimeNs;
    this.#beginFrame();
    this.#send(id, now, text, () => {});
  }

  state(state: DeviceState, reason: string): void {
    this.#document("state", { state, reason });
  }

  notice(text: string): void {
    this.#document("notice", { text });
  }

  info(info: object): void {
    this.#document("info", info);
  }

  metrics(metrics: object): void {
    this.#document("metrics", metrics);
    for (const name of REPEATED) this.#repeat(name);
  }

  settings(values: object, from: string): void {
    Object.assign(this.#settings, values);
    this.#document("settings", { from, values: this.#settings });
  }

  configure(_settings: FoxgloveSettings, picture: OutputPicture): void {
    if (isDeepStrictEqual(pictureShape(picture), pictureShape(this.#picture))) return;
    this.#picture = picture;
    this.#offer();
  }

  counters(): OutputCounters {
    const details = { url: this.#url, clients: this.#clients.size };
    return { sent: this.#sent, bytes: this.#bytes, drops: this.#drops.snapshot(), details };
  }

  greeting(): [label: string, text: string][] {
    return [["foxglove", this.#url]];
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.close();
  }
}

/** Memory that several sockets read: settled when all have, and the sender has ended. */
class Payload {
  readonly #settled: (uses: number) => void;
  #uses = 0;
  #waiting = 1;

  constructor(settled: (uses: number) => void) {
    this.#settled = settled;
  }

  /** Returns what the socket calls when it is done. */
  used(): () => void {
    this.#uses += 1;
    this.#waiting += 1;
    return () => this.end();
  }

  end(): void {
    this.#waiting -= 1;
    if (this.#waiting === 0) this.#settled(this.#uses);
  }
}
