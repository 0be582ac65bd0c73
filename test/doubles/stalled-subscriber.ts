// SPDX-License-Identifier: Apache-2.0
// A subscriber that says hello, subscribes and then never reads again: what a hung consumer does to a broker.
import { connect, type Socket } from "node:net";
import { generate } from "mqtt-packet";

export async function connectStalledSubscriber(port: number, filter: string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.write(
    generate({
      cmd: "connect",
      protocolId: "MQTT",
      protocolVersion: 4,
      clean: true,
      clientId: "stalled",
      keepalive: 0,
    }),
  );
  await new Promise((resolve) => socket.once("data", resolve));
  socket.write(generate({ cmd: "subscribe", messageId: 1, subscriptions: [{ topic: filter, qos: 0 }] }));
  await new Promise((resolve) => socket.once("data", resolve));
  socket.pause();
  return socket;
}
