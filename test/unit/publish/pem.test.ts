// SPDX-License-Identifier: Apache-2.0
// Passwords, certificates and keys are read when the settings are: junk, a passphrase, another's key are errors of the configuration.
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createGate } from "../../../edge/http/index.js";
import { checkBrokerUrl, readCredentials } from "../../../edge/mqtt/credentials.js";
import { type Certificates, makeCertificates } from "../../doubles/certificates.js";

let made: Certificates;
beforeAll(() => {
  made = makeCertificates();
});
afterAll(() => made.remove());

const refused = (files: object, message: RegExp) =>
  expect(() => readCredentials(files)).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringMatching(message) }),
  );

test("what belongs together is read", () => {
  const { cert, key, ca } = readCredentials({ ...made.client, caFile: made.caFile });
  expect([cert, key, ca].every((bytes) => bytes !== undefined && bytes.length > 100)).toBe(true);
});

test("what does not is refused with the setting's name", () => {
  const junk = join(made.folder, "junk");
  writeFileSync(junk, "no PEM at all\n", { mode: 0o600 });
  const broken = join(made.folder, "broken");
  writeFileSync(broken, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  const locked = join(made.folder, "locked");
  const { certFile, keyFile } = made.client;
  execFileSync("openssl", ["pkey", "-in", keyFile, "-aes256", "-passout", "pass:x", "-out", locked]);
  refused({ caFile: junk }, /^outputs\.mqtt\.caFile: expected a PEM file of certificates/);
  refused({ caFile: broken }, /^outputs\.mqtt\.caFile: expected a PEM file of whole certificates/);
  refused({ certFile: junk, keyFile }, /^outputs\.mqtt\.certFile: expected a PEM file of certificates/);
  refused({ certFile, keyFile: junk }, /^outputs\.mqtt\.keyFile: expected a private key in PEM/);
  refused(
    { certFile, keyFile: locked },
    /^outputs\.mqtt\.keyFile: expected a private key without a passphrase/,
  );
  refused(
    { certFile, keyFile: made.server.keyFile },
    /^outputs\.mqtt\.keyFile: expected the private key of outputs\.mqtt\.certFile/,
  );
});

test("each mode of a password file: refused exactly where others have a right", () => {
  const passwordFile = join(made.folder, "password");
  writeFileSync(passwordFile, "secret\n");
  for (let mode = 0o400; mode < 0o1000; mode++) {
    chmodSync(passwordFile, mode);
    if ((mode & 0o007) === 0)
      expect(readCredentials({ passwordFile }).password, mode.toString(8)).toBe("secret");
    else refused({ passwordFile }, new RegExp(`mode ${mode.toString(8)}$`));
  }
});

test("a private key that others may read is refused, with what fixes it", () => {
  const { certFile, keyFile } = made.client;
  chmodSync(keyFile, 0o644);
  const message = expect.stringMatching(
    /^http\.keyFile: expected a file that others cannot read, .* mode 644$/,
  );
  expect(() => readCredentials({ certFile, keyFile }, (field) => `http.${field}`)).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID", message, hint: `Run 'chmod 600 ${keyFile}'.` }),
  );
  chmodSync(keyFile, 0o640);
  expect(readCredentials({ certFile, keyFile }).key?.length).toBeGreaterThan(100);
});

test("a file that cannot be read is refused with its setting, its path and the reason", () => {
  const unreadable = (path: string, why: RegExp) =>
    expect(() => readCredentials({ caFile: path })).toThrow(
      expect.objectContaining({
        code: "CONFIG_UNREADABLE",
        message: expect.stringMatching(why),
        context: { key: "outputs.mqtt.caFile", file: path },
      }),
    );
  unreadable(join(made.folder, "none"), /caFile: expected a readable file, .*none: the file does not exist$/);
  unreadable(made.folder, /: reading failed \(.+\)$/);
  expect(() => readCredentials({ keyFile: made.client.keyFile })).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID", context: { key: "outputs.mqtt.certFile" } }),
  );
});

test("user and password: the first line of the file, and from then on no core dump has memory in it", () => {
  const passwordFile = join(made.folder, "lines");
  writeFileSync(passwordFile, "secret word\r\nsecond\n", { mode: 0o600 });
  const filter = "/proc/self/coredump_filter";
  const before = readFileSync(filter, "utf8").trim();
  onTestFinished(() => writeFileSync(filter, `0x${before}`));
  writeFileSync(filter, "0x33");
  expect(readCredentials({ username: "eve" })).toEqual({ username: "eve" });
  expect(Number.parseInt(readFileSync(filter, "utf8"), 16)).toBe(0x33);
  expect(readCredentials({ username: "eve", passwordFile })).toEqual({
    username: "eve",
    password: "secret word",
  });
  expect(Number.parseInt(readFileSync(filter, "utf8"), 16)).toBe(0);
});

test.each([
  ["http://host", "got http://host"],
  ["mqtt://", "got mqtt://"],
  ["mqtt://host:99999", 'got "mqtt://host:99999"'],
  ["mqtt://user:%zz@host", "two hexadecimal digits"],
  ["mqtt://%zz@host", "two hexadecimal digits"],
])("the broker %s is refused", (url, why) => {
  expect(() => checkBrokerUrl(url)).toThrow(
    expect.objectContaining({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(/^outputs\.mqtt\.broker: expected /),
      context: { key: "outputs.mqtt.broker" },
    }),
  );
  expect(() => checkBrokerUrl(url)).toThrow(why);
});

test.each(["mqtt://a", "mqtts://b:8883", "ws://c/path", "wss://user:%25@d"])(
  "the broker %s is taken",
  (url) => {
    expect(checkBrokerUrl(url).href).toBe(new URL(url).href);
  },
);

test("the page needs a password of 8 characters where others can reach it", () => {
  const names = { address: "http.address", passwordFile: "http.passwordFile" };
  const passwordFile = join(made.folder, "page-password");
  const gate = (address: string, password?: string) => {
    if (password !== undefined) writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
    return createGate(address, password === undefined ? undefined : passwordFile, names);
  };
  expect(gate("127.0.0.1")).toBeUndefined();
  expect(() => gate("0.0.0.0")).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID", context: { key: "http.address" } }),
  );
  expect(gate("0.0.0.0", "12345678")?.check("12345678", "192.0.2.1")).toBe("right");
  expect(gate("127.0.0.1", "12345678")?.check("12345679", "192.0.2.1")).toBe("wrong");
  for (const [password, found] of [
    ["1234567", "got 7"],
    ["", "got 0"],
  ] as const)
    expect(() => gate("0.0.0.0", password)).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: `http.passwordFile: expected a password of 8 characters or more, ${found}`,
      }),
    );
});
