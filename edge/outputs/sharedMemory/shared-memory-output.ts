// SPDX-License-Identifier: Apache-2.0
// Copies frames into rings in shared memory, one for each stream that has readers. A ring is made with the first frame after its
// first reader has come, and freed with its last reader.
import { randomInt } from "node:crypto";
import type { Socket } from "node:net";
import { localClockDomain } from "../../../core/frame/clock-domain.js";
import { ENERGY_HEADER_BYTES } from "../../../core/frame/frame-energy.js";
import { type Element, isRegistered, type StreamName } from "../../../core/frame/frame-format.js";
import { writeHeaderWithoutCrc } from "../../../core/frame/payload.js";
import { type RingWriter, ringAddon } from "../../../core/index.js";
import type { ComputedFrame } from "../../contracts/computed-frame.js";
import type {
  FrameLease,
  Output,
  OutputContext,
  OutputCounters,
  OutputPicture,
} from "../../contracts/output.js";
import { CountsByCause } from "../../contracts/statistics.js";
import { RealtimeOffset } from "../mqtt/realtime-offset.js";
import { describer } from "../mqtt/streams.js";
import { ReaderDoorway, refuse } from "./doorway.js";
import { writeReply } from "./handshake.js";
import type { SharedMemorySettings } from "./settings.js";

interface StreamState {
  readonly name: StreamName;
  ring: RingWriter | undefined;
  readonly readers: Set<Socket>;
  /** Readers that get the memory with the next frame. */
  readonly waiting: Set<Socket>;
}

export async function openSharedMemoryOutput(
  context: OutputContext<SharedMemorySettings>,
): Promise<SharedMemoryOutput> {
  const output = new SharedMemoryOutput(context);
  await output.listen();
  return output;
}

export class SharedMemoryOutput implements Output {
  readonly #context: OutputContext<SharedMemorySettings>;
  readonly #doorway: ReaderDoorway;
  readonly #streams = new Map<StreamName, StreamState>();
  readonly #drops = new CountsByCause();
  readonly #refused = new CountsByCause();
  readonly #offset = new RealtimeOffset();
  readonly #header = new Uint8Array(ENERGY_HEADER_BYTES);
  readonly #identity = { frameNumber: 0, runId: randomInt(1, 2 ** 32), clockDomain: localClockDomain() };
  #picture: OutputPicture;
  #sent = 0;
  #bytes = 0;
  #failed = false;

  constructor(context: OutputContext<SharedMemorySettings>) {
    this.#context = context;
    this.#picture = context;
    const { path, group } = context.settings;
    this.#doorway = new ReaderDoorway({
      path: path!,
      group,
      onReader: (socket, stream) => this.#join(socket, stream),
      onRefused: (cause) => this.#refused.add(cause),
    });
  }

  listen(): Promise<void> {
    return this.#doorway.listen();
  }

  /** Streams that have readers. */
  get streams(): readonly string[] {
    return [...this.#streams.keys()];
  }

  #join(socket: Socket, name: StreamName): void {
    const off = this.#offReason(name);
    if (off !== undefined) {
      this.#refused.add("streamOff");
      refuse(socket, off);
      return;
    }
    const state = this.#streams.get(name) ?? {
      name,
      ring: undefined,
      readers: new Set(),
      waiting: new Set(),
    };
    this.#streams.set(name, state);
    state.waiting.add(socket);
    socket.once("close", () => this.#leave(state, socket));
  }

  #offReason(name: StreamName): string | undefined {
    if (name === "points" && !this.#context.settings.points) return "outputs.sharedMemory.points is false";
    if (name === "right" && !this.#context.settings.right) return "outputs.sharedMemory.right is false";
    if (isRegistered(name) && !this.#context.settings.registered)
      return "outputs.sharedMemory.registered is false";
    if ((name === "points" || name === "depth" || isRegistered(name)) && !this.#picture.hasDepth)
      return `${name} needs a calibration; disparity is there without one`;
    return undefined;
  }

  #leave(state: StreamState, socket: Socket): void {
    state.waiting.delete(socket);
    state.readers.delete(socket);
    if (state.waiting.size + state.readers.size > 0) return;
    state.ring?.close();
    if (this.#streams.get(state.name) === state) this.#streams.delete(state.name);
  }

  frame(lease: FrameLease): void {
    this.#identity.frameNumber = lease.number >>> 0;
    for (const state of this.#streams.values()) if (this.#publish(state, lease.frame)) lease.sent();
    lease.release();
  }

  #publish(state: StreamState, frame: ComputedFrame): boolean {
    const { name } = state;
    const element = this.#elementOf(name, frame);
    // The engine makes points from the frame after a calibration on.
    if (name === "points" && frame.encodings.points === undefined) return false;
    if (name === "right" && !frame.encodings.rightGrey) return false;
    if (isRegistered(name) && frame.encodings.registration === undefined) return false;
    const body = bodyOf(name, element, frame);
    if (state.ring?.bodyBytes !== body.byteLength && !this.#remake(state, body.byteLength)) return false;
    const ring = state.ring!;
    for (const socket of state.waiting) this.#offer(state, ring, socket);
    const description = describer(name, "raw", element, this.#offset)(frame);
    const header = writeHeaderWithoutCrc(this.#header, body.byteLength, description, this.#identity);
    ring.publish(header, body, name === "disparity");
    this.#sent += 1;
    this.#bytes += header.length + body.byteLength;
    return true;
  }

  #elementOf(name: StreamName, { encodings }: ComputedFrame): Element {
    if (name === "points") return "f32";
    if (name === "left") return this.#context.settings.leftColours && encodings.leftRgb ? "rgb8" : "u8";
    return name === "confidence" || name === "right" || name === "registeredConfidence" ? "u8" : "u16";
  }

  /** Makes the ring of a stream. Readers of another size must connect again. */
  #remake(state: StreamState, bodyBytes: number): boolean {
    state.ring?.close();
    state.ring = undefined;
    for (const socket of state.readers) socket.destroy();
    try {
      state.ring = new (ringAddon().RingWriter)({ slots: this.#context.settings.slots, bodyBytes });
      this.#failed = false;
      return true;
    } catch (error) {
      const { message } = error as Error;
      this.#drops.add(`${state.name}.memory`);
      if (!this.#failed) this.#context.notice(`outputs.sharedMemory: ${message}`);
      this.#failed = true;
      for (const socket of state.waiting) refuse(socket, message);
      return false;
    }
  }

  #offer(state: StreamState, ring: RingWriter, socket: Socket): void {
    state.waiting.delete(socket);
    // Node has no other way to send a descriptor.
    const descriptor = (socket as unknown as { _handle?: { fd?: number } | null })._handle?.fd ?? -1;
    try {
      ring.offer(descriptor, writeReply(""));
      state.readers.add(socket);
    } catch {
      this.#refused.add("reply");
      socket.destroy();
    }
  }

  configure(_settings: SharedMemorySettings, picture: OutputPicture): void {
    this.#picture = picture;
    for (const { name, waiting, readers } of this.#streams.values()) {
      const off = this.#offReason(name);
      if (off === undefined) continue;
      for (const socket of waiting) refuse(socket, off);
      for (const socket of readers) socket.destroy();
    }
  }

  counters(): OutputCounters {
    const readers: Record<string, number> = {};
    for (const { name, waiting, readers: connected } of this.#streams.values())
      readers[name] = waiting.size + connected.size;
    const refused = this.#refused.snapshot();
    const details = { path: this.#context.settings.path, readers, refused };
    return { sent: this.#sent, bytes: this.#bytes, drops: this.#drops.snapshot(), details };
  }

  greeting(): [label: string, text: string][] {
    return [["shared", this.#context.settings.path!]];
  }

  async close(): Promise<void> {
    for (const { ring } of this.#streams.values()) ring?.close();
    await this.#doorway.close();
  }
}

function bodyOf(name: StreamName, element: Element, { slot }: ComputedFrame): ArrayBufferView {
  if (name === "depth") return slot.depthMillimetres;
  if (name === "disparity") return slot.disparityQ4;
  if (name === "confidence") return slot.confidence;
  if (name === "points") return slot.points;
  if (name === "right") return slot.right;
  if (name === "registered") return slot.registered;
  if (name === "registeredConfidence") return slot.registeredConfidence;
  return element === "rgb8" ? slot.leftRgb : slot.left;
}
