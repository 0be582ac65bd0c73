// SPDX-License-Identifier: Apache-2.0
// A page behind a slow network: what waits at its socket must not cost it the head of a set of frames, nor an answer.
import { EventEmitter } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import type { WebSocket } from "ws";
import type { PictureStream } from "../../../core/frame/frame-format.js";
import { Hub } from "../../../edge/outputs/viewer/hub.js";
import type { FromPage, ToPage } from "../../../edge/outputs/viewer/protocol.js";

/** A WebSocket that holds what it was given, as one does whose other end does not read. */
class SlowSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  bufferedAmount = 0;
  readonly sent: (ToPage | Uint8Array)[] = [];
  readonly terminate = vi.fn();

  send(data: string | Uint8Array, _options?: object, done?: () => void): void {
    this.bufferedAmount += data.length;
    this.sent.push(typeof data === "string" ? JSON.parse(data) : data);
    done?.();
  }
}

function opened() {
  const hub = new Hub({
    kind: "run",
    origin: "a test",
    control: {
      describe: () => ({
        type: "control",
        state: { enabled: true, canSave: false },
        settings: [],
        values: {},
        presets: [],
      }),
      ask: async ({ id }) => ({ type: "answer", id, answer: { ok: true } }),
    },
  });
  const socket = new SlowSocket();
  hub.join(socket as unknown as WebSocket, "a test");
  // Ends the hub's beat, which would go on in the tests behind this one.
  onTestFinished(() => void socket.emit("close"));
  const hear = (message: FromPage) => socket.emit("message", JSON.stringify(message), false);
  const kinds = () => socket.sent.map((one) => (one instanceof Uint8Array ? one.length : one.type));
  return { hub, socket, hear, kinds };
}

test("each set of frames has its head, however much waits in front of it", () => {
  const { hub, socket, hear, kinds } = opened();
  hear({ type: "watch", device: "a", streams: ["depth"] });
  hear({ type: "next" });
  hear({ type: "next" });
  socket.sent.length = 0;
  const frames = new Map<PictureStream, Uint8Array>([["depth", new Uint8Array(3 << 20)]]);
  for (let set = 0; set < 2; set++) hub.send("a", frames, () => {});
  expect(kinds()).toEqual(["frames", 3 << 20, "frames", 3 << 20]);
});

test("an answer is sent while frames wait; other words are left out and said again", async () => {
  const { hub, socket, hear, kinds } = opened();
  socket.sent.length = 0;
  socket.bufferedAmount = 5 << 20;
  hub.log("info", "a line");
  hear({ type: "ask", id: 7, command: "get", payload: "{}" });
  await vi.waitFor(() => expect(kinds()).toEqual(["answer"]));
  socket.bufferedAmount = 0;
  hear({ type: "next" });
  expect(kinds()).toContain("log");
});

test("a page that asks and never reads is cut off", async () => {
  const { socket, hear } = opened();
  socket.bufferedAmount = 100 << 20;
  hear({ type: "ask", id: 7, command: "get", payload: "{}" });
  await vi.waitFor(() => expect(socket.terminate).toHaveBeenCalled());
});
