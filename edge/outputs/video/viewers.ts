// SPDX-License-Identifier: Apache-2.0
// The open responses of one moving picture. Nothing is queued: who has not received the picture before misses this one.
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { sendText } from "../../http/index.js";

const BOUNDARY = "picture";
/** Further viewers of the same moving picture are refused. */
const MAX_VIEWERS = 32;
/** A viewer that receives nothing for so long while something waits for it is disconnected. */
const STALLED_MS = 30_000;

export class Viewers {
  readonly #moving = new Set<ServerResponse>();
  readonly #still = new Set<ServerResponse>();

  get count(): number {
    return this.#moving.size + this.#still.size;
  }

  /** @param kind moving: every picture from now on; still: the next one */
  join(response: ServerResponse, kind: "moving" | "still"): void {
    if (this.count >= MAX_VIEWERS) {
      sendText(response, 503, `Expected at most ${MAX_VIEWERS} viewers of this picture.`);
      return;
    }
    const viewers = kind === "moving" ? this.#moving : this.#still;
    viewers.add(response);
    response.on("close", () => viewers.delete(response));
    response.setHeader("Cache-Control", "no-store");
    const type = kind === "moving" ? `multipart/x-mixed-replace; boundary=${BOUNDARY}` : "image/jpeg";
    response.setHeader("Content-Type", type);
    if (response.req.method === "HEAD") response.end();
    else if (kind === "moving") {
      response.flushHeaders();
      disconnectStalled(response, response.socket!);
    }
  }

  /** Returns whether the next picture would be sent to anybody. */
  get isReady(): boolean {
    return this.#still.size > 0 || [...this.#moving].some(hasRoom);
  }

  /** @returns how many viewers it was sent to, and how many were busy */
  show(jpeg: Uint8Array): { sent: number; busy: number } {
    const ready = [...this.#moving].filter(hasRoom);
    const busy = this.#moving.size - ready.length;
    const head = `--${BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: ${jpeg.length}\r\n\r\n`;
    for (const response of ready) {
      response.cork();
      response.write(head);
      response.write(jpeg);
      response.write("\r\n");
      response.uncork();
    }
    const sent = ready.length + this.#still.size;
    for (const response of this.#still) response.end(jpeg);
    return { sent, busy };
  }

  close(): void {
    for (const response of [...this.#moving, ...this.#still]) response.destroy();
  }
}

const hasRoom = (response: ServerResponse) => response.writableLength === 0;

function disconnectStalled(response: ServerResponse, socket: Socket): void {
  socket.setTimeout(STALLED_MS, () => {
    if (!hasRoom(response)) response.destroy();
  });
}
