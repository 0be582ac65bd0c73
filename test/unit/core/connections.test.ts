// SPDX-License-Identifier: Apache-2.0
// A server that closes while clients are connected.
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { expect, test } from "vitest";
import { trackConnections } from "../../../core/connections.js";

test("a server closes without waiting for its clients, and closing it again does nothing", async () => {
  const server = createServer();
  const close = trackConnections(server);
  await close();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const clients = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")];
  const closed = clients.map((client) =>
    once(
      client.on("error", () => {}),
      "close",
    ),
  );
  for (let open = 0; open < 2; open++) await once(server, "connection");
  await close();
  expect(server.listening).toBe(false);
  await Promise.all(closed);
  await close();
});
