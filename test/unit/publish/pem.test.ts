// SPDX-License-Identifier: Apache-2.0
// Certificates and keys are read when the settings are: junk, a passphrase, another's key are errors of the configuration.
import { execFileSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readCredentials } from "../../../edge/mqtt/credentials.js";
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
