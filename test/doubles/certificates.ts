// SPDX-License-Identifier: Apache-2.0
// Throw-away certificates for TLS tests, made by openssl: an authority, brokers for localhost and for another host, a client.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Pair {
  certFile: string;
  keyFile: string;
}

export interface Certificates {
  folder: string;
  caFile: string;
  otherCaFile: string;
  broker: Pair;
  brokerElsewhere: Pair;
  /** Not valid any more. */
  brokerExpired: Pair;
  /** Not valid before 2090. */
  brokerTooEarly: Pair;
  client: Pair;
  /** Signed by the authority of otherCaFile. */
  strangerClient: Pair;
  /** For localhost. Its key is readable for others, because Mosquitto runs as another user. */
  server: Pair;
  remove(): void;
}

export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-tls-"));
  // mosquitto started by root drops to its own user, who must be able to read these.
  chmodSync(folder, 0o755);
  const at = (name: string) => join(folder, name);
  const openssl = (...words: string[]) => execFileSync("openssl", words, { cwd: folder, stdio: "pipe" });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

  const authority = (name: string) => {
    const files = ["-keyout", `${name}.key`, "-out", `${name}.pem`];
    openssl("req", "-x509", ...newKey, "-days", "2", "-subj", `/CN=${name}`, ...files);
    return at(`${name}.pem`);
  };
  const signed = (
    name: string,
    host: string,
    days = ["-days", "2"],
    mode = 0o644,
    issuer = "authority",
  ): Pair => {
    writeFileSync(at(`${name}.ext`), `subjectAltName=DNS:${host}\n`);
    openssl("req", ...newKey, "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.csr`);
    const by = [
      "-CA",
      `${issuer}.pem`,
      "-CAkey",
      `${issuer}.key`,
      "-CAcreateserial",
      "-extfile",
      `${name}.ext`,
    ];
    openssl("x509", "-req", "-in", `${name}.csr`, ...days, ...by, "-out", `${name}.pem`);
    chmodSync(at(`${name}.key`), mode);
    return { certFile: at(`${name}.pem`), keyFile: at(`${name}.key`) };
  };

  const signedFrom = (name: string, host: string, from: string): Pair => {
    const pair = signed(name, host);
    // Only `openssl ca` takes a beginning; it wants a database.
    writeFileSync(at("index"), "");
    writeFileSync(
      at("ca.conf"),
      "[ca]\ndefault_ca=a\n[a]\ndatabase=index\nnew_certs_dir=.\nrand_serial=yes\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n",
    );
    const by = [
      "-config",
      "ca.conf",
      "-cert",
      "authority.pem",
      "-keyfile",
      "authority.key",
      "-batch",
      "-notext",
    ];
    const days = ["-startdate", from, "-days", "1"];
    openssl("ca", ...by, ...days, "-extfile", `${name}.ext`, "-in", `${name}.csr`, "-out", `${name}.pem`);
    return pair;
  };

  const caFile = authority("authority");
  const otherCaFile = authority("stranger");
  return {
    folder,
    caFile,
    otherCaFile,
    broker: signed("broker", "localhost"),
    brokerElsewhere: signed("elsewhere", "broker.example"),
    brokerExpired: signed("expired", "localhost", ["-days", "-1"]),
    brokerTooEarly: signedFrom("early", "localhost", "20900101000000Z"),
    strangerClient: signed("stranger-client", "client", undefined, 0o600, "stranger"),
    client: signed("client", "client", undefined, 0o600),
    server: signed("server", "localhost", undefined, 0o600),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
