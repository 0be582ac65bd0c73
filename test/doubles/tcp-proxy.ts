// SPDX-License-Identifier: Apache-2.0
// A link that can go bad: a TCP proxy which stops reading (the peer stays connected and takes nothing) or cuts.
import { connect, createServer, type Server, type Socket } from "node:net";

export interface TcpProxy {
  readonly port: number;
  /** Stops or resumes reading what clients send. */
  stall(stalled: boolean): void;
  /** Resets every connection, as a pulled cable and a router's timeout would. */
  cut(): void;
  close(): Promise<void>;
}

/** @param ownPort where it listens; default a free one */
export async function startTcpProxy(targetPort: number, ownPort = 0): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  let stalled = false;
  const server: Server = createServer((client) => {
    const upstream = connect(targetPort, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        clients.delete(client);
        client.destroy();
        upstream.destroy();
      });
    }
    clients.add(client);
    client.on("data", (chunk) => {
      if (!upstream.write(chunk)) client.pause();
    });
    upstream.on("drain", () => {
      if (!stalled) client.resume();
    });
    upstream.pipe(client);
    if (stalled) client.pause();
  });
  await new Promise<void>((resolve) => server.listen(ownPort, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    stall(value) {
      stalled = value;
      for (const client of clients) value ? client.pause() : client.resume();
    },
    cut() {
      for (const socket of [...sockets]) socket.resetAndDestroy();
    },
    async close() {
      for (const socket of [...sockets]) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
