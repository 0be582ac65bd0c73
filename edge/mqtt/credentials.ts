// SPDX-License-Identifier: Apache-2.0
// Broker URL, TLS files and password, checked and read once at start, so that a wrong path is a configuration error and not
// a connection that never comes up.
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { statSync, writeFileSync } from "node:fs";
import { DepthwattError, MAX_TEXT_BYTES, readRegularFile, redactBrokenUrl } from "../../core/index.js";

/** Returns the name of a credential in messages: by default its setting's key. */
export type CredentialName = (field: keyof CredentialFiles) => string;

export interface CredentialFiles {
  username?: string;
  passwordFile?: string;
  caFile?: string;
  certFile?: string;
  keyFile?: string;
}

/** In the names that the mqtt package wants. */
export interface Credentials {
  username?: string;
  password?: string;
  ca?: Buffer;
  cert?: Buffer;
  key?: Buffer;
}

/**
 * From now on a core dump of this process has no memory in it, only registers and mappings: what was read stays in its heap for as
 * long as it runs (core(5): coredump_filter). It is one setting for all threads.
 */
function keepOutOfCoreDumps(): void {
  try {
    writeFileSync("/proc/self/coredump_filter", "0");
  } catch {
    // A kernel without core dumps, or a /proc that may not be written: nothing is promised there.
  }
}

const PROTOCOLS = ["mqtt:", "mqtts:", "ws:", "wss:"];

/** The mqtt package decodes user and password, and throws where that cannot be done. */
function checkUserInfo({ username, password }: URL, key: string): void {
  try {
    decodeURIComponent(username + password);
  } catch {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `${key}: expected two hexadecimal digits after each % in user and password, found others`,
      {
        hint: "Write a % itself as %25, or put the password into outputs.mqtt.passwordFile.",
        context: { key },
      },
    );
  }
}

/** @throws DepthwattError CONFIG_INVALID */
export function checkBrokerUrl(url: string, key = "outputs.mqtt.broker"): URL {
  const expected = "expected mqtt://, mqtts://, ws:// or wss:// with a host name";
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    // Node's error holds the URL, and so its password: it is no cause to hand on.
    throw new DepthwattError(
      "CONFIG_INVALID",
      `${key}: ${expected}, got ${JSON.stringify(redactBrokenUrl(url))}`,
      { hint: "Write a URL such as mqtt://broker.local:1883.", context: { key } },
    );
  }
  checkUserInfo(parsed, key);
  if (!PROTOCOLS.includes(parsed.protocol) || parsed.hostname === "") {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `${key}: ${expected}, got ${parsed.protocol}//${parsed.host}`,
      {
        hint: "Write a URL such as mqtt://broker.local:1883.",
        context: { key },
      },
    );
  }
  return parsed;
}

function readKeyed(key: string, path: string): Buffer {
  try {
    return readRegularFile(path, MAX_TEXT_BYTES);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why =
      code === "ENOENT"
        ? "the file does not exist"
        : code === "EACCES"
          ? "this user may not read it"
          : `reading failed (${code ?? message})`;
    throw new DepthwattError("CONFIG_UNREADABLE", `${key}: expected a readable file, ${path}: ${why}`, {
      hint: "Check the path and who may read it.",
      cause,
      context: { key, file: path },
    });
  }
}

/** @throws DepthwattError CONFIG_INVALID where others may read it */
function readSecret(key: string, path: string): Buffer {
  const secret = readKeyed(key, path);
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o007) !== 0) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `${key}: expected a file that others cannot read, ${path} has mode ${mode.toString(8)}`,
      { hint: `Run 'chmod 600 ${path}'.`, context: { key, file: path } },
    );
  }
  keepOutOfCoreDumps();
  return secret;
}

const firstLine = (text: Buffer): string => text.toString("utf8").split(/\r?\n/, 1)[0]!;

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Checks PEM files before OpenSSL does, which would refuse them at each attempt to connect and name only its own
 * routines.
 */
function checkPem({ ca, cert, key }: Credentials, files: CredentialFiles, name: CredentialName): void {
  const problem = (
    field: "caFile" | "certFile" | "keyFile",
    expected: string,
    hint: string,
    cause?: unknown,
  ): DepthwattError => {
    const at = name(field);
    return new DepthwattError("CONFIG_INVALID", `${at}: expected ${expected}, ${files[field]} is none`, {
      hint,
      cause,
      context: { key: at, file: files[field] },
    });
  };
  const parseCertificates = (pem: Buffer, field: "caFile" | "certFile"): X509Certificate[] => {
    try {
      const found = pem.toString("latin1").match(PEM_CERTIFICATE) ?? [];
      if (found.length > 0) return found.map((text) => new X509Certificate(text));
    } catch (cause) {
      throw problem(field, "a PEM file of whole certificates", "Copy the file again.", cause);
    }
    throw problem(field, "a PEM file of certificates", "Its lines begin with -----BEGIN CERTIFICATE-----.");
  };
  if (ca !== undefined) parseCertificates(ca, "caFile");
  const [own] = cert === undefined ? [] : parseCertificates(cert, "certFile");
  if (key === undefined || own === undefined) return;
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(key);
  } catch (cause) {
    // RFC 7468 and 1421: it is in the first line, or in a header below it.
    const isEncrypted = /ENCRYPTED/.test(key.toString("latin1", 0, 1000));
    const expected = isEncrypted ? "a private key without a passphrase" : "a private key in PEM";
    const hint = isEncrypted
      ? "Decrypt it ('openssl pkey -in KEY -out PLAIN') and let only this user read it."
      : "Its first line is -----BEGIN PRIVATE KEY----- or the like.";
    throw problem("keyFile", expected, hint, cause);
  }
  if (own.checkPrivateKey(privateKey)) return;
  throw problem(
    "keyFile",
    `the private key of ${name("certFile")}`,
    "Give the key that the certificate was made for.",
  );
}

/** @throws DepthwattError CONFIG_UNREADABLE, CONFIG_INVALID naming the key */
export function readCredentials(
  files: CredentialFiles,
  name: CredentialName = (field) => `outputs.mqtt.${field}`,
): Credentials {
  if ((files.certFile === undefined) !== (files.keyFile === undefined)) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `${name("certFile")} and ${name("keyFile")}: expected both or none, got one`,
      { hint: "A client certificate needs its private key.", context: { key: name("certFile") } },
    );
  }
  const credentials: Credentials = {};
  if (files.username !== undefined) credentials.username = files.username;
  if (files.passwordFile !== undefined)
    credentials.password = firstLine(readSecret(name("passwordFile"), files.passwordFile));
  if (files.caFile !== undefined) credentials.ca = readKeyed(name("caFile"), files.caFile);
  if (files.certFile !== undefined) credentials.cert = readKeyed(name("certFile"), files.certFile);
  if (files.keyFile !== undefined) credentials.key = readSecret(name("keyFile"), files.keyFile);
  checkPem(credentials, files, name);
  return credentials;
}
