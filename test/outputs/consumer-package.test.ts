// SPDX-License-Identifier: Apache-2.0
// Tests the package depthwatt-consumer as npm would publish it: its content, its types, and the examples of its README,
// run.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { decodeBody, toValues } from "../../clients/javascript/src/decode.js";
import { FRAME_HEADROOM_BYTES } from "../../core/frame/frame-format.js";
import { parseFrame } from "../../core/frame/payload.js";
import { packageRoot } from "../../core/index.js";
import { startTrialBroker } from "../../edge/broker/trial-broker.js";
import { createPublisher } from "../../edge/outputs/mqtt/publisher.js";
import { makeFrame, sleep } from "../doubles/frames.js";
import { needs } from "../doubles/needs.js";
import { goldenMessages } from "../doubles/readers/corpus.js";

const root = packageRoot();
const home = join(root, "clients/javascript");
const readme = readFileSync(join(home, "README.md"), "utf8");
const examples = (language: string) =>
  [...readme.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(([, code]) => code!);

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

let files: string[] = [];
const folder = mkdtempSync(join(tmpdir(), "depthwatt-consumer-"));
const installed = join(folder, "node_modules/depthwatt-consumer");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** As `npm install` of the packed file leaves it, with its two dependencies next to it. */
beforeAll(() => {
  const words = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const [packed] = JSON.parse(
    execFileSync("npm", words, { cwd: home, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
  );
  files = packed.files.map(({ path }: { path: string }) => path);
  execFileSync("tar", ["-xzf", join(folder, packed.filename), "-C", folder]);
  mkdirSync(join(folder, "node_modules"));
  cpSync(join(folder, "package"), installed, { recursive: true });
  for (const name of ["mqtt", "fflate"])
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
});

/** Publishes frames at its own broker until `done` holds. */
async function publishUntil(
  done: () => boolean,
  run: (broker: { url: string; webSocketUrl: string }) => void,
) {
  const broker = await startTrialBroker({ port: 0, webSocketPort: 0 });
  cleanups.push(() => broker.close());
  run(broker as { url: string; webSocketUrl: string });
  const publisher = createPublisher({
    broker: broker.url,
    base: "depthwatt",
    device: "test",
    protocolVersion: 4,
  });
  cleanups.push(() => publisher.close());
  await publisher.firstAttempt;
  const { buffer, bodyBytes, frame, pixels } = makeFrame(5);
  for (let round = 0; round < 800 && !done(); round++) {
    publisher.publish(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, () => {});
    await sleep(50);
  }
  return pixels;
}

describe("depthwatt-consumer", () => {
  test("is JavaScript and types, without native code and without a script", () => {
    expect(
      files.filter((path) => !/^(dist\/.+\.(js|d\.ts)|README\.md|LICENSE|package\.json)$/.test(path)),
    ).toEqual([]);
    expect(files).toContain("dist/browser.js");
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    expect(manifest.scripts).toBeUndefined();
    expect(Object.keys(manifest.dependencies)).toEqual(["fflate", "mqtt"]);
    const main = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    for (const [name, version] of Object.entries(manifest.dependencies))
      expect(main.dependencies[name]).toBe(version);
    expect(manifest.version).toBe(main.version);
  });

  test("its browser module asks for nothing outside itself, its Node module for its dependencies only", () => {
    const listImports = (file: string) =>
      [...readFileSync(join(installed, "dist", file), "utf8").matchAll(/^import .*?from "([^"]+)"/gm)].map(
        ([, name]) => name,
      );
    expect(listImports("browser.js")).toEqual([]);
    expect(new Set(listImports("node.js"))).toEqual(new Set(["mqtt", "fflate"]));
    // Users with their own MQTT client do not need ours.
    expect(new Set(listImports("frames.js"))).toEqual(new Set(["fflate"]));
  });

  test("depthwatt-consumer/frames reads golden frames without a connection", () => {
    writeFileSync(
      join(folder, "frames.mjs"),
      `import { readFileSync } from "node:fs";
       import { decodeBody, decodePoints, parseFrame } from "depthwatt-consumer/frames";
       const frames = JSON.parse(readFileSync(process.argv[2], "utf8"));
       for (const { base64 } of frames) {
         const { header, body } = parseFrame(new Uint8Array(Buffer.from(base64, "base64")));
         const found = header.stream === "points" ? decodePoints(header, body).positions : decodeBody(header, body);
         console.log(header.stream, header.reduction, found.length);
       }\n`,
    );
    const golden = join(root, "test/golden/frames.json");
    const said = execFileSync(process.execPath, ["frames.mjs", golden], { cwd: folder, encoding: "utf8" });
    const lines = said.trim().split("\n");
    expect(lines).toHaveLength(JSON.parse(readFileSync(golden, "utf8")).length);
    expect(lines).toContain("points 2 1224");
    expect(lines).toContain("depth 1 408");
  });

  test("its types are whole, by the strictest check", () => {
    writeFileSync(
      join(folder, "typed.mts"),
      `import { connectConsumer, type ReceivedFrame } from "depthwatt-consumer";
       export const depths = (frame: ReceivedFrame): Float32Array => frame.values();
       connectConsumer("mqtt://127.0.0.1").on("frame", ({ header }) => header.width.toFixed());
       // @ts-expect-error There is no such event.
       connectConsumer("mqtt://127.0.0.1").on("picture", () => {});\n`,
    );
    const words = [
      "--strict",
      "--noEmit",
      "--module",
      "nodenext",
      "--target",
      "es2022",
      "--skipLibCheck",
      "false",
    ];
    const types = [
      "--types",
      "node",
      "--typeRoots",
      join(root, "node_modules/@types"),
      "--lib",
      "es2023,dom",
    ];
    const tsc = join(root, "node_modules/.bin/tsc");
    execFileSync(tsc, [...words, ...types, "typed.mts"], { cwd: folder, encoding: "utf8" });
  });

  test("the example for Node prints what arrives", async () => {
    const [example = ""] = examples("js");
    writeFileSync(join(folder, "example.mjs"), example);
    let output = "";
    const pixels = await publishUntil(
      () => output.includes("in the middle"),
      ({ url }) => {
        const reader = spawn(process.execPath, ["example.mjs", url], { cwd: folder });
        cleanups.push(() => reader.kill());
        for (const stream of [reader.stdout, reader.stderr])
          stream.on("data", (chunk) => {
            output += chunk;
          });
      },
    );
    const centre = (pixels[24 * 64 + 32]! / 1000).toFixed(3);
    expect(output).toContain(`64 x 48, ${centre} m in the middle`);
  });

  test("the example without a connection unpacks golden frames", async () => {
    const [, example = ""] = examples("js");
    writeFileSync(join(folder, "metres.mjs"), example);
    const { parseMetres } = (await import(
      /* @vite-ignore */ pathToFileURL(join(folder, "metres.mjs")).href
    )) as {
      parseMetres(message: Uint8Array): Float32Array;
    };
    for (const message of goldenMessages()) {
      const { header, body } = parseFrame(message);
      if (header.stream === "points") continue;
      expect(parseMetres(message)).toEqual(toValues(header, decodeBody(header, body)));
      const damaged = message.slice();
      damaged[damaged.length - 1]! ^= 1;
      expect(() => parseMetres(damaged)).toThrow("crc32");
    }
  });

  needs("chromium").suite("in Chromium", () => {
    test("the example for browsers shows what arrives, from one file", async () => {
      const [page = ""] = examples("html");
      const server = createServer((request, response) => {
        const isModule = request.url === "/browser.js";
        response.writeHead(200, { "Content-Type": isModule ? "text/javascript" : "text/html" });
        response.end(isModule ? readFileSync(join(installed, "dist/browser.js")) : page);
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      cleanups.push(() => server.close());
      const { port } = server.address() as AddressInfo;
      const { chromium } = await import("playwright-core");
      const browser = await chromium.launch({
        executablePath: "/usr/bin/chromium",
        args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
      });
      cleanups.push(() => browser.close());
      const tab = await browser.newPage();
      const errors: string[] = [];
      tab.on("pageerror", (error) => errors.push(error.message));
      let title = "";
      const watching = setInterval(() => void tab.title().then((text) => (title = text)), 100);
      cleanups.push(() => clearInterval(watching));
      await publishUntil(
        () => title.startsWith("test "),
        ({ webSocketUrl }) =>
          void tab.goto(`http://127.0.0.1:${port}/?broker=${encodeURIComponent(webSocketUrl)}`),
      );
      expect(title).toMatch(/^test \d+$/);
      expect(errors).toEqual([]);
      const middle = await tab.evaluate<number[]>(`(() => {
        const canvas = document.querySelector("canvas");
        return [canvas.width, canvas.height, canvas.getContext("2d").getImageData(32, 24, 1, 1).data[0]];
      })()`);
      expect(middle.slice(0, 2)).toEqual([64, 48]);
      expect(middle[2]).toBeGreaterThan(50);
    });
  });
});
