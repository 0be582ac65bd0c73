// SPDX-License-Identifier: Apache-2.0
// The one HTTP server of a process. Outputs register exact paths and WebSockets; nothing is ever looked up in the file system.
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { WebSocketServer } from "ws";
import { DepthwattError, trackConnections } from "../../core/index.js";
import type { HttpHandler, HttpRoutes, SocketHandler, SocketOptions } from "../contracts/http.js";
import { checkRequest, isLoopback, type Refusal } from "./guard.js";
import type { PasswordGate } from "./password.js";

export interface HttpOptions {
  /** Address that it listens on. */
  address: string;
  /** "auto": DEFAULT_PORT, or a free port where that is taken. */
  port: number | "auto";
  /** Further names that this machine is called by, in lower case. */
  names?: readonly string[];
  /** PEM texts; makes it https. With `clientCa` only clients with a certificate of that authority are let in. */
  tls?: { cert: Buffer; key: Buffer; clientCa?: Buffer };
  /** Asked for each path that is not open to everybody. */
  gate?: PasswordGate | undefined;
  /** Called where a handler failed: a bug, not a request that was wrong. */
  onProblem?: (problem: Error) => void;
}

export const DEFAULT_PORT = 8990;
/** A run that restarts in this process is found where it was: pages that are open look for it there. */
let lastAutoPort: number | undefined;
/** Messages of a page are settings and clicks. */
const MAX_MESSAGE_BYTES = 64 << 10;
/** Sockets of people that have not given the password yet. Who asks for it lets the older ones of them give way. */
export const MAX_STRANGERS = 16;
/** 64 authorized users, in addition to the strangers. */
const MAX_SOCKETS = 64 + MAX_STRANGERS;
/** How long the client of an unknown upgrade may leave its response unread. */
const UNREAD_RESPONSE_MS = 10_000;

const BASIC = 'Basic realm="depthwatt", charset="UTF-8"';

const HEADERS = {
  "X-Content-Type-Options": "nosniff",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
};

export class HttpServer implements HttpRoutes {
  readonly #options: HttpOptions;
  readonly #server: Server;
  readonly #pages = new Map<string, { handler: HttpHandler; open: boolean }>();
  readonly #sockets = new Map<string, { handler: SocketHandler; options: SocketOptions }>();
  readonly #upgrades: WebSocketServer;
  readonly #closeServer: () => Promise<void>;
  #url: string | undefined;

  constructor(options: HttpOptions) {
    this.#options = options;
    const listener: RequestListener = (request, response) => this.#answer(request, response);
    const { tls } = options;
    this.#server =
      tls === undefined
        ? createServer(listener)
        : createTlsServer(
            {
              cert: tls.cert,
              key: tls.key,
              ...(tls.clientCa && { ca: tls.clientCa, requestCert: true, rejectUnauthorized: true }),
            },
            listener,
          );
    this.#upgrades = new WebSocketServer({
      noServer: true,
      maxPayload: MAX_MESSAGE_BYTES,
      perMessageDeflate: false,
      handleProtocols: (offered, request) =>
        this.#sockets.get(requestPath(request))?.options.protocol ?? [...offered][0]!,
    });
    this.#closeServer = trackConnections(this.#server);
    this.#server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket as Socket, head));
    // A stranger's malformed bytes close only that stranger's connection.
    this.#server.on("clientError", (_error, socket) => socket.destroy());
  }

  get(path: string, handler: HttpHandler, { open = false }: { open?: boolean } = {}): void {
    this.#pages.set(path, { handler, open });
  }

  socket(path: string, handler: SocketHandler, options: SocketOptions): void {
    this.#sockets.set(path, { handler, options });
  }

  /** Answers a path and all paths below it no more. */
  remove(path: string): void {
    for (const routes of [this.#pages, this.#sockets])
      for (const route of routes.keys())
        if (route === path || route.startsWith(`${path}/`)) routes.delete(route);
  }

  /** True where only this machine reaches it. */
  get loopback(): boolean {
    return isLoopback(this.#options.address);
  }

  get url(): string | undefined {
    return this.#url;
  }

  /** @throws DepthwattError HTTP_UNAVAILABLE */
  async listen(): Promise<void> {
    const { port } = this.#options;
    const ports = port === "auto" ? [lastAutoPort ?? DEFAULT_PORT, DEFAULT_PORT, 0] : [port];
    for (const [index, candidate] of ports.entries()) {
      const failed = await this.#bind(candidate).then(
        () => undefined,
        (error: NodeJS.ErrnoException) => error,
      );
      if (failed === undefined) break;
      if (index === ports.length - 1 || failed.code !== "EADDRINUSE") throw this.#reported(failed);
    }
    const { address, family, port: chosen } = this.#server.address() as AddressInfo;
    if (port === "auto") lastAutoPort = chosen;
    const everywhere = address === "0.0.0.0" || address === "::";
    const host = everywhere ? "localhost" : family === "IPv6" ? `[${address}]` : address;
    this.#url = `${this.#options.tls ? "https" : "http"}://${host}:${chosen}`;
  }

  #reported(cause: unknown): DepthwattError {
    const { address, port } = this.#options;
    const { code } = cause as NodeJS.ErrnoException;
    const why =
      code === "EADDRINUSE"
        ? "another process has that port"
        : code === "EADDRNOTAVAIL"
          ? "this machine has no such address"
          : code === "EACCES"
            ? "this user may not use that port"
            : String(code ?? (cause as Error).message);
    return new DepthwattError("HTTP_UNAVAILABLE", `expected to listen on ${address} port ${port}: ${why}`, {
      cause,
      context: { address, port },
    });
  }

  #bind(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, this.#options.address, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
  }

  #refusal(request: IncomingMessage, socket: boolean, origins?: readonly string[]): Refusal | undefined {
    const { tls, names = [] } = this.#options;
    return checkRequest(request.headers, { tls: tls !== undefined, names, socket, origins });
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const refused = this.#refusal(request, false);
    if (refused) {
      sendText(response, refused.status, refused.reason);
      return;
    }
    // Compared as it came: nothing is decoded, so there is no second way to write a path.
    const page = this.#pages.get(requestPath(request));
    if (page === undefined) {
      sendText(response, 404, "There is nothing at this address.");
      return;
    }
    if (!page.open && !this.#admits(request, response)) return;
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("Allow", "GET, HEAD");
      sendText(response, 405, "Expected GET or HEAD.");
      return;
    }
    try {
      page.handler(request, response);
    } catch (error) {
      this.#options.onProblem?.(error as Error);
      if (!response.headersSent) sendText(response, 500, "This request failed; the program's log says why.");
      else response.destroy();
    }
  }

  #checkPassword(request: IncomingMessage): "right" | "wrong" | "wait" | "none" {
    const { gate } = this.#options;
    if (gate === undefined) return "right";
    const given = basicPassword(request);
    return given === undefined ? "none" : gate.check(given, request.socket.remoteAddress ?? "");
  }

  /** Returns whether the request carries the password; otherwise answers it. */
  #admits(request: IncomingMessage, response: ServerResponse): boolean {
    const found = this.#checkPassword(request);
    if (found === "right") return true;
    if (found === "wait") sendText(response, 429, "Too many wrong passwords. Wait a few seconds.");
    else {
      response.setHeader("WWW-Authenticate", BASIC);
      sendText(response, 401, "Expected the password of http.passwordFile.");
    }
    return false;
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    if (request.headers.upgrade?.toLowerCase() !== "websocket") {
      this.#answerOnce(request, socket);
      return;
    }
    const route = this.#sockets.get(requestPath(request));
    const status = this.#upgradeRefusal(request, route?.options);
    if (route === undefined || status !== undefined) {
      const ask = status === 401 ? `\r\nWWW-Authenticate: ${BASIC}` : "";
      socket.write(`HTTP/1.1 ${status} Refused${ask}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      socket.destroySoon();
      return;
    }
    this.#upgrades.handleUpgrade(request, socket, head, (accepted) => {
      accepted.on("error", () => accepted.terminate());
      route.handler(accepted, request);
    });
  }

  #upgradeRefusal(request: IncomingMessage, options: SocketOptions | undefined): number | undefined {
    const refused = this.#refusal(request, true, options?.origins);
    if (refused) return refused.status;
    if (options === undefined) return 404;
    if (this.#upgrades.clients.size >= MAX_SOCKETS) return 503;
    const offered = request.headers["sec-websocket-protocol"]?.split(",").map((name) => name.trim()) ?? [];
    if (options.protocol !== undefined && !offered.includes(options.protocol)) return 400;
    if (options.password === "handler") return undefined;
    const found = this.#checkPassword(request);
    return found === "right" ? undefined : found === "wait" ? 429 : 401;
  }

  /**
   * Answers a request for an unknown upgrade, such as h2c, as if it asked for none (RFC 9110, section 7.8). Node has
   * already detached its parser from the connection, so the connection ends with this response.
   */
  #answerOnce(request: IncomingMessage, socket: Socket): void {
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once("finish", () => socket.destroySoon());
    socket.setTimeout(UNREAD_RESPONSE_MS, () => socket.destroy());
    this.#answer(request, response);
  }

  async close(): Promise<void> {
    this.#upgrades.close();
    await this.#closeServer();
  }
}

const requestPath = (request: IncomingMessage): string => request.url!.split("?", 1)[0]!;

/** Returns the password of HTTP Basic (RFC 7617); undefined if there is none. */
function basicPassword({ headers }: IncomingMessage): string | undefined {
  const [, encoded] = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(headers.authorization ?? "") ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString();
  const colon = text.indexOf(":");
  return colon < 0 ? undefined : text.slice(colon + 1);
}

/** A short plain answer. */
export function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store" });
  response.end(`${text}\n`);
}
