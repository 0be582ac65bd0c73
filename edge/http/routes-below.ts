// SPDX-License-Identifier: Apache-2.0
// A part of the HTTP server: paths of one rig, all below a prefix.
import type { HttpHandler, HttpRoutes, SocketHandler, SocketOptions } from "../contracts/http.js";
import type { HttpServer } from "./server.js";

export class RoutesBelow implements HttpRoutes {
  readonly #server: HttpServer;
  readonly #prefix: string;

  /** @param prefix such as /rigs/front */
  constructor(server: HttpServer, prefix: string) {
    this.#server = server;
    this.#prefix = prefix;
    // The page's own addresses are relative to its folder.
    const toFolder: HttpHandler = (_request, response) => {
      response.writeHead(308, { Location: `${prefix}/` });
      response.end();
    };
    server.get(prefix, toFolder, { open: true });
  }

  get(path: string, handler: HttpHandler, options?: { open?: boolean }): void {
    this.#server.get(this.#prefix + path, handler, options);
  }

  socket(path: string, handler: SocketHandler, options: SocketOptions): void {
    this.#server.socket(this.#prefix + path, handler, options);
  }

  get url(): string | undefined {
    const { url } = this.#server;
    return url === undefined ? undefined : url + this.#prefix;
  }

  close(): void {
    this.#server.remove(this.#prefix);
  }
}
