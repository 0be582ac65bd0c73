// SPDX-License-Identifier: Apache-2.0
// Which requests the HTTP server refuses: foreign names, foreign origins, requests that another site's page caused.
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { checkRequest, isFromThisMachine, isLoopback } from "../../../edge/http/guard.js";
import { brokenHttp, type HttpSettings } from "../../../edge/http/settings.js";

const plain = { tls: false, names: ["depth.example.org"], socket: false };

test.each([
  "127.0.0.1:8990",
  "localhost:8990",
  "LOCALHOST",
  "localhost.",
  "localhost:12345",
  "[::1]:8990",
  "192.168.1.20:80",
  hostname(),
  `${hostname()}.local:8990`,
  "depth.example.org:8990",
])("Host %s is this machine", (host) => {
  expect(checkRequest({ host }, plain)).toBeUndefined();
});

test.each([
  ["a foreign name that resolves to this machine", "rebind.attacker.example:8990", 421],
  ["a name that only begins like ours", "localhost.attacker.example", 421],
  ["an address with a name behind it", "127.0.0.1.attacker.example", 421],
  ["blanks", "local host", 400],
  ["a path", "localhost/x", 400],
  ["user info", "user@localhost", 400],
  ["a port of six digits", "localhost:123456", 400],
  ["nothing", "", 400],
])("Host that is %s is refused", (_what, host, status) => {
  expect(checkRequest({ host }, plain)?.status).toBe(status);
});

test("no Host at all is refused", () => {
  expect(checkRequest({}, plain)?.status).toBe(400);
});

test.each([
  ["http://127.0.0.1:8990", undefined],
  ["http://127.0.0.1:8991", 403],
  ["https://127.0.0.1:8990", 403],
  ["http://localhost:8990", 403],
  ["http://attacker.example", 403],
  ["null", 403],
])("Origin %s for Host 127.0.0.1:8990", (origin, status) => {
  for (const socket of [false, true])
    expect(checkRequest({ host: "127.0.0.1:8990", origin }, { ...plain, socket })?.status).toBe(status);
});

test("another site may link to the page, and its scripts and images get nothing", () => {
  const asked = (site: string, mode: string, socket = false) =>
    checkRequest({ host: "localhost", "sec-fetch-site": site, "sec-fetch-mode": mode }, { ...plain, socket })
      ?.status;
  expect(asked("cross-site", "navigate")).toBeUndefined();
  expect(asked("same-origin", "cors")).toBeUndefined();
  expect(asked("none", "navigate")).toBeUndefined();
  expect(asked("cross-site", "no-cors")).toBe(403);
  expect(asked("same-site", "cors")).toBe(403);
  expect(asked("cross-site", "navigate", true)).toBe(403);
});

test("over TLS the origin is https", () => {
  const headers = { host: "localhost:8990", origin: "https://localhost:8990" };
  expect(checkRequest(headers, { ...plain, tls: true })).toBeUndefined();
  expect(checkRequest(headers, plain)?.status).toBe(403);
});

test.each([
  ["127.0.0.1", true],
  ["127.1.2.3", true],
  ["::1", true],
  ["localhost", true],
  ["0.0.0.0", false],
  ["::", false],
  ["192.168.1.2", false],
  ["127.attacker.example", false],
])("%s is loopback: %s", (address, expected) => {
  expect(isLoopback(address)).toBe(expected);
});

test("a page of this machine names a loopback address twice, and no proxy is in between", () => {
  const asks = (headers: Record<string, string>, from = "127.0.0.1") =>
    isFromThisMachine({ host: "127.0.0.1:8990", origin: "http://127.0.0.1:8990", ...headers }, from);
  expect(asks({})).toBe(true);
  expect(asks({}, "::ffff:127.0.0.1")).toBe(true);
  expect(asks({ host: "localhost:8990", origin: "http://localhost:8990" }, "::1")).toBe(true);
  expect(asks({}, "192.168.1.20")).toBe(false);
  // A name server of another machine may answer for this host name.
  const named = `${hostname()}.local:8990`;
  expect(asks({ host: named, origin: `http://${named}` })).toBe(false);
  expect(asks({ host: "192.168.1.20:8990", origin: "http://192.168.1.20:8990" })).toBe(false);
  expect(asks({ origin: "http://127.0.0.1:3000" })).toBe(false);
  expect(asks({ origin: "null" })).toBe(false);
  expect(isFromThisMachine({ host: "127.0.0.1:8990" }, "127.0.0.1")).toBe(false);
  for (const header of ["x-forwarded-for", "x-forwarded-host", "x-real-ip", "forwarded", "via"])
    expect(asks({ [header]: "10.0.0.9" })).toBe(false);
});

test.each<[Partial<HttpSettings>, string[][]]>([
  [{ address: "127.0.0.1" }, []],
  [{ address: "0.0.0.0" }, [["http.address", "http.passwordFile"]]],
  [{ address: "0.0.0.0", passwordFile: "p" }, []],
  [{ address: "0.0.0.0", clientCaFile: "a", certFile: "c", keyFile: "k" }, []],
  [{ address: "::1", certFile: "c" }, [["http.certFile", "http.keyFile"]]],
  [{ address: "::1", keyFile: "k" }, [["http.certFile", "http.keyFile"]]],
  [{ address: "::1", certFile: "c", keyFile: "k" }, []],
  [{ address: "::1", clientCaFile: "a" }, [["http.clientCaFile", "http.certFile"]]],
])("the settings %o: broken are %j", (http, keys) => {
  expect(brokenHttp(http as HttpSettings).map((broken) => broken.keys)).toEqual(keys);
});
