// SPDX-License-Identifier: Apache-2.0
// How the page's files are served: with a policy that lets nothing in from elsewhere.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPageFeed, type PageFeed } from "../../doubles/page-feed.js";

let feed: PageFeed;
// A connection that is used again may just be closed by the server, where the machine is busy.
const asked = (url: string | URL) => fetch(url, { headers: { connection: "close" } });
beforeAll(async () => {
  feed = await openPageFeed();
});
afterAll(() => feed.close());

test("scripts, styles, workers and connections come from the page's own origin; nothing inline", async () => {
  const answer = await asked(feed.url);
  const { host } = new URL(feed.url);
  const policy = answer.headers.get("content-security-policy") ?? "";
  const rules = new Map(policy.split("; ").map((rule) => [rule.split(" ")[0], rule.split(" ").slice(1)]));
  expect(policy).not.toMatch(/unsafe|\*|data:/);
  expect(rules.get("default-src")).toEqual(["'none'"]);
  for (const what of ["script-src", "style-src", "worker-src"]) expect(rules.get(what)).toEqual(["'self'"]);
  expect(rules.get("connect-src")).toEqual(["'self'", `ws://${host}`]);
  expect(rules.get("frame-ancestors")).toEqual(["'none'"]);
  const html = await answer.text();
  expect(html).not.toMatch(/<style|style=|<script(?![^>]*\bsrc=)|\bon\w+=|https?:/);
});

test("every file that the page names is there, and no other path", async () => {
  const html = await (await asked(feed.url)).text();
  const names = [...html.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, name]) => name as string);
  expect(names.length).toBeGreaterThan(2);
  for (const name of names) {
    const answer = await asked(new URL(name, feed.url));
    expect([answer.status, Buffer.from(await answer.arrayBuffer())], name).toEqual([
      200,
      readFileSync(`dist/page/${name}`),
    ]);
  }
  for (const path of [
    "/assets/",
    "/package.json",
    "/assets/..%2f..%2fpackage.json",
    "/assets/%2e%2e/index.html",
    "//etc/passwd",
  ])
    expect((await asked(`${feed.url.replace(/\/$/, "")}${path}`)).status, path).toBe(404);
});
