// SPDX-License-Identifier: Apache-2.0
// The process's server from its settings: loopback is open, a network needs a password or client certificates, over TLS too.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get, type RequestOptions } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { loadConfig } from "../../../edge/config/index.js";
import type { HttpAccess } from "../../../edge/contracts/http.js";
import { SharedHttp, sendText } from "../../../edge/http/index.js";
import { makeCertificates } from "../../doubles/certificates.js";
import { freePort } from "../../doubles/mosquitto.js";
import { needs } from "../../doubles/needs.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const httpConfig = (...set: string[]) => loadConfig({ set, environment: {} }).config.http;

function passwordFile(text: string, mode = 0o600): string {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-http-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "password");
  writeFileSync(file, `${text}\n`);
  chmodSync(file, mode);
  return file;
}

async function access(...set: string[]): Promise<HttpAccess> {
  // A port for each server: fetch keeps connections to the address of a server that has been closed.
  const shared = new SharedHttp(httpConfig(`http.port=${await freePort()}`, ...set), () => {});
  cleanups.push(() => shared.close());
  const opened = await shared.access();
  expect(await shared.access()).toBe(opened);
  opened.server.get("/", (_request, response) => sendText(response, 200, "home"));
  return opened;
}

test("on loopback everybody may look, unless there is a password", async () => {
  const open = await access();
  expect(open.gate).toBeUndefined();
  expect(await (await fetch(open.server.url as string)).text()).toBe("home\n");
  const guarded = await access(`http.passwordFile=${passwordFile("correct horse")}`);
  expect(guarded.gate?.check("correct horse", "127.0.0.1")).toBe("right");
});

test("with a password every path of every output asks for it automatically; the page's files, which contain nothing secret, do not", async () => {
  const { server } = await access(`http.passwordFile=${passwordFile("correct horse")}`);
  server.get("/metrics", (_request, response) => sendText(response, 200, "watts 7"));
  server.get("/page.js", (_request, response) => sendText(response, 200, "code"), { open: true });
  const ask = (path: string, password?: string) => {
    const authorization = `Basic ${Buffer.from(`anybody:${password}`).toString("base64")}`;
    return fetch(`${server.url}${path}`, { headers: password === undefined ? {} : { authorization } });
  };
  for (const refused of [ask("/metrics"), ask("/metrics", "battery staple"), ask("/metrics", "")]) {
    const { status, headers } = await refused;
    expect([status, headers.get("www-authenticate")]).toEqual([
      401,
      'Basic realm="depthwatt", charset="UTF-8"',
    ]);
  }
  expect(await (await ask("/metrics", "correct horse")).text()).toBe("watts 7\n");
  expect(await (await ask("/page.js")).text()).toBe("code\n");
  const nonsense = await fetch(`${server.url}/metrics`, { headers: { authorization: "Basic ???" } });
  expect(nonsense.status).toBe(401);
  for (let i = 0; i < 12; i++) await ask("/metrics", "guess");
  expect((await ask("/metrics", "correct horse")).status).toBe(429);
});

test("an address that others reach needs a password, or the configuration is refused", () => {
  expect(() => httpConfig("http.address=0.0.0.0")).toThrow(/http.passwordFile or http.clientCaFile/);
  expect(httpConfig("http.address=0.0.0.0", "http.passwordFile=/x").address).toBe("0.0.0.0");
  expect(() => httpConfig("http.certFile=/x")).toThrow(/expected both or none/);
  expect(() => httpConfig("http.clientCaFile=/x")).toThrow(/server certificate/);
});

test("a password that is short, or that others may read, is refused", async () => {
  await expect(access(`http.passwordFile=${passwordFile("short")}`)).rejects.toMatchObject({
    code: "CONFIG_INVALID",
  });
  await expect(access(`http.passwordFile=${passwordFile("correct horse", 0o644)}`)).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: /mode 644/,
  });
});

needs("mosquitto").suite("over TLS", () => {
  const answer = (url: string, options: RequestOptions) =>
    new Promise<number | undefined>((resolve, reject) => {
      get(url, options, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on("error", reject);
    });

  test("only clients with a certificate of the authority are let in, and then no password is asked for", async () => {
    const certificates = makeCertificates();
    cleanups.push(() => certificates.remove());
    const { server: pair, client, caFile } = certificates;
    const files = [`http.certFile=${pair.certFile}`, `http.keyFile=${pair.keyFile}`];
    const { server, gate } = await access(...files, `http.clientCaFile=${caFile}`);
    expect(gate).toBeUndefined();
    expect(server.url).toMatch(/^https:/);
    const url = (server.url as string).replace("127.0.0.1", "localhost");
    const ca = readFileSync(caFile);
    await expect(answer(url, { ca })).rejects.toThrow();
    const own = { cert: readFileSync(client.certFile), key: readFileSync(client.keyFile) };
    expect(await answer(url, { ca, ...own })).toBe(200);
  });
});
