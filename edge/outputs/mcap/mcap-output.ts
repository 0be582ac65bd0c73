// SPDX-License-Identifier: Apache-2.0
// The side of a recording that the run sees: copies each frame into a buffer that goes to the recording's thread and comes back.
// Nothing here waits for the disk; what it cannot keep up with is dropped and counted.
import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { Worker } from "node:worker_threads";
import { stringifyCalibration } from "../../../camera/index.js";
import { DepthwattError, packageRoot } from "../../../core/index.js";
import type { ComputedFrame } from "../../contracts/computed-frame.js";
import type {
  DeviceState,
  FrameLease,
  Output,
  OutputContext,
  OutputCounters,
  OutputPicture,
} from "../../contracts/output.js";
import type { Rig } from "../../contracts/rig.js";
import { CountsByCause } from "../../contracts/statistics.js";
import { RealtimeOffset } from "../mqtt/realtime-offset.js";
import { type FrameChannel, frameChannels, topicPrefix } from "./channels.js";
import { DOCUMENT_NAMES, DOCUMENTS, type DocumentName, documentText, pictureShape } from "./documents.js";
import type { FromRecorder, PartPlace, RecorderThreadData, ToRecorder } from "./messages.js";
import type { RecordingHead } from "./recorder.js";
import type { McapSettings } from "./settings.js";

const MAX_SPARES = 4;

/** Tests run TypeScript without compiling it, but Node starts threads from JavaScript: the compiled twin under dist/. */
function threadFile(): string {
  const thread = fileURLToPath(new URL("./recorder-thread.js", import.meta.url));
  if (existsSync(thread)) return thread;
  return join(packageRoot(), "dist", "edge", "outputs", "mcap", "recorder-thread.js");
}

/** Documents come first: their places stay when another source has other frames. */
function recordingHead(
  prefix: string,
  channels: readonly FrameChannel[],
  rig: Rig | undefined,
): RecordingHead {
  const documents = DOCUMENT_NAMES.map((name) => ({ topic: `${prefix}/${name}`, schema: DOCUMENTS[name] }));
  const frames = channels.map(({ topic, schema, metadata = {} }) => ({ topic, schema, metadata }));
  if (rig === undefined) return { channels: [...documents, ...frames], attachments: [] };
  const data = new TextEncoder().encode(stringifyCalibration(rig.calibration));
  const attachments = [{ name: "calibration.json", mediaType: "application/json", data }];
  return { channels: [...documents, ...frames], attachments };
}

/** @throws DepthwattError OUTPUT_UNWRITABLE: what cannot be recorded is reported before the first frame */
export async function openMcapOutput(context: OutputContext<McapSettings>): Promise<Output> {
  const { settings, base, device, rig } = context;
  const file = resolve(settings.file!);
  const folder = dirname(file);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot record to ${file}: expected a folder at ${folder}`);
  const prefix = topicPrefix(base, device);
  const channels = frameChannels({ ...context, prefix });
  const data: RecorderThreadData = {
    options: {
      file,
      flushMs: settings.flushMs,
      keepFreePercent: settings.keepFreePercent,
      rotateBytes: settings.rotateMegabytes * 1e6,
      rotateSeconds: settings.rotateSeconds,
    },
    compression: settings.compression,
    head: recordingHead(prefix, channels, rig),
  };
  const worker = new Worker(threadFile(), { workerData: data, name: "depthwatt recording" });
  await new Promise<void>((ready, reject) => {
    worker.once("message", () => ready());
    worker.once("error", reject);
  });
  return new McapOutput(context, channels, worker);
}

class McapOutput implements Output {
  readonly #context: OutputContext<McapSettings>;
  #channels: readonly FrameChannel[];
  #picture: OutputPicture;
  readonly #worker: Worker;
  readonly #offset = new RealtimeOffset();
  readonly #drops = new CountsByCause();
  readonly #spares: ArrayBuffer[] = [];
  /** Frames on their way to the disk, the oldest first. */
  readonly #leases: FrameLease[] = [];
  readonly #ended: Promise<void>;
  #recording: boolean;
  #pendingBytes = 0;
  #sent = 0;
  #bytes = 0;
  #files = 0;
  #file: string | undefined;
  #problem: string | undefined;
  #closed = false;
  /** Current settings, by dotted key. */
  readonly #settings = {};

  constructor(context: OutputContext<McapSettings>, channels: readonly FrameChannel[], worker: Worker) {
    this.#context = context;
    this.#channels = channels;
    this.#picture = context;
    this.#worker = worker;
    this.#recording = context.settings.recording;
    worker.on("message", (message: FromRecorder) => this.#hear(message));
    // The thread catches its own errors; the remaining one is no memory.
    worker.on("error", (error) => this.#setProblem(`the recording's thread ended: ${String(error)}`));
    this.#ended = new Promise((done) => worker.once("exit", () => done()));
    worker.unref();
  }

  get streams(): readonly string[] {
    return this.#recording && !this.#closed ? this.#channels.map(({ topic }) => topic) : [];
  }

  frame(lease: FrameLease): void {
    const { frame } = lease;
    const bytes = this.#channels.reduce((sum, channel) => sum + (channel.bytes(frame) ?? 0), 0);
    if (this.#pendingBytes + bytes > this.#context.settings.maxPendingBytes) {
      this.#drops.add("diskBusy");
      lease.release();
      return;
    }
    const buffer = this.#buffer(bytes);
    const parts = this.#write(new Uint8Array(buffer), frame);
    lease.release();
    this.#pendingBytes += buffer.byteLength;
    this.#leases.push(lease);
    this.#post({ kind: "frame", buffer, parts, logTime: this.#now() }, [buffer]);
  }

  #buffer(bytes: number): ArrayBuffer {
    const spare = this.#spares.pop();
    if (spare !== undefined && spare.byteLength >= bytes) return spare;
    // Some room for bodies that are packed, whose lengths differ.
    return new ArrayBuffer(Math.ceil(bytes * 1.25));
  }

  #write(target: Uint8Array, frame: ComputedFrame): PartPlace[] {
    const offset = this.#offset.of(frame.clock) ?? 0n;
    // Readers take a stamp of 0 for none, and the first replayed image is taken at 0.
    const stamp = (timestampNs: bigint) => timestampNs + offset || 1n;
    const times = { leftNs: stamp(frame.leftTimestampNs), rightNs: stamp(frame.rightTimestampNs) };
    const parts: PartPlace[] = [];
    let at = 0;
    for (const [channel, one] of this.#channels.entries()) {
      const bytes = one.bytes(frame);
      if (bytes === undefined) continue;
      parts.push({
        channel: DOCUMENT_NAMES.length + channel,
        at,
        bytes,
        ...one.write(target, at, frame, times),
      });
      // The pixels of 16 bits lie where views of 16 bits can be made.
      at += bytes;
    }
    return parts;
  }

  /** When it is recorded: documents and frames on one clock, also where images are replayed. */
  #now(): bigint {
    return process.hrtime.bigint() + this.#offset.monotonicToRealtimeNs;
  }

  #hear(message: FromRecorder): void {
    switch (message.kind) {
      case "spare":
        this.#pendingBytes -= message.buffer.byteLength;
        if (this.#spares.length < MAX_SPARES) this.#spares.push(message.buffer);
        break;
      case "written":
        for (const lease of this.#leases.splice(0, message.frames)) lease.sent();
        this.#sent += message.frames;
        this.#bytes += message.bytes;
        break;
      case "lost":
        this.#leases.splice(0, message.frames);
        this.#drops.add(message.cause, message.frames);
        break;
      case "problem":
        this.#setProblem(message.problem);
        break;
      case "file":
        this.#files += 1;
        this.#file = message.path;
        break;
      case "notice":
        this.#context.notice(`recording: ${message.text}`);
        break;
    }
  }

  #setProblem(problem: string | undefined): void {
    if (problem === this.#problem) return;
    if (problem === undefined) this.#context.notice(`recording: the disk takes it again`);
    this.#problem = problem;
  }

  get failure(): DepthwattError | undefined {
    return this.#problem === undefined ? undefined : new DepthwattError("DISK_FULL", this.#problem);
  }

  #post(message: ToRecorder, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  /** @param begins what later files begin with; absent: nothing of this kind */
  #document(name: DocumentName, content: object, begins?: object): void {
    const channel = DOCUMENT_NAMES.indexOf(name);
    const text = this.#recording ? documentText(content) : undefined;
    const sticky = begins && documentText(begins);
    if (text ?? sticky) this.#post({ kind: "document", channel, text, logTime: this.#now(), sticky });
  }

  state(state: DeviceState, reason: string): void {
    this.#document("state", { state, reason }, { state, reason });
  }

  notice(text: string): void {
    this.#document("notice", { text });
  }

  info(info: object): void {
    this.#document("info", info, info);
  }

  metrics(metrics: object): void {
    this.#document("metrics", metrics);
  }

  settings(values: object, from: string): void {
    Object.assign(this.#settings, values);
    this.#document("settings", { from, values }, { from: "start", values: this.#settings });
  }

  configure(settings: McapSettings, picture: OutputPicture): void {
    if (!isDeepStrictEqual(pictureShape(picture), pictureShape(this.#picture))) {
      this.#picture = picture;
      const { base, device } = this.#context;
      const prefix = topicPrefix(base, device);
      this.#channels = frameChannels({ ...picture, settings, prefix });
      // Another source, another file.
      this.#post({ kind: "head", head: recordingHead(prefix, this.#channels, picture.rig) });
    }
    if (settings.recording === this.#recording) return;
    this.#recording = settings.recording;
    if (!this.#recording) this.#post({ kind: "end" });
  }

  counters(): OutputCounters {
    const details = {
      recording: this.#recording,
      files: this.#files,
      pendingBytes: this.#pendingBytes,
      ...(this.#file !== undefined && { file: this.#file }),
    };
    return { sent: this.#sent, bytes: this.#bytes, drops: this.#drops.snapshot(), details };
  }

  greeting(): [label: string, text: string][] {
    const file = resolve(this.#context.settings.file!);
    if (!this.#recording) return [["recording", `off, until outputs.mcap.recording is true: ${file}`]];
    // Nothing is written over: the recording takes the next number that is free.
    return [["recording", existsSync(file) ? `next to ${file}, which exists: NAME-0002 or higher` : file]];
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#worker.ref();
    this.#post({ kind: "close" });
    await this.#ended;
  }
}
