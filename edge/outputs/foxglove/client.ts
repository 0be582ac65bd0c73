// SPDX-License-Identifier: Apache-2.0
// A client's WebSocket as the protocol's library sees it: what a slow client has no room for is dropped and counted, and a client
// that asks without reading is disconnected.
import type { IWebSocket } from "@foxglove/ws-protocol";
import type { WebSocket } from "ws";

/** A client with so much unread gets no frame until it has read. */
const MAX_WAITING_BYTES = 1 << 20;
/** Answers are sent however much is unread, up to here. */
const MAX_UNREAD_BYTES = 4 << 20;

export interface ClientEvents {
  /** A message was left out. */
  onDrop(): void;
  /** The payload that the library sends now is read until the returned function is called. */
  onPayload(): () => void;
}

export class FoxgloveClient implements IWebSocket {
  binaryType = "arraybuffer";
  onopen: IWebSocket["onopen"];
  onclose: IWebSocket["onclose"];
  onerror: IWebSocket["onerror"];
  onmessage: IWebSocket["onmessage"];
  readonly protocol: string;
  readonly #socket: WebSocket;
  readonly #events: ClientEvents;
  #isBusy = false;

  constructor(socket: WebSocket, events: ClientEvents) {
    this.#socket = socket;
    this.#events = events;
    this.protocol = socket.protocol;
    socket.on("message", (data, isBinary) => this.onmessage?.({ data: isBinary ? data : String(data) }));
    socket.on("close", (code, reason) =>
      this.onclose?.({ code, reason: String(reason), wasClean: code === 1000 }),
    );
  }

  /** Decides for all messages of a frame at once: else the large ones would always leave no room for those behind them. */
  beginFrame(): void {
    this.#isBusy = this.#socket.bufferedAmount > MAX_WAITING_BYTES;
  }

  /**
   * Takes a message in two fragments: a header with `fin` false, then the payload, which is not copied. The library sends so only
   * where `send.length` is 2: a default value of `options` would make it 1.
   */
  send(data: string | ArrayBuffer | ArrayBufferView, options?: { fin?: boolean }): void {
    if (typeof data === "string") {
      if (this.#socket.bufferedAmount > MAX_UNREAD_BYTES) this.#socket.terminate();
      else this.#socket.send(data);
    } else if (options?.fin === false) {
      if (!this.#isBusy) this.#socket.send(data, { binary: true, fin: false });
    } else if (this.#isBusy) this.#events.onDrop();
    else {
      this.#socket.send(data, { binary: true, fin: true }, this.#events.onPayload());
    }
  }

  close(): void {
    this.#socket.close(1001, "depthwatt was stopped");
  }
}
