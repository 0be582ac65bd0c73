// SPDX-License-Identifier: Apache-2.0
// TLS, passwords and refusals against Mosquitto: what works, and the sentence and hint for what does not.
import { execFileSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createPublisher } from "../../edge/outputs/mqtt/publisher.js";
import type { PublisherOptions } from "../../edge/outputs/mqtt/publisher-types.js";
import { type Certificates, makeCertificates } from "../doubles/certificates.js";
import { freePort, type MosquittoOptions, startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function broker(options: MosquittoOptions) {
  const mosquitto = await startMosquitto(options);
  cleanups.push(() => mosquitto.stop());
  return mosquitto;
}

async function attempt(url: string, options: Partial<PublisherOptions> = {}) {
  const publisher = createPublisher({ broker: url, base: "depthwatt", device: "test", ...options });
  cleanups.push(() => publisher.close());
  return await publisher.firstAttempt;
}

needs("mosquitto").suite("access to a broker", () => {
  let made: Certificates;
  beforeAll(() => {
    made = makeCertificates();
  });
  afterAll(() => made.remove());

  test("TLS with the right authority; the wrong one or none is named with its hint", async () => {
    const { caFile, broker: pair } = made;
    const { url } = await broker({ tls: { caFile, ...pair } });
    expect(await attempt(url, { caFile })).toMatchObject({ connected: true });
    for (const options of [{}, { caFile: made.otherCaFile }]) {
      const { connected, error } = await attempt(url, options);
      expect(connected).toBe(false);
      expect(error).toMatchObject({ code: "BROKER_REFUSED", retryable: false });
      expect(error?.message).toMatch(
        /^the broker mqtts:\/\/localhost:\d+ has a certificate that no authority known/,
      );
      expect(error?.hint).toContain("outputs.mqtt.caFile");
    }
  });

  test("WebSockets over TLS: with the right authority, and without it", async () => {
    const { caFile, broker: pair } = made;
    const { webSocketUrl = "" } = await broker({ websockets: true, tls: { caFile, ...pair } });
    expect(webSocketUrl).toMatch(/^wss:/);
    expect(await attempt(webSocketUrl, { caFile })).toMatchObject({ connected: true });
    const { error } = await attempt(webSocketUrl);
    expect(error).toMatchObject({ code: "BROKER_REFUSED", retryable: false });
    expect(error?.hint).toContain("outputs.mqtt.caFile");
  });

  test.each([
    ["for another host", "brokerElsewhere", /has a certificate for another host name/],
    ["that has expired", "brokerExpired", /has a certificate that has expired/],
    ["of the future", "brokerTooEarly", /has a certificate that is not valid yet/],
  ] as const)("a certificate %s is refused", async (_, pair, message) => {
    const { caFile } = made;
    const { url } = await broker({ tls: { caFile, ...made[pair] } });
    const { error } = await attempt(url, { caFile });
    expect(error).toMatchObject({ code: "BROKER_REFUSED", retryable: false });
    expect(error?.message).toMatch(message);
  });

  test("client certificates: given, missing, signed by a stranger", async () => {
    const { caFile, broker: pair, client } = made;
    const { url } = await broker({ tls: { caFile, ...pair, requireCertificate: true } });
    expect(await attempt(url, { caFile, ...client })).toMatchObject({ connected: true });
    const { error } = await attempt(url, { caFile });
    expect(error?.message).toMatch(/wants a certificate from this client/);
    expect(error?.hint).toContain("outputs.mqtt.certFile");
    const stranger = await attempt(url, { caFile, ...made.strangerClient });
    expect(stranger.error?.message).toMatch(/does not accept this client's certificate/);
  });

  test("TLS spoken to a plain port, and plain to a TLS port, end in a sentence", async () => {
    const plain = await broker({});
    const { caFile, broker: pair } = made;
    const secret = await broker({ tls: { caFile, ...pair } });
    const spoken = await attempt(`mqtts://127.0.0.1:${plain.port}`, { caFile });
    expect(spoken.error?.message).toMatch(
      /does not speak TLS|closed the connection during the TLS handshake/,
    );
    expect(spoken.error?.hint).toMatch(/mqtt:\/\//);
    const unspoken = await attempt(`mqtt://127.0.0.1:${secret.port}`);
    expect(unspoken.error).toMatchObject({ code: "BROKER_UNREACHABLE" });
    expect(unspoken.error?.message).toMatch(/closed the connection before it answered/);
    expect(unspoken.error?.hint).toMatch(/mqtts:\/\//);
  });

  test("user and password: right, wrong, none, in MQTT 5 and 3.1.1", async () => {
    const users = join(made.folder, "users");
    const password = join(made.folder, "password");
    execFileSync("mosquitto_passwd", ["-b", "-c", users, "anna", "secret"], { stdio: "pipe" });
    chmodSync(users, 0o644);
    const { url } = await broker({ settings: ["allow_anonymous false", `password_file ${users}`] });
    const write = (text: string) => writeFileSync(password, text, { mode: 0o600 });
    for (const protocolVersion of ["auto", 4] as const) {
      write("secret\nand a second line\n");
      const right = await attempt(url, { username: "anna", passwordFile: password, protocolVersion });
      expect(right).toMatchObject({ connected: true });
      write("wrong\n");
      const wrong = await attempt(url, { username: "anna", passwordFile: password, protocolVersion });
      expect(wrong.error).toMatchObject({
        code: "BROKER_REFUSED",
        hint: expect.stringContaining("outputs.mqtt."),
      });
      expect((await attempt(url, { protocolVersion })).error?.message).toMatch(
        /does not let this client connect/,
      );
      expect(JSON.stringify([wrong.error?.message, wrong.error?.context])).not.toContain("wrong");
    }
    chmodSync(password, 0o644);
    expect(() => createPublisher({ broker: url, base: "b", device: "d", passwordFile: password })).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID", hint: expect.stringContaining("chmod 600") }),
    );
  });

  test("files that are not there and half a certificate are configuration errors at once", () => {
    const options = { broker: "mqtts://localhost:1", base: "b", device: "d" };
    expect(() => createPublisher({ ...options, caFile: "/nowhere/ca.pem" })).toThrow(
      expect.objectContaining({
        code: "CONFIG_UNREADABLE",
        message: "outputs.mqtt.caFile: expected a readable file, /nowhere/ca.pem: the file does not exist",
      }),
    );
    expect(() => createPublisher({ ...options, certFile: "a.pem" })).toThrow(
      /expected both or none, got one/,
    );
    for (const url of ["http://x", "mqtt:/", "broker", ""]) {
      expect(() => createPublisher({ ...options, broker: url })).toThrow(
        expect.objectContaining({ code: "CONFIG_INVALID" }),
      );
    }
  });

  test("a name that cannot be resolved, and a peer that is no broker", async () => {
    const unknown = await attempt("mqtt://no-such-host.invalid:1883");
    expect(unknown.error).toMatchObject({ code: "BROKER_UNREACHABLE" });
    expect(unknown.error?.message).toMatch(/host name that cannot be resolved/);
    const port = await freePort();
    const web = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")).listen(
      port,
      "127.0.0.1",
    );
    cleanups.push(() => web.close());
    const { error } = await attempt(`mqtt://user:hidden@127.0.0.1:${port}`);
    expect(error).toMatchObject({ code: "BROKER_UNREACHABLE" });
    expect(error?.message).not.toContain("hidden");
  });
});
