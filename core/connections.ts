// SPDX-License-Identifier: Apache-2.0
// Closes TCP and HTTP servers without waiting for their clients.
import type { Server, Socket } from "node:net";

/**
 * Tracks every open connection of a server from now on. Node's HTTP server forgets connections that were upgraded and those in a
 * TLS handshake, but its close() waits for them.
 * @returns closes the server and destroys its connections
 */
export function trackConnections(server: Server): () => Promise<void> {
  const connections = new Set<Socket>();
  server.on("connection", (connection: Socket) => {
    connections.add(connection);
    connection.once("close", () => connections.delete(connection));
  });
  return async () => {
    if (!server.listening) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const connection of connections) connection.destroy();
    await closed;
  };
}
