// SPDX-License-Identifier: Apache-2.0
// The built page in memory: its files by the exact path that a browser asks for. Nothing else can be asked for.
import { readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { extname, join } from "node:path";
import { DepthwattError, packageRoot } from "../../../core/index.js";
import type { HttpHandler, HttpRoutes } from "../../contracts/http.js";
import { isFromThisMachine } from "../../http/index.js";
import type { Hub } from "./hub.js";
import { SOCKET_PATH } from "./protocol.js";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const builtPage = () => join(packageRoot(), "dist/page");

/** All of the page's own; a WebSocket's scheme is named for browsers whose 'self' does not cover it. */
function contentSecurityPolicy(request: IncomingMessage, secure: boolean): string {
  const socket = `${secure ? "wss" : "ws"}://${request.headers.host}`;
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob:",
    `connect-src 'self' ${socket}`,
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/**
 * Registers the page's files and its WebSocket.
 * @throws DepthwattError ADDON_MISSING where the page was not built
 */
export function servePage(server: HttpRoutes, hub: Hub, folder = builtPage()): void {
  let names: string[];
  try {
    names = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  } catch (cause) {
    throw new DepthwattError("PAGE_MISSING", `expected the built page in ${folder}, found none`, { cause });
  }
  for (const name of names) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const plain = readFileSync(join(folder, name));
    const packed = readFileSync(join(folder, `${name}.gz`));
    const page = name === "index.html";
    const answer: HttpHandler = (request, response) => {
      const takesGzip = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
      const body = takesGzip ? packed : plain;
      response.setHeader("Content-Type", type);
      response.setHeader("Content-Length", body.length);
      response.setHeader("Vary", "Accept-Encoding");
      if (takesGzip) response.setHeader("Content-Encoding", "gzip");
      // Names hold a hash of the content, but for the page's own.
      response.setHeader("Cache-Control", page ? "no-cache" : "public, max-age=31536000, immutable");
      response.setHeader(
        "Content-Security-Policy",
        contentSecurityPolicy(request, server.url?.startsWith("https:") === true),
      );
      response.end(request.method === "HEAD" ? undefined : body);
    };
    // The page contains nothing confidential: it asks for the password before it gets any data.
    server.get(page ? "/" : `/${name}`, answer, { open: true });
  }
  // Browsers send no password with a socket: the hub asks for it.
  server.socket(
    SOCKET_PATH,
    (socket, request) => {
      const { remoteAddress = "?" } = request.socket;
      hub.join(socket, remoteAddress, isFromThisMachine(request.headers, remoteAddress));
    },
    { password: "handler" },
  );
}
