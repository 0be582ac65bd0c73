// SPDX-License-Identifier: Apache-2.0
// Which requests the HTTP server answers at all: those that name this machine (no DNS rebinding) and come from its own pages
// (no other site's script drives it).
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { hostname } from "node:os";

export interface Refusal {
  status: 400 | 403 | 421;
  /** One sentence, sent as the body. */
  reason: string;
}

/** True for addresses that only this machine reaches. */
export function isLoopback(address: string): boolean {
  return address === "localhost" || address === "::1" || /^127\.\d+\.\d+\.\d+$/.test(address);
}

/** Headers that a proxy adds for the client that it speaks for. */
const PROXY_HEADERS = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];

/**
 * Returns whether a page on this machine made the request to a loopback address, without a proxy in between. Both Host and
 * Origin must name that address: no other name can be trusted, because any name server may lead it here.
 */
export function isFromThisMachine(headers: IncomingHttpHeaders, remoteAddress: string): boolean {
  const { host = "", origin } = headers;
  const name = hostName(host);
  return (
    isLoopback(remoteAddress.replace(/^::ffff:/, "")) &&
    name !== undefined &&
    isLoopback(name) &&
    origin?.toLowerCase().replace(/^https?:\/\//, "") === host.toLowerCase() &&
    PROXY_HEADERS.every((header) => headers[header] === undefined)
  );
}

/** The name in a Host header, without port and brackets, in lower case; undefined where it is none. */
function hostName(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9_.-]+))(?::\d{1,5})?$/i.exec(host);
  return (match?.[1] ?? match?.[2])?.toLowerCase().replace(/\.$/, "");
}

/**
 * A page that an attacker's name server points at this address sends that attacker's name as Host. An address as such can
 * belong to no foreign page, so every IP literal is ours.
 */
function isOurs(name: string): boolean {
  const own = hostname().toLowerCase();
  return isIP(name) !== 0 || name === "localhost" || name === own || name === `${own}.local`;
}

/**
 * @param tls whether the request came over TLS
 * @param names further names of this machine
 * @param socket a WebSocket is asked for: browsers always name the origin there
 * @param origins foreign pages that may ask, in lower case
 */
export function checkRequest(
  headers: IncomingHttpHeaders,
  {
    tls,
    names,
    socket,
    origins = [],
  }: { tls: boolean; names: readonly string[]; socket: boolean; origins?: readonly string[] | undefined },
): Refusal | undefined {
  const { host, origin } = headers;
  const name = host === undefined ? undefined : hostName(host);
  if (name === undefined) return { status: 400, reason: "Expected a Host header that names a machine." };
  if (!isOurs(name) && !names.includes(name))
    return { status: 421, reason: "Expected the name or an address of this machine in the Host header." };
  if (origin !== undefined && origins.includes(origin.toLowerCase())) return undefined;
  if (origin !== undefined && origin.toLowerCase() !== `${tls ? "https" : "http"}://${host?.toLowerCase()}`)
    return { status: 403, reason: "Expected a request of this server's own page." };
  // Where no origin is named (a GET of an image or script), browsers say in words how far away the asking page is.
  const site = headers["sec-fetch-site"];
  const opened = headers["sec-fetch-mode"] === "navigate" && !socket;
  if (!opened && (site === "cross-site" || site === "same-site"))
    return { status: 403, reason: "Expected a request of this server's own page." };
  return undefined;
}
