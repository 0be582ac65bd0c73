// SPDX-License-Identifier: Apache-2.0
// depthwatt/consumer in a real browser: bundled for the web, loaded by Chromium from a page of this machine, connected to the
// trial broker's WebSocket, decoding frames with no module of Node.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
// vite comes with vitest.
import { build } from "vite";
import { afterEach, expect, test } from "vitest";
import { FRAME_HEADROOM_BYTES } from "../../core/frame/frame-format.js";
import { packageRoot } from "../../core/index.js";
import { startTrialBroker } from "../../edge/broker/trial-broker.js";
import { createPublisher } from "../../edge/outputs/mqtt/publisher.js";
import { makeFrame, sleep, until } from "../doubles/frames.js";
import { needs } from "../doubles/needs.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const PAGE = `<!doctype html><link rel="icon" href="data:,"><script type="module">
  import { connectConsumer } from "/consumer.js";
  const consumer = connectConsumer(new URLSearchParams(location.search).get("broker"));
  const report = (what) => fetch("/report", { method: "POST", body: JSON.stringify(what) });
  addEventListener("error", ({ message }) => report({ error: message }));
  addEventListener("unhandledrejection", ({ reason }) => report({ error: String(reason) }));
  consumer.on("frame", (frame) => {
    const counts = frame.counts();
    const { encoding, width, frameNumber } = frame.header;
    const sum = counts.reduce((total, count) => total + count, 0);
    report({ encoding, width, frameNumber, type: counts.constructor.name, sum, latencyMs: frame.latencyMs });
  });
  consumer.on("invalid", ({ error }) => report({ error: error.message }));
</script>`;

async function bundle(folder: string): Promise<void> {
  await build({
    root: packageRoot(),
    configFile: false,
    logLevel: "error",
    build: {
      lib: {
        entry: join(packageRoot(), "clients/javascript/src/index.ts"),
        formats: ["es"],
        fileName: () => "consumer.js",
      },
      outDir: folder,
      minify: false,
      emptyOutDir: false,
      // Modules that a browser lacks must not be stubbed silently.
      rollupOptions: { external: [/^node:/] },
    },
  });
}

needs("chromium").suite("consumer in Chromium", () => {
  test("decodes rvl and raw frames over a WebSocket", async () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-browser-"));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    await bundle(folder);
    expect(readFileSync(join(folder, "consumer.js"), "utf8")).not.toMatch(/from ?"node:/);

    const reports: Record<string, unknown>[] = [];
    const server = createServer((request, response) => {
      if (request.url === "/consumer.js") {
        response.setHeader("content-type", "text/javascript").end(readFileSync(join(folder, "consumer.js")));
      } else if (request.url === "/report") {
        let text = "";
        request.on("data", (chunk) => {
          text += chunk;
        });
        request.on("end", () => {
          reports.push(JSON.parse(text));
          response.end();
        });
      } else response.setHeader("content-type", "text/html").end(PAGE);
    }).listen(0, "127.0.0.1");
    cleanups.push(() => server.close());
    const broker = await startTrialBroker({ port: 0, webSocketPort: 0 });
    cleanups.push(() => broker.close());
    const publisher = createPublisher({ broker: broker.url, base: "depthwatt", device: "test" });
    cleanups.push(() => publisher.close());
    await publisher.firstAttempt;

    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/?broker=${broker.webSocketUrl}`;
    const flags = [
      "--headless=new",
      "--no-sandbox",
      "--disable-gpu",
      `--user-data-dir=${join(folder, "profile")}`,
    ];
    const chromium = spawn("chromium", [...flags, url], { stdio: "ignore", detached: true });
    cleanups.push(async () => {
      const removed = new Promise((resolve) => chromium.once("exit", resolve));
      process.kill(-(chromium.pid ?? 0), "SIGKILL");
      await removed;
    });
    const frames = [makeFrame(1), makeFrame(2, { encoding: "raw" })];
    for (let round = 0; round < 300 && reports.length < 4; round++) {
      const { buffer, bodyBytes, frame } = frames[round % 2]!;
      publisher.publish(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, () => {});
      await sleep(100);
    }
    await until("frames are reported", () => reports.length >= 4, 1000);
    for (const report of reports) {
      const { pixels } = report.encoding === "rvl" ? frames[0]! : frames[1]!;
      const sum = pixels.reduce((total, count) => total + count, 0);
      expect(report).toMatchObject({ width: 64, type: "Uint16Array", sum });
    }
    expect(new Set(reports.map(({ encoding }) => encoding))).toEqual(new Set(["rvl", "raw"]));
  });
});
