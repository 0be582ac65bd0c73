// SPDX-License-Identifier: Apache-2.0
// The HTTP server over real sockets: exact paths, methods, no way into the file system, ports that are taken.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { get } from "node:https";
import { connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { HttpServer, PasswordGate, RoutesBelow, sendText } from "../../../edge/http/index.js";
import { type Certificates, makeCertificates, type Pair } from "../../doubles/certificates.js";

const servers: HttpServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function listening(options: Partial<ConstructorParameters<typeof HttpServer>[0]> = {}) {
  const server = new HttpServer({ address: "127.0.0.1", port: 0, ...options });
  servers.push(server);
  server.get("/", (_request, response) => sendText(response, 200, "home"));
  server.get("/fails", () => {
    throw new Error("seeded");
  });
  server.socket("/live", (socket) => socket.send("welcome"), { password: "handler" });
  await server.listen();
  return { server, url: server.url as string, port: Number(new URL(server.url as string).port) };
}

/** A request as it is written here: fetch() would tidy the path. */
async function raw(port: number, path: string, lines: string[] = []): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  socket.write(
    [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, "Connection: close", ...lines, "", ""].join("\r\n"),
  );
  await once(socket, "close");
  return answer;
}

test("answers its paths and nothing else", async () => {
  const { url } = await listening();
  const home = await fetch(`${url}/?query=1`);
  expect([home.status, await home.text()]).toEqual([200, "home\n"]);
  expect(home.headers.get("x-content-type-options")).toBe("nosniff");
  expect((await fetch(`${url}/other`)).status).toBe(404);
  expect((await fetch(url, { method: "POST", body: "x" })).status).toBe(405);
});

test("each answer has its headers; only GET and HEAD are answered, and a handler that fails midway is cut off", async () => {
  const { server, url, port } = await listening();
  server.get("/half", (_request, response) => {
    response.write("begun");
    throw new Error("seeded");
  });
  const home = await fetch(url);
  await home.text();
  expect(Object.fromEntries(home.headers)).toMatchObject({
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
  });
  const post = await fetch(url, { method: "POST", body: "x" });
  expect([post.headers.get("allow"), await post.text()]).toEqual(["GET, HEAD", "Expected GET or HEAD.\n"]);
  expect((await fetch(url, { method: "HEAD" })).status).toBe(200);
  expect(await (await fetch(`${url}/other`)).text()).toBe("There is nothing at this address.\n");
  // Chunked, and without its end.
  expect(await raw(port, "/half")).not.toContain("\r\n0\r\n");
});

test("a password is asked for except at open paths, and guesses have a limit", async () => {
  const gate = new PasswordGate("correct horse");
  const { server, url, port } = await listening({ gate });
  server.get("/open", (_request, response) => sendText(response, 200, "open"), { open: true });
  server.socket("/asks", (socket) => socket.send("in"), { password: "basic" });
  const ask = async (path: string, authorization?: string) => {
    const answer = await fetch(`${url}${path}`, { headers: authorization ? { authorization } : {} });
    return [answer.status, answer.headers.get("www-authenticate"), await answer.text()];
  };
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
  const asks = 'Basic realm="depthwatt", charset="UTF-8"';
  const refused = [401, asks, "Expected the password of http.passwordFile.\n"];
  expect(await ask("/open")).toEqual([200, null, "open\n"]);
  expect((await ask("/nowhere"))[0]).toBe(404);
  const right = "anybody:correct horse";
  for (const none of [undefined, "Bearer x", basic("correct horse"), `Basic  !${btoa(right)}`])
    expect(await ask("/", none), none).toEqual(refused);
  for (const good of [basic(right), `basic  ${btoa(right)}`, basic(":correct horse")])
    expect(await ask("/", good), good).toEqual([200, null, "home\n"]);
  // A link of another site leads to a page, and never to a socket.
  const link = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"];
  expect(await raw(port, "/open", link)).toMatch(/^HTTP\/1\.1 200 /);
  expect(await raw(port, "/live", ["Connection: Upgrade", "Upgrade: websocket", ...link])).toMatch(
    /^HTTP\/1\.1 403 /,
  );
  const upgrade = (...lines: string[]) =>
    raw(port, "/asks", [
      ...["Connection: Upgrade", "Upgrade: WebSocket", "Sec-WebSocket-Version: 13"],
      ...["Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", ...lines],
    ]);
  expect(await upgrade()).toBe(
    `HTTP/1.1 401 Refused\r\nWWW-Authenticate: ${asks}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
  );
  for (let guess = 0; guess < 10; guess++) expect(await ask("/", basic("a:wrong"))).toEqual(refused);
  expect(await ask("/", basic(right))).toEqual([
    429,
    null,
    "Too many wrong passwords. Wait a few seconds.\n",
  ]);
  expect(await upgrade(`Authorization: ${basic(right)}`)).toBe(
    "HTTP/1.1 429 Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
  );
});

test("80 sockets are open at a time, and messages have 64 KiB", async () => {
  const { server, port } = await listening();
  const received: number[] = [];
  server.socket("/echo", (socket) => socket.on("message", (data: Buffer) => received.push(data.length)), {
    password: "handler",
  });
  const join = (path = "/live") => new WebSocket(`ws://127.0.0.1:${port}${path}`);
  const first = join("/echo");
  await once(first, "open");
  const all = [first, ...Array.from({ length: 79 }, () => join())];
  await Promise.all(all.slice(1).map((socket) => once(socket, "open")));
  const [error] = await once(join(), "error");
  expect((error as Error).message).toMatch(/503/);
  first.send(new Uint8Array(64 << 10));
  first.send(new Uint8Array((64 << 10) + 1));
  expect((await once(first, "close"))[0]).toBe(1009);
  expect(received).toEqual([64 << 10]);
  for (const socket of all) socket.terminate();
});

test.each([
  ["127.0.0.1", "http://127.0.0.1:", true],
  ["::1", "http://[::1]:", true],
  ["0.0.0.0", "http://localhost:", false],
])("the address %s has the URL %s", async (address, start, loopback) => {
  const { server, url } = await listening({ address });
  expect([url.startsWith(start), server.loopback]).toEqual([true, loopback]);
});

test("paths below a prefix are a part of the server, until it is closed", async () => {
  const { server, url } = await listening();
  const below = new RoutesBelow(server, "/rigs/front");
  server.get("/rigs/front2", (_request, response) => sendText(response, 200, "two"));
  below.get("/", (_request, response) => sendText(response, 200, "front"));
  below.socket("/live", (socket) => socket.send("front"), { password: "handler" });
  expect(below.url).toBe(`${url}/rigs/front`);
  const ask = async (path: string) => {
    const answer = await fetch(url + path, { redirect: "manual" });
    return [answer.status, answer.headers.get("location"), await answer.text()];
  };
  expect(await ask("/rigs/front")).toEqual([308, "/rigs/front/", ""]);
  expect(await ask("/rigs/front/")).toEqual([200, null, "front\n"]);
  const socket = new WebSocket(`${url.replace("http", "ws")}/rigs/front/live`);
  expect(String((await once(socket, "message"))[0])).toBe("front");
  socket.terminate();
  below.close();
  for (const path of ["/rigs/front", "/rigs/front/"]) expect((await ask(path))[0]).toBe(404);
  const [error] = await once(new WebSocket(`${url.replace("http", "ws")}/rigs/front/live`), "error");
  expect((error as Error).message).toMatch(/404/);
  expect(await ask("/rigs/front2")).toEqual([200, null, "two\n"]);
  expect(await ask("/")).toEqual([200, null, "home\n"]);
});

test.each([
  "/../package.json",
  "/..%2fpackage.json",
  "/%2e%2e/etc/passwd",
  "//etc/passwd",
  "/./",
  "/\\..\\x",
  "/live",
])("%s leads nowhere", async (path) => {
  const { port } = await listening();
  expect(await raw(port, path)).toMatch(/^HTTP\/1\.1 40[04] /);
});

test("a handler that fails is reported, and the server continues", async () => {
  const problems: string[] = [];
  const { url } = await listening({ onProblem: (problem) => problems.push(problem.message) });
  const failed = await fetch(`${url}/fails`);
  expect([failed.status, problems]).toEqual([500, ["seeded"]]);
  expect(await failed.text()).not.toContain("seeded");
  expect((await fetch(url)).status).toBe(200);
});

test("a foreign Host or Origin is refused for pages and sockets", async () => {
  const { port } = await listening();
  expect(await raw(port, "/", ["Origin: http://attacker.example"])).toMatch(/^HTTP\/1\.1 403 /);
  const socket = (origin: string, path = "/live") =>
    new WebSocket(`ws://127.0.0.1:${port}${path}`, { origin });
  const own = socket(`http://127.0.0.1:${port}`);
  const [welcome] = await once(own, "message");
  expect(String(welcome)).toBe("welcome");
  own.terminate();
  for (const refused of [
    socket("http://attacker.example"),
    socket("null"),
    socket(`http://127.0.0.1:${port}`, "/x"),
  ]) {
    const [error] = await once(refused, "error");
    expect((error as Error).message).toMatch(/40[34]/);
  }
});

test("bytes that are no HTTP end their own connection only", async () => {
  const { url, port } = await listening();
  const socket = connect(port, "127.0.0.1");
  socket.write(Buffer.from([0x16, 0x03, 0x01, 0xff, 0xff, 0x00, 0x0d, 0x0a, 0x0d, 0x0a]));
  socket.resume();
  await once(socket, "close");
  expect((await fetch(url)).status).toBe(200);
});

test("an upgrade that the server does not know is ignored and the page is answered", async () => {
  const { port } = await listening();
  const lines = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"];
  const home = await raw(port, "/", lines);
  expect(home).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(home).toMatch(/\r\nConnection: close\r\n[\s\S]*home\n/);
  expect(await raw(port, "/x", lines)).toMatch(/^HTTP\/1\.1 404 /);
  expect(await raw(port, "/", [...lines, "Origin: http://attacker.example"])).toMatch(/^HTTP\/1\.1 403 /);
});

/** A client that sends this and never closes its own end. */
async function heldConnection(port: number, sent: string | Buffer): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  // The server may reset the connection.
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(sent);
  return socket.resume();
}

test.each([
  ["/nowhere", "websocket"],
  ["/live", "websocket"],
  ["/", "h2c"],
])(
  "close() does not wait for the client of %s that keeps a refused upgrade to %s open",
  async (path, kind) => {
    const { server, port } = await listening();
    const lines = [`GET ${path} HTTP/1.1`, "Host: 127.0.0.1", "Connection: Upgrade", `Upgrade: ${kind}`];
    const socket = await heldConnection(port, `${lines.join("\r\n")}\r\n\r\n`);
    await once(socket, "end");
    await server.close();
    socket.destroy();
  },
);

test("close() does not wait for a TLS handshake", async () => {
  const { server: pair, remove } = makeCertificates();
  onTestFinished(remove);
  const tls = { cert: readFileSync(pair.certFile), key: readFileSync(pair.keyFile) };
  const { server, port } = await listening({ tls });
  // The first byte of a TLS record: the server waits for the rest of it.
  const socket = await heldConnection(port, Buffer.of(0x16));
  await server.close();
  socket.destroy();
});

test("a port that is taken: auto takes another, a number is an error that reports it", async () => {
  const { port } = await listening();
  await expect(listening({ port })).rejects.toMatchObject({
    code: "HTTP_UNAVAILABLE",
    message: `expected to listen on 127.0.0.1 port ${port}: another process has that port`,
  });
  const [one, other] = [await listening({ port: "auto" }), await listening({ port: "auto" })];
  expect(one.url).not.toBe(other.url);
  // A run that is restarted keeps the address that it was given.
  await other.server.close();
  expect((await listening({ port: "auto" })).url).toBe(other.url);
  await expect(listening({ address: "192.0.2.1" })).rejects.toMatchObject({ code: "HTTP_UNAVAILABLE" });
  // Without a name server the look-up is to be repeated.
  await expect(listening({ address: "no-such-host.invalid" })).rejects.toMatchObject({
    message: expect.stringMatching(/no-such-host\.invalid port .+: (ENOTFOUND|EAI_AGAIN)$/),
  });
});

test("wrong passwords run into a limit that time lifts, and the right one goes through", () => {
  let now = 0;
  const gate = new PasswordGate("correct horse", () => now);
  const check = (given: string) => gate.check(given, "192.0.2.1");
  expect(check("correct horse")).toBe("right");
  for (let i = 0; i < 10; i++) expect(check(`wrong ${i}`)).toBe("wrong");
  expect(check("correct horse")).toBe("wait");
  now += 1000;
  expect(check("correct horse")).toBe("right");
  expect(check("wrong")).toBe("wrong");
  expect(check("wrong")).toBe("wait");
});

test("wrong passwords lock out their own address, however long they continue", () => {
  let now = 0;
  const gate = new PasswordGate("correct horse", () => now);
  for (let second = 0; second < 3600; second++, now += 1000) {
    while (gate.check("wrong", "192.0.2.1") !== "wait");
    expect(gate.check("correct horse", "192.0.2.2")).toBe("right");
  }
  // One machine of IPv6 has 2^64 addresses, and one of IPv4 may be written in two ways.
  for (const address of ["192.0.2.1", "2001:db8:0:7::1"]) while (gate.check("wrong", address) !== "wait");
  for (const address of ["2001:db8:0:7:ffff::2", "2001:db8:0:7:1:2:3:4", "::ffff:192.0.2.1"])
    expect(gate.check("correct horse", address)).toBe("wait");
  for (const address of ["2001:db8:0:8::1", "2001:db8::7:0:0:1", "::1"])
    expect(gate.check("correct horse", address)).toBe("right");
});

test("guesses slower than one a second run into no limit, however long they continue", () => {
  let now = 0;
  const gate = new PasswordGate("correct horse", () => now);
  for (let guess = 0; guess < 500; guess++, now += 1001) {
    expect(gate.check("wrong", "192.0.2.1"), `guess ${guess}`).toBe("wrong");
  }
  // Faster ones do, and what remains of a second counts.
  const compared = Array.from({ length: 400 }, () => {
    now += 900;
    return gate.check("wrong", "192.0.2.1");
  }).filter((answer) => answer === "wrong").length;
  expect(compared).toBeGreaterThanOrEqual(360);
  expect(compared).toBeLessThanOrEqual(370);
});

test("many addresses have a bounded number of guesses together", () => {
  let now = 0;
  const gate = new PasswordGate("correct horse", () => now);
  const guesses = () => {
    let compared = 0;
    for (let n = 0; n < 20_000; n++)
      if (gate.check("wrong", `10.0.${n >> 8}.${n & 255}`) !== "wait") compared++;
    return compared;
  };
  // 64 addresses once, and ten of all others together.
  expect(guesses()).toBe(64 + 10);
  now += 1000;
  expect(guesses()).toBeLessThanOrEqual(64 + 10);
  now += 20_000;
  expect(gate.check("correct horse", "10.0.77.7")).toBe("right");
});

test("a socket speaks the protocol of its path, or the first one that is offered", async () => {
  const { server, port } = await listening();
  server.socket("/spoken", (socket) => socket.send("welcome"), { protocol: "b.v1", password: "handler" });
  const speak = async (path: string, offered: string[]) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, offered);
    const [word] = await once(socket, "message").catch((error: Error) => error.message.match(/\d{3}/)!);
    socket.terminate();
    return [String(word), socket.protocol];
  };
  expect(await speak("/spoken", ["a.v1", "b.v1", "c.v1"])).toEqual(["welcome", "b.v1"]);
  for (const offered of [[], ["a.v1"], ["b.v2", "b.v"]])
    expect(await speak("/spoken", offered)).toEqual(["400", ""]);
  expect(await speak("/live", ["x", "y"])).toEqual(["welcome", "x"]);
  expect(await speak("/live", [])).toEqual(["welcome", ""]);
});

describe("over TLS", () => {
  let certificates: Certificates;
  beforeAll(() => {
    certificates = makeCertificates();
  });
  afterAll(() => certificates.remove());

  const read = ({ certFile, keyFile }: Pair) => ({
    cert: readFileSync(certFile),
    key: readFileSync(keyFile),
  });

  test.each<[boolean, "client" | "strangerClient" | undefined, boolean]>([
    [false, undefined, true],
    [false, "strangerClient", true],
    [true, undefined, false],
    [true, "strangerClient", false],
    [true, "client", true],
  ])("with an authority of clients (%s) the client %s is let in: %s", async (named, client, letIn) => {
    const ca = readFileSync(certificates.caFile);
    const tls = { ...read(certificates.server), ...(named && { clientCa: ca }) };
    const { url, port } = await listening({ tls });
    expect(url).toBe(`https://127.0.0.1:${port}`);
    const own = client === undefined ? {} : read(certificates[client]);
    const status = await new Promise((resolve) => {
      get(`https://localhost:${port}/`, { ca, agent: false, family: 4, ...own }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on("error", () => resolve("refused"));
    });
    expect(status).toBe(letIn ? 200 : "refused");
  });
});
