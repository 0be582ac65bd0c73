// SPDX-License-Identifier: Apache-2.0
// Bytes as they come into frames: YUV4MPEG2 with its lines, or raw frames back to back. Pure: pieces may be cut anywhere.
import { DepthwattError } from "../../core/index.js";
import type { FrameLayout } from "./layout.js";
import {
  type FrameStamp,
  memoryPathIn,
  type StreamHeader,
  type StreamLayout,
  Y4M,
  Y4M_FRAME,
  y4mStamp,
} from "./y4m.js";

export interface FrameSink {
  /** The first line of a stream; may throw. */
  onLayout(layout: StreamLayout): void;
  /** Where the frame that begins goes, imageBytes long; "drop" reads over it, "wait" leaves it unread. */
  begin(stamp: FrameStamp): Uint8Array | "drop" | "wait";
  /** The frame that begin() gave a place to is whole. */
  end(): void;
  /** A frame is in the helper's memory. */
  shared(frame: number, stamp: FrameStamp): void;
}

/** ffmpeg's header is 80 characters long. */
const LONGEST_LINE = 1024;
const LINE_END = 0x0a;

const UNSTAMPED: FrameStamp = { timestampNs: undefined, sequence: undefined };

type State = "header" | "marker" | "begin" | "image" | "skip";

export class FrameStream {
  readonly #sink: FrameSink;
  readonly #header: StreamHeader;
  readonly #lines: boolean;
  readonly #line = new Uint8Array(LONGEST_LINE);
  #lineBytes = 0;
  #layout: FrameLayout | undefined;
  /** Frames are in the helper's memory. */
  #isShared = false;
  #state: State;
  #target: Uint8Array | undefined;
  #stamp = UNSTAMPED;
  /** Bytes of the current image that were read or skipped so far. */
  #done = 0;

  /** @param layout of raw frames; undefined for a stream with a header, which brings its own */
  constructor(layout: FrameLayout | undefined, sink: FrameSink, header = Y4M) {
    this.#sink = sink;
    this.#header = header;
    this.#layout = layout;
    this.#lines = layout === undefined;
    this.#state = this.#lines ? "header" : "begin";
  }

  /**
   * Takes bytes from `from` on.
   * @returns the first byte not taken: less than the length if begin() returned "wait"
   * @throws DepthwattError COMMAND_FAILED for bytes that are not allowed here; errors of onLayout
   */
  push(bytes: Uint8Array, from = 0): number {
    let at = from;
    while (at < bytes.length) {
      if (this.#state === "header" || this.#state === "marker") {
        at = this.#readLine(bytes, at);
      } else if (this.#state === "begin") {
        const place = this.#sink.begin(this.#stamp);
        if (place === "wait") return at;
        this.#target = place === "drop" ? undefined : place;
        this.#enter("image");
      } else {
        at = this.#readFrame(bytes, at, this.#layout!);
      }
    }
    return at;
  }

  #enter(state: State): void {
    this.#state = state;
    this.#done = 0;
    this.#lineBytes = 0;
  }

  #readFrame(bytes: Uint8Array, at: number, { imageBytes, skipBytes }: FrameLayout): number {
    const inImage = this.#state === "image";
    const wanted = (inImage ? imageBytes : skipBytes) - this.#done;
    const to = Math.min(bytes.length, at + wanted);
    if (inImage) this.#target?.set(bytes.subarray(at, to), this.#done);
    this.#done += to - at;
    if (to - at < wanted) return to;
    if (inImage && skipBytes > 0) {
      this.#enter("skip");
    } else {
      this.#enter(this.#lines ? "marker" : "begin");
      if (this.#target) this.#sink.end();
      this.#target = undefined;
    }
    return to;
  }

  #readLine(bytes: Uint8Array, at: number): number {
    const magic = this.#state === "header" ? this.#header.magic : Y4M_FRAME;
    const end = bytes.indexOf(LINE_END, at);
    const to = end === -1 ? bytes.length : end;
    const room = bytes.subarray(at, Math.min(to, at + LONGEST_LINE - this.#lineBytes));
    this.#line.set(room, this.#lineBytes);
    this.#lineBytes += room.length;
    const line = Buffer.from(this.#line.buffer, 0, this.#lineBytes).toString("latin1");
    const begun = line.slice(0, magic.length);
    const is = begun === magic && (line.length === magic.length || line[magic.length] === " ");
    const mayBecome = end === -1 && line.length < magic.length && magic.startsWith(line);
    if (!(is || mayBecome) || at + room.length < to) this.#refuse(magic, line);
    if (end === -1) return to;
    if (this.#state === "header") {
      const memoryPath = memoryPathIn(line);
      const layout = { ...this.#header.layout(line), ...(memoryPath !== undefined && { memoryPath }) };
      this.#layout = layout;
      this.#isShared = memoryPath !== undefined;
      this.#sink.onLayout(layout);
      this.#enter("marker");
    } else {
      this.#stamp = line.length === magic.length ? UNSTAMPED : y4mStamp(line);
      const { frame } = this.#stamp;
      if ((frame !== undefined) !== this.#isShared) {
        const [word, where] = this.#isShared ? ["XFRAME", "with"] : ["no XFRAME", "without"];
        throw new DepthwattError(
          "COMMAND_FAILED",
          `expected ${word} in the FRAME lines of a stream ${where} XMEMORY, got ${line.slice(0, 60)}`,
        );
      }
      if (frame === undefined) this.#enter("begin");
      else {
        this.#enter("marker");
        this.#sink.shared(frame, this.#stamp);
      }
    }
    return end + 1;
  }

  #refuse(expected: string, line: string): never {
    const { magic, hint } = this.#header;
    const found = JSON.stringify(line.slice(0, 24)).replace(/[\u007f-\u00ff]/g, "?");
    if (line.length === LONGEST_LINE) {
      throw new DepthwattError(
        "COMMAND_FAILED",
        `expected a line of "${expected}" that ends within ${LONGEST_LINE} bytes in ${magic}, got ${found} without an end`,
        { hint, context: { expected, found } },
      );
    }
    const where = expected === magic ? "at the beginning of" : "in front of a frame in";
    throw new DepthwattError("COMMAND_FAILED", `expected "${expected}" ${where} ${magic}, got ${found}`, {
      hint,
      context: { expected, found },
    });
  }
}
