// SPDX-License-Identifier: Apache-2.0
// Answers scrapes: makes the text at most a few times a second, and disconnects clients that do not read, so that no
// client costs more than a few answers' memory.
import type { ServerResponse } from "node:http";
import type { OutputCounters } from "../../contracts/output.js";
import { CONTENT_TYPES, type Format } from "./exposition.js";

/** A text is good for so long. */
const FRESH_MS = 200;
/** How long a client may take to read its answer. */
const READ_LIMIT_MS = 10_000;
/** Answers that are being read at the same time. */
const MAX_UNREAD = 16;

export interface ScrapeLimits {
  freshMs?: number;
  readLimitMs?: number;
  maxUnread?: number;
}

export class Scrapes {
  readonly #renderText: (format: Format) => string;
  readonly #limits: Required<ScrapeLimits>;
  readonly #texts = new Map<Format, { body: Buffer; madeMs: number }>();
  readonly #unread = new Map<ServerResponse, NodeJS.Timeout>();
  #sent = 0;
  #bytes = 0;
  #busy = 0;
  #cutOff = 0;

  constructor(renderText: (format: Format) => string, limits: ScrapeLimits = {}) {
    this.#renderText = renderText;
    this.#limits = { freshMs: FRESH_MS, readLimitMs: READ_LIMIT_MS, maxUnread: MAX_UNREAD, ...limits };
  }

  /** Answers one scrape. @returns the reason if it is not answered */
  answer(format: Format, response: ServerResponse): string | undefined {
    const { maxUnread, readLimitMs } = this.#limits;
    if (this.#unread.size >= maxUnread) {
      this.#busy++;
      return `Expected at most ${maxUnread} scrapes at a time, got one more. Read the answers.`;
    }
    const body = this.#text(format);
    const cut = setTimeout(() => {
      this.#cutOff++;
      this.#unread.delete(response);
      response.destroy();
    }, readLimitMs);
    cut.unref();
    this.#unread.set(response, cut);
    response.once("close", () => this.#done(response, body.length));
    response.writeHead(200, {
      "Content-Type": CONTENT_TYPES[format],
      "Content-Length": body.length,
      "Cache-Control": "no-store",
    });
    response.end(body);
    return undefined;
  }

  #text(format: Format): Buffer {
    const now = performance.now();
    const made = this.#texts.get(format);
    if (made !== undefined && now - made.madeMs < this.#limits.freshMs) return made.body;
    const body = Buffer.from(this.#renderText(format));
    this.#texts.set(format, { body, madeMs: now });
    return body;
  }

  #done(response: ServerResponse, bytes: number): void {
    clearTimeout(this.#unread.get(response));
    if (!this.#unread.delete(response) || !response.writableFinished) return;
    this.#sent++;
    this.#bytes += bytes;
  }

  counters(): OutputCounters {
    const details = { refusedBusy: this.#busy, cutOff: this.#cutOff };
    return { sent: this.#sent, bytes: this.#bytes, drops: {}, details };
  }

  close(): void {
    for (const cut of this.#unread.values()) clearTimeout(cut);
    this.#unread.clear();
  }
}
