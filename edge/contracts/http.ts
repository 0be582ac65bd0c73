// SPDX-License-Identifier: Apache-2.0
// The process's HTTP server as outputs use it.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { WebSocket } from "ws";

export type HttpHandler = (request: IncomingMessage, response: ServerResponse) => void;
export type SocketHandler = (socket: WebSocket, request: IncomingMessage) => void;

export interface HttpRoutes {
  /**
   * Answers GET and HEAD of exactly this path. If the server has a password, a request must carry it (HTTP Basic, any user
   * name), unless the path is `open`: for what reveals nothing of the run.
   */
  get(path: string, handler: HttpHandler, options?: { open?: boolean }): void;
  /** Accepts WebSockets at exactly this path. A browser sends no password with one: the handler asks for it. */
  socket(path: string, handler: SocketHandler): void;
  /** Where it listens, such as http://127.0.0.1:8990; undefined before it listens. */
  readonly url: string | undefined;
}

export interface PasswordCheck {
  /**
   * @param address the client's: each has its own limit of wrong passwords
   * @returns "wait": too many wrong ones lately, so this one was not compared
   */
  check(given: string, address: string): "right" | "wrong" | "wait";
}

export interface HttpAccess {
  server: HttpRoutes;
  /** Viewers must pass it; undefined where no password is needed. The server asks automatically, except for WebSockets. */
  gate: PasswordCheck | undefined;
}
