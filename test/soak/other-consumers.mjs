// SPDX-License-Identifier: Apache-2.0
// Consumers that are no help: one that never reads, one that reads a little now and then, a live page that keeps up, one that stopped
// asking, and a scraper of metrics.
import { connect } from "node:net";
import { WebSocket } from "ws";
import { sleep } from "./random.mjs";

const text = (value) =>
  Buffer.concat([Buffer.from([value.length >> 8, value.length & 255]), Buffer.from(value)]);
const packet = (type, ...parts) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([type, body.length]), body]);
};

/**
 * Subscribes and then reads at most `bytesEach` every `everyMs`; 0: never. Connects again when the broker has gone.
 * Returns how to end it.
 */
export function sluggishSubscriber(port, filter, name, bytesEach, everyMs) {
  let ended = false;
  let socket;
  const begin = () => {
    if (ended) return;
    socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.once("close", () => setTimeout(begin, 500));
    socket.once("connect", () => {
      const hello = [text("MQTT"), Buffer.from([4, 2, 0, 0]), text(name)];
      socket.write(packet(0x10, ...hello));
      socket.write(packet(0x82, Buffer.from([0, 1]), text(filter), Buffer.from([0])));
      socket.on("readable", () => {});
    });
  };
  begin();
  const timer =
    bytesEach === 0
      ? undefined
      : setInterval(() => socket?.read(Math.min(bytesEach, socket.readableLength)), everyMs);
  return () => {
    ended = true;
    clearInterval(timer);
    socket?.destroy();
  };
}

/** A live page. One that `asks` gets a frame set after the other; else it takes two and never asks again. */
export class Page {
  sets = 0;
  /** Times that the program closed it: while no page is open, no frame is offered to any. */
  closed = 0;
  #url;
  #device;
  #asks;
  #socket;
  #due = 0;
  #ended = false;

  constructor(url, device, asks) {
    this.#url = `${url.replace(/^http/, "ws").replace(/\/$/, "")}/live`;
    this.#device = device;
    this.#asks = asks;
  }

  async open() {
    const socket = new WebSocket(this.#url, {
      headers: { origin: new URL(this.#url.replace(/^ws/, "http")).origin },
    });
    this.#socket = socket;
    socket.on("error", () => {});
    await new Promise((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("close", () => reject(new Error("the live page was refused")));
    });
    const streams = ["depth", "left", "confidence"];
    socket.send(JSON.stringify({ type: "watch", device: this.#device, streams }));
    for (let credits = 0; credits < 2; credits++) socket.send(JSON.stringify({ type: "next" }));
    socket.on("message", (data, isBinary) => this.#take(data, isBinary));
    socket.on("close", () => {
      if (!this.#ended && socket === this.#socket) this.closed++;
    });
  }

  #take(data, isBinary) {
    if (!isBinary) {
      const message = JSON.parse(String(data));
      if (message.type === "frames") this.#due = message.count;
      return;
    }
    if (--this.#due > 0) return;
    this.sets++;
    if (this.#asks && !this.#ended) this.#socket.send(JSON.stringify({ type: "next" }));
  }

  /** As a browser's tab that is closed by force. */
  async reopen() {
    const before = this.#socket;
    this.#socket = undefined;
    before?.terminate();
    await this.open();
  }

  /** From here on the program may close it. */
  mayEnd() {
    this.#ended = true;
  }

  close() {
    this.#ended = true;
    this.#socket?.terminate();
  }
}

/** Reads /metrics again and again; counts what came. */
export function scraper(page) {
  const reported = { scrapes: 0, failures: 0 };
  let ended = false;
  void (async () => {
    while (!ended) {
      await fetch(new URL("/metrics", page))
        .then(async (answer) => {
          if (answer.ok && (await answer.text()).includes("depthwatt_frames_total")) reported.scrapes++;
          else reported.failures++;
        })
        .catch(() => reported.failures++);
      await sleep(2000);
    }
  })();
  return {
    reported,
    end() {
      ended = true;
    },
  };
}
