// SPDX-License-Identifier: Apache-2.0
// What becomes of bytes on the connection beside that of the frames: each call hears once what happened, and why.
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { type DropCause, SideTopics } from "../../../edge/outputs/side-topics.js";

test("what was on its way when the connection broke is lost, what comes then is offline", async () => {
  let peer: Socket | undefined;
  const server = createServer((socket) => {
    peer = socket;
    socket.on("error", () => {});
    socket.once("data", () => {
      // CONNACK of MQTT 5, and then nothing is read any more.
      socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
      socket.pause();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const broker = { url: `mqtt://127.0.0.1:${port}`, embedded: false, protocolVersion: 5 as const };
  const side = new SideTopics({ broker, name: "test", notice: () => {} });
  try {
    await side.ready;
    const outcome = (bytes: number) =>
      new Promise<DropCause | undefined>((resolve) => side.sendBytes("t", new Uint8Array(bytes), resolve));
    // More than sockets of both ends hold.
    const first = outcome(64 << 20);
    expect(await outcome(2 << 20)).toBe("backpressure");
    peer!.resetAndDestroy();
    expect(await first).toBe("lost");
    expect(await outcome(10)).toBe("offline");
    expect({ sent: side.sent, drops: side.drops }).toEqual({
      sent: 0,
      drops: { backpressure: 1, lost: 1, offline: 1 },
    });
  } finally {
    await side.close();
    peer?.destroy();
    server.close();
  }
});
