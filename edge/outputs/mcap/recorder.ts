// SPDX-License-Identifier: Apache-2.0
// Records on its own thread: begins and ends files, flushes in time, leaves a share of the disk free. Waits for the
// disk; the sender bounds its queue.
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import type { Zstd } from "../../mcap/compression.js";
import type { RecordedChannel, RecordingDisk } from "../../mcap/recording-file.js";
import { RecordingFile, realDisk } from "../../mcap/recording-file.js";
import { recordingName } from "./recording-name.js";

/** A chunk is written when it holds so much, or when flushMs is over. */
const CHUNK_BYTES = 4 << 20;

export interface RecorderOptions {
  /** May hold {time}. */
  file: string;
  flushMs: number;
  /** 0: never. */
  rotateBytes: number;
  rotateSeconds: number;
  keepFreePercent: number;
}

export interface Attachment {
  name: string;
  mediaType: string;
  data: Uint8Array;
}

/** The beginning of every file of a recording. */
export interface RecordingHead {
  channels: readonly RecordedChannel[];
  attachments: readonly Attachment[];
}

export interface MessagePart {
  /** Its place in RecordingHead.channels. */
  channel: number;
  data: Uint8Array;
  /** Capture time in a recording of images, time of writing in documents; nanoseconds since 1970. */
  publishNs: bigint;
  sequence: number;
}

export interface RecorderEvents {
  /** Frames that are on the disk now, the oldest first. */
  onWritten(frames: number, bytes: number): void;
  onLost(frames: number, cause: "diskFull" | "diskReserve" | "writeFailed"): void;
  /** Called with the disk's problem; undefined: it is solved. */
  onProblem(problem: string | undefined): void;
  onFile(path: string): void;
  onNotice(text: string): void;
}

export interface RecorderSurroundings {
  disk: RecordingDisk;
  /** Bytes free for us, and bytes in all. */
  free(folder: string): { free: number; total: number };
  now(): { ms: number; date: Date };
}

export const realSurroundings: RecorderSurroundings = {
  disk: realDisk,
  free(folder) {
    const { bavail, blocks, bsize } = statfsSync(folder);
    return { free: bavail * bsize, total: blocks * bsize };
  },
  now: () => ({ ms: performance.now(), date: new Date() }),
};

export class Recorder {
  /** The beginning of the next file. */
  head: RecordingHead;
  readonly #options: RecorderOptions;
  readonly #zstd: Zstd | undefined;
  readonly #events: RecorderEvents;
  readonly #around: RecorderSurroundings;
  #file: RecordingFile | undefined;
  #part = 0;
  #begunMs = 0;
  /** When the first message came into the open chunk. */
  #chunkMs: number | undefined;
  #frames = 0;
  #refused = false;
  #checkedMs = Number.NEGATIVE_INFINITY;
  /** By channel. */
  readonly #sticky = new Map<number, MessagePart>();

  constructor(
    options: RecorderOptions,
    head: RecordingHead,
    zstd: Zstd | undefined,
    events: RecorderEvents,
    around: RecorderSurroundings = realSurroundings,
  ) {
    this.#options = options;
    this.head = head;
    this.#zstd = zstd;
    this.#events = events;
    this.#around = around;
  }

  document(part: MessagePart, logTime: bigint): void {
    this.#take([part], logTime, 0);
  }

  /** Sets the message with which every later file begins on its channel. */
  begins(part: MessagePart): void {
    this.#sticky.set(part.channel, part);
  }

  frame(parts: readonly MessagePart[], logTime: bigint): void {
    this.#take(parts, logTime, 1);
  }

  #take(parts: readonly MessagePart[], logTime: bigint, frames: number): void {
    if (this.#refuses()) {
      if (frames > 0) this.#events.onLost(frames, "diskReserve");
      return;
    }
    try {
      this.#file ??= this.#begin(logTime);
    } catch (error) {
      this.#failed(error, frames);
      return;
    }
    for (const part of parts) this.#add(this.#file, part, logTime);
    this.#frames += frames;
    if (this.#file.pendingBytes >= CHUNK_BYTES || this.dueInMs === 0) this.flush();
  }

  #add(file: RecordingFile, part: MessagePart, logTime: bigint): void {
    const { data, publishNs: publishTime, sequence } = part;
    const channelId = file.channel(this.head.channels[part.channel]!);
    this.#chunkMs ??= this.#around.now().ms;
    file.message({ channelId, sequence: sequence >>> 0, logTime, publishTime, data });
  }

  #begin(logTime: bigint): RecordingFile {
    const { ms, date } = this.#around.now();
    const rotates = this.#options.rotateBytes > 0 || this.#options.rotateSeconds > 0;
    const { file, part } = this.#open(date, rotates);
    try {
      for (const { name, mediaType, data } of this.head.attachments)
        file.attachment(name, mediaType, data, logTime);
    } catch (error) {
      // The next frame tries again: else a full disk would hold an empty file for each.
      file.discard();
      throw error;
    }
    this.#part = part;
    this.#begunMs = ms;
    for (const part of this.#sticky.values()) this.#add(file, part, logTime);
    this.#events.onFile(file.path);
    return file;
  }

  /** The next name that is free: nothing is ever written over. */
  #open(date: Date, rotates: boolean): { file: RecordingFile; part: number } {
    for (let part = this.#part + 1; ; part++) {
      try {
        const path = recordingName(this.#options.file, date, rotates || part > 1 ? part : undefined);
        return { file: new RecordingFile(path, this.#zstd, this.#around.disk), part };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST" || part > this.#part + 10_000) throw error;
      }
    }
  }

  /** Milliseconds until flush() is due; undefined: nothing waits. */
  get dueInMs(): number | undefined {
    if (this.#chunkMs === undefined) return undefined;
    return Math.max(0, this.#chunkMs + this.#options.flushMs - this.#around.now().ms);
  }

  flush(): void {
    const file = this.#file;
    this.#chunkMs = undefined;
    if (file === undefined || file.pendingMessages === 0) return;
    const frames = this.#frames;
    this.#frames = 0;
    const before = file.bytes;
    try {
      file.flush();
    } catch (error) {
      this.#failed(error, frames);
      return;
    }
    this.#events.onWritten(frames, file.bytes - before);
    // Documents fit where frames do not.
    if (!this.#refused && frames > 0) this.#events.onProblem(undefined);
    this.#rotate(file);
  }

  #rotate(file: RecordingFile): void {
    const { rotateBytes, rotateSeconds } = this.#options;
    const tooLarge = rotateBytes > 0 && file.bytes >= rotateBytes;
    const tooOld = rotateSeconds > 0 && this.#around.now().ms - this.#begunMs >= 1000 * rotateSeconds;
    if (tooLarge || tooOld) this.end();
  }

  /** Ends the file; the next message begins another one. */
  end(): void {
    this.flush();
    const file = this.#file;
    this.#file = undefined;
    try {
      file?.end();
    } catch (error) {
      this.#events.onNotice(`${file!.path} has no index, but can be read: ${(error as Error).message}`);
    }
  }

  #failed(error: unknown, frames: number): void {
    const { code, message } = error as NodeJS.ErrnoException;
    const full = code === "ENOSPC" || code === "EDQUOT";
    if (frames > 0) this.#events.onLost(frames, full ? "diskFull" : "writeFailed");
    this.#events.onProblem(`cannot write to ${this.#file?.path ?? this.#options.file}: ${message}`);
  }

  /** Returns whether the disk has less free than it should keep; checked every half second. */
  #refuses(): boolean {
    const { keepFreePercent, file } = this.#options;
    const { ms } = this.#around.now();
    if (keepFreePercent === 0 || ms - this.#checkedMs < 500) return this.#refused;
    this.#checkedMs = ms;
    const folder = dirname(file);
    let place: { free: number; total: number };
    try {
      place = this.#around.free(folder);
    } catch {
      return false; // opening the file says it better
    }
    const percent = (100 * place.free) / place.total;
    if (percent < keepFreePercent) {
      if (!this.#refused) this.flush();
      this.#refused = true;
      const text = `${percent.toFixed(1)} % of the disk of ${folder} is free, and ${keepFreePercent} % is to be kept`;
      this.#events.onProblem(`${text}: nothing is recorded until there is more`);
    } else if (this.#refused) {
      this.#refused = false;
      this.#events.onProblem(undefined);
    }
    return this.#refused;
  }
}
