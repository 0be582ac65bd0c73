// SPDX-License-Identifier: Apache-2.0
// The output "foxglove" of a real program, read in Chromium by the protocol's own client: every channel that is offered arrives.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
// vite comes with vitest.
import { build } from "vite";
import { afterEach, expect, test } from "vitest";
import { packageRoot } from "../../core/index.js";
import { openBrowser } from "../doubles/browser.js";
import { until } from "../doubles/frames.js";
import { needs } from "../doubles/needs.js";
import { startProgram } from "../doubles/program.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const PAGE = `<!doctype html><link rel="icon" href="data:,"><script type="module">
  import { FoxgloveClient } from "/protocol.js";
  const counts = (globalThis.counts = {});
  const topics = new Map();
  const url = new URLSearchParams(location.search).get("server");
  const client = new FoxgloveClient({ ws: new WebSocket(url, [FoxgloveClient.SUPPORTED_SUBPROTOCOL]) });
  client.on("advertise", (channels) => {
    for (const { id, topic } of channels) {
      counts[topic] = 0;
      topics.set(client.subscribe(id), topic);
    }
  });
  client.on("message", ({ subscriptionId }) => counts[topics.get(subscriptionId)]++);
</script>`;

/** The library as one file for browsers. */
async function bundleProtocol(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-foxglove-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  await build({
    root: packageRoot(),
    configFile: false,
    logLevel: "error",
    build: {
      lib: {
        entry: join(packageRoot(), "node_modules/@foxglove/ws-protocol/dist/esm/src/index.js"),
        formats: ["es"],
        fileName: () => "protocol.js",
      },
      outDir: folder,
    },
  });
  return readFileSync(join(folder, "protocol.js"), "utf8");
}

/** Serves the page. @returns its origin */
async function serveClient(): Promise<string> {
  const script = await bundleProtocol();
  const server = createServer((request, response) => {
    if (request.url === "/protocol.js") response.setHeader("content-type", "text/javascript").end(script);
    else response.setHeader("content-type", "text/html").end(PAGE);
  }).listen(0, "127.0.0.1");
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await until("the page is served", () => server.listening);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

needs("chromium").suite("Foxglove's client in Chromium", () => {
  test("reads every channel of the built-in scene", async () => {
    const origin = await serveClient();
    const settings = ["enabled=true", "points=true", "leftColours=true", `origins=${origin}`];
    const running = startProgram([
      "run",
      ...settings.flatMap((setting) => ["--set", `outputs.foxglove.${setting}`]),
    ]);
    cleanups.push(async () => {
      running.child.kill("SIGTERM");
      await running.ended;
    });
    const server = () => /^foxglove +(\S+)$/m.exec(running.stdout())?.[1];
    await until("the program names its address", () => server() !== undefined, 30_000);
    const browser = await openBrowser(`${origin}/?server=${encodeURIComponent(server()!)}`);
    cleanups.push(() => browser.close());
    const counts = () =>
      browser.page.evaluate(() => (globalThis as never as { counts: Record<string, number> }).counts);
    // Notices are rare.
    const missing = async () =>
      Object.entries(await counts())
        .filter(([topic, count]) => count < 3 && !topic.endsWith("/notice"))
        .map(([topic]) => topic);
    let left = ["not asked yet"];
    for (let round = 0; left.length > 0 && round < 100; round++) {
      await browser.page.waitForTimeout(100);
      left = await missing();
    }
    expect(left).toEqual([]);
    const topics = Object.keys(await counts()).map((topic) => topic.replace(/^\/depthwatt\/[^/]+\//, ""));
    expect(topics).toEqual(expect.arrayContaining(["depth/image_rect", "points", "/tf", "metrics"]));
    expect(browser.complaints).toEqual([]);
  });
});
