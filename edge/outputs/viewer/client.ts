// SPDX-License-Identifier: Apache-2.0
// One page at the other end of a WebSocket: what it watches, how many frame sets it may still be sent, what it missed.
import type { WebSocket } from "ws";
import type { PictureStream } from "../../../core/frame/frame-format.js";
import { MAX_CREDITS, type ToPage } from "./protocol.js";

/** A page that does not read is sent nothing more; what it missed is reported again once it does. */
const MAX_WAITING_BYTES = 1 << 20;
/** The answer may hold a snapshot. A client that asks without reading is disconnected. */
const MAX_UNREAD_BYTES = 64 << 20;

export class PageClient {
  device: string | undefined;
  streams: ReadonlySet<PictureStream> = new Set();
  /** Passed the password, or none is asked for. */
  admitted: boolean;
  /** A document was left out because the socket was full. */
  missed = false;
  /** Pings since it last answered one. */
  unanswered = 0;
  #credits = 0;
  #skipped = 0;

  constructor(
    readonly socket: WebSocket,
    admitted: boolean,
  ) {
    this.admitted = admitted;
  }

  watch(device: string | undefined, streams: readonly PictureStream[]): void {
    this.device = device;
    this.streams = new Set(streams);
  }

  credit(): void {
    this.#credits = Math.min(MAX_CREDITS, this.#credits + 1);
  }

  watches(device: string): boolean {
    return this.admitted && this.device === device && this.streams.size > 0;
  }

  /** Returns whether a frame set would be sent to the page now. */
  get hasRoom(): boolean {
    return this.#credits > 0;
  }

  /** A frame set came while it had no room. */
  skip(): void {
    this.#skipped++;
  }

  /** Sends a message that may be dropped: the next one of its kind replaces it. */
  say(message: ToPage): void {
    if (this.socket.bufferedAmount > MAX_WAITING_BYTES) this.missed = true;
    else this.#send(message);
  }

  /** Says it however many frames wait: it is reported once. */
  answer(message: Extract<ToPage, { type: "answer" }>): void {
    if (this.socket.bufferedAmount > MAX_UNREAD_BYTES) this.socket.terminate();
    else this.#send(message);
  }

  #send(message: ToPage): void {
    if (this.socket.readyState === this.socket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /** Uses a credit. `settled` is called exactly once, when the socket no longer needs the bytes. */
  sendFrames(device: string, frames: readonly Uint8Array[], settled: () => void): void {
    this.#credits--;
    const skipped = this.#skipped;
    this.#skipped = 0;
    // Without it the page would not know the frames for a set, and never ask for another one.
    this.#send({ type: "frames", device, count: frames.length, skipped });
    let waiting = frames.length;
    const one = () => {
      waiting--;
      if (waiting === 0) settled();
    };
    if (waiting === 0) settled();
    for (const frame of frames) this.socket.send(frame, { binary: true }, one);
  }
}
