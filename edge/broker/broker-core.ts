// SPDX-License-Identifier: Apache-2.0
// The trial broker itself: aedes (MQTT 3.1.1) on loopback, with the bounds that aedes lacks. Runs in its own thread.
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Aedes, type AedesPublishPacket, type Client } from "aedes";
import { createWebSocketStream, WebSocketServer } from "ws";
import { trackConnections } from "../../core/index.js";
import { Guests } from "./guests.js";
import { RetainedLimit } from "./retained-limit.js";

export interface BrokerLimits {
  /** Bytes that may wait for one subscriber; what comes while more wait is dropped for that subscriber. */
  maxPendingBytesPerClient: number;
  maxConnections: number;
  /** A client that begins a larger packet is disconnected. */
  maxPacketBytes: number;
  /** All retained messages together; a client that would pass them is disconnected. */
  maxRetainedBytes: number;
  maxRetainedMessages: number;
}

export interface BrokerPorts {
  mqtt: number;
  /** 0 = any free port; undefined = no WebSocket listener. */
  webSocket: number | undefined;
}

export interface BrokerCounters {
  connections: number;
  /** Messages handed to subscribers. */
  forwarded: number;
  /** Messages not handed to a subscriber that was behind, and the bytes of their payloads. */
  dropped: number;
  droppedBytes: number;
  refusedConnections: number;
}

export interface BrokerCore {
  port: number;
  webSocketPort: number | undefined;
  counters(): BrokerCounters;
  close(): Promise<void>;
}

const LOOPBACK = "127.0.0.1";
/** How long a connection may be open without a CONNECT. */
const CONNECT_MS = 5000;
/** A client that subscribes to more is refused them. */
const MAX_SUBSCRIPTIONS = 1000;
/** A subscriber that stays over its limit for so long is disconnected. */
const PATIENCE_MS = 20_000;

/** Listens; where a port is taken, on any free one. Rejects where loopback cannot be listened on at all. */
export async function startBrokerCore(limits: BrokerLimits, ports: BrokerPorts): Promise<BrokerCore> {
  const counters: BrokerCounters = {
    connections: 0,
    forwarded: 0,
    dropped: 0,
    droppedBytes: 0,
    refusedConnections: 0,
  };
  const behindSince = new WeakMap<Client, number>();

  // aedes queues without limit for a subscriber that reads slowly; this is asked before each message for each of them.
  const authorizeForward = (client: Client, packet: AedesPublishPacket): AedesPublishPacket | null => {
    if (client.conn.writableLength <= limits.maxPendingBytesPerClient) {
      behindSince.delete(client);
      counters.forwarded++;
      return packet;
    }
    counters.dropped++;
    counters.droppedBytes += packet.payload.length;
    const since = behindSince.get(client) ?? performance.now();
    behindSince.set(client, since);
    if (performance.now() - since > PATIENCE_MS) client.conn.destroy();
    return null;
  };

  const guests = new Guests(limits.maxConnections, limits.maxPacketBytes);
  const retained = new RetainedLimit(limits.maxRetainedMessages, limits.maxRetainedBytes);
  const aedes = await Aedes.createBroker({
    authorizeForward,
    connectTimeout: CONNECT_MS,
    preConnect(client, packet, done) {
      // Nothing is kept for who goes: a session that stays would queue for its subscriptions without end.
      packet.clean = true;
      guests.useful(client.conn);
      done(null, true);
    },
    authorizeSubscribe(client, subscription, done) {
      const guest = guests.of(client.conn);
      if (guest === undefined || guest.subscriptions >= MAX_SUBSCRIPTIONS) return done(null, null);
      guest.subscriptions++;
      done(null, subscription);
    },
    authorizePublish(client, packet, done) {
      guests.useful(client?.conn);
      const kept = !packet.retain || retained.take(packet.topic, packet.payload.length);
      if (!kept || packet.topic.startsWith("$SYS/")) done(new Error("not allowed"));
      else done(null);
    },
  });
  aedes.on("unsubscribe", (filters, client) => {
    const guest = guests.of(client?.conn);
    if (guest !== undefined) guest.subscriptions = Math.max(0, guest.subscriptions - filters.length);
  });
  // Without a listener a client's protocol error would end the thread.
  aedes.on("clientError", () => {});
  aedes.on("connectionError", () => {});

  const accept = (connection: Duplex) => {
    if (!guests.admit(connection)) return;
    neverAskToWait(connection);
    aedes.handle(connection as Socket);
  };

  const tcp = createServer({ noDelay: true }, accept);
  const closeTcp = trackConnections(tcp);
  const port = await listen(tcp, ports.mqtt);
  const http = ports.webSocket === undefined ? undefined : serveWebSockets(accept, limits.maxPacketBytes);
  const closeHttp = http && trackConnections(http);
  const webSocketPort = http === undefined ? undefined : await listen(http, ports.webSocket ?? 0);
  return {
    port,
    webSocketPort,
    counters: () => ({ ...counters, connections: guests.count, refusedConnections: guests.refused }),
    async close() {
      const closed = Promise.all([closeTcp(), closeHttp?.()]);
      await new Promise<void>((resolve) => aedes.close(resolve));
      await closed;
    },
  };
}

/**
 * aedes reads on from a publisher only when each subscriber's socket has drained: one that stalls would stop the stream for
 * all. What waits is bounded by authorizeForward already, so every write may say that there is room.
 */
function neverAskToWait(connection: Duplex): void {
  const write = connection.write.bind(connection) as (...parameters: unknown[]) => boolean;
  connection.write = (...parameters: unknown[]) => {
    write(...parameters);
    return true;
  };
}

function listen(server: Server, wanted: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const taken = error.code === "EADDRINUSE" || error.code === "EACCES";
      if (taken && wanted !== 0) resolve(listen(server, 0));
      else reject(error);
    });
    server.listen(wanted, LOOPBACK, () => {
      server.removeAllListeners("error");
      server.on("error", () => {});
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : wanted);
    });
  });
}

/** Browsers reach loopback from any page they show, so only pages of this machine may connect; other clients have no origin. */
function isLocalOrigin(origin: string | undefined): boolean {
  if (origin === undefined) return true;
  try {
    return ["localhost", "127.0.0.1", "[::1]"].includes(new URL(origin).hostname);
  } catch {
    return false;
  }
}

function serveWebSockets(accept: (connection: Duplex) => void, maxPayload: number): HttpServer {
  const http = createHttpServer((_request, response) => {
    response
      .writeHead(426)
      .end("This is an MQTT broker: connect with a WebSocket and the subprotocol mqtt.\n");
  });
  const server = new WebSocketServer({
    server: http,
    perMessageDeflate: false,
    maxPayload,
    handleProtocols: (offered) => (offered.has("mqtt") ? "mqtt" : false),
    verifyClient: ({ origin }: { origin?: string }) => isLocalOrigin(origin),
  });
  // It passes on the listener's errors, such as a port that is taken; listen() deals with those.
  server.on("error", () => {});
  server.on("connection", (socket) => accept(createWebSocketStream(socket)));
  return http;
}
