// SPDX-License-Identifier: Apache-2.0
// The page that lists the rigs of a run.
import { describe, expect, test } from "vitest";
import { rigsPage } from "../../../../edge/run/rigs-page.js";

describe("the page of several rigs", () => {
  function get(method: string, rigs: Parameters<typeof rigsPage>[0] = () => []) {
    const answer: { status?: number; headers?: Record<string, unknown>; body?: string | undefined } = {};
    const response = {
      writeHead: (status: number, headers: Record<string, unknown>) =>
        Object.assign(answer, { status, headers }),
      end: (body?: Buffer) => {
        answer.body = body?.toString();
      },
    };
    rigsPage(rigs)({ method } as never, response as never);
    return answer;
  }

  test("lists each with its state and a link to its page, escaped", () => {
    let rigs = [
      { name: "front", path: '/front/?a="1"&b', state: "online" },
      { name: "<rear>", path: undefined, state: "waits & retries" },
    ];
    const list = () => rigs;
    const { status, headers, body } = get("GET", list);
    expect(status).toBe(200);
    expect(body).toContain(
      '<ul>\n<li><a href="/front/?a=&quot;1&quot;&amp;b">front</a>: online</li>\n<li>&lt;rear&gt;: waits &amp; retries</li>\n</ul>',
    );
    expect(body).toContain('http-equiv="refresh" content="5"');
    expect(headers).toMatchObject({
      "Content-Type": "text/html; charset=utf-8",
      "Content-Length": Buffer.byteLength(body!),
      "Cache-Control": "no-store",
    });
    rigs = [];
    expect(get("GET", list).body).toContain("<ul>\n\n</ul>");
  });

  test("has no body for HEAD, but its length", () => {
    const { body, headers } = get("HEAD");
    expect(body).toBeUndefined();
    expect(headers!["Content-Length"]).toBe(get("GET").headers!["Content-Length"]);
  });
});
