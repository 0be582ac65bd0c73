// SPDX-License-Identifier: Apache-2.0
// The process's HTTP server as outputs use it.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { WebSocket } from "ws";

export type HttpHandler = (request: IncomingMessage, response: ServerResponse) => void;
export type SocketHandler = (socket: WebSocket, request: IncomingMessage) => void;

export interface SocketOptions {
  /** Origins of foreign pages that may connect, such as https://app.foxglove.dev; of our own pages all may. */
  origins?: readonly string[];
  /** The subprotocol that a client must offer. */
  protocol?: string;
  /** basic: the server asks for the password as for a path; handler: the handler asks, as our page sends none with a request. */
  password: "basic" | "handler";
}

export interface HttpRoutes {
  /**
   * Answers GET and HEAD of exactly this path. If the server has a password, a request must carry it (HTTP Basic, any user
   * name), unless the path is `open`: for what reveals nothing of the run.
   */
  get(path: string, handler: HttpHandler, options?: { open?: boolean }): void;
  /** Accepts WebSockets at exactly this path. */
  socket(path: string, handler: SocketHandler, options: SocketOptions): void;
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
  /** Viewers must pass it; undefined where no password is needed. */
  gate: PasswordCheck | undefined;
}
