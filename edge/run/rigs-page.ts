// SPDX-License-Identifier: Apache-2.0
// The first page of a process with several rigs: their states, and where their pages are.
import type { HttpHandler } from "../contracts/http.js";

export interface ListedRig {
  name: string;
  /** Undefined: it has no page now. */
  path: string | undefined;
  state: string;
}

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escapeHtml = (text: string) => text.replace(/[&<>"]/g, (character) => ESCAPES[character]!);

function row({ name, path, state }: ListedRig): string {
  const label =
    path === undefined ? escapeHtml(name) : `<a href="${escapeHtml(path)}">${escapeHtml(name)}</a>`;
  return `<li>${label}: ${escapeHtml(state)}</li>`;
}

/** Answers with the list as it is at that moment; the page asks again every few seconds. */
export function rigsPage(list: () => readonly ListedRig[]): HttpHandler {
  return (request, response) => {
    const body = Buffer.from(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta http-equiv="refresh" content="5">
<title>depthwatt: rigs</title></head>
<body><h1>Rigs</h1><ul>
${list().map(row).join("\n")}
</ul></body></html>
`);
    response.writeHead(200, {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Length": body.length,
      "Cache-Control": "no-store",
      "Content-Security-Policy":
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    });
    response.end(request.method === "HEAD" ? undefined : body);
  };
}
