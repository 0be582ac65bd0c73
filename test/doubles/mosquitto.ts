// SPDX-License-Identifier: Apache-2.0
// A real broker for tests: Debian's mosquitto as a child process on free ports of 127.0.0.1, with its log kept for failures.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface MosquittoOptions {
  /** Lines of mosquitto.conf next to the listeners. */
  settings?: string[];
  /** Lines behind the listener, which hold for it alone. */
  listenerSettings?: string[];
  /** Reuse the port of a broker that was stopped. */
  port?: number;
  websockets?: boolean;
  /** PEM paths; makes the listeners TLS. */
  tls?: { caFile: string; certFile: string; keyFile: string; requireCertificate?: boolean };
}

export interface Mosquitto {
  readonly port: number;
  readonly url: string;
  readonly webSocketUrl: string | undefined;
  log(): string;
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Freezes and thaws the process: a broker whose socket stays open and is never read. */
  freeze(): void;
  thaw(): void;
  /** Reads its configuration again: access lists, passwords. */
  reload(): void;
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

function configuration(options: MosquittoOptions, port: number, webSocketPort: number | undefined): string {
  const security: string[] = [];
  if (options.tls !== undefined) {
    const { caFile, certFile, keyFile, requireCertificate } = options.tls;
    security.push(`cafile ${caFile}`, `certfile ${certFile}`, `keyfile ${keyFile}`);
    if (requireCertificate) security.push("require_certificate true");
  }
  const lines = [
    `listener ${port} 127.0.0.1`,
    "protocol mqtt",
    ...security,
    ...(options.listenerSettings ?? []),
  ];
  if (webSocketPort !== undefined)
    lines.push(`listener ${webSocketPort} 127.0.0.1`, "protocol websockets", ...security);
  const settings = options.settings ?? ["allow_anonymous true"];
  // Root would become the user mosquitto, which a user namespace of one user does not have.
  return ["user root", ...settings, ...lines, "log_type all", ""].join("\n");
}

async function waitUntilRunning(child: ChildProcess, log: () => string): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!/mosquitto version .* running/.test(log())) {
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`mosquitto did not start:\n${log()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export async function startMosquitto(options: MosquittoOptions = {}): Promise<Mosquitto> {
  const port = options.port ?? (await freePort());
  const webSocketPort = options.websockets ? await freePort() : undefined;
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-mosquitto-"));
  const file = join(folder, "mosquitto.conf");
  writeFileSync(file, configuration(options, port, webSocketPort));
  const child = spawn("/usr/sbin/mosquitto", ["-c", file], { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  const collect = (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-200_000);
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  // A test that dies must not leave a broker behind.
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  await waitUntilRunning(child, () => text);
  return {
    port,
    url: `${options.tls ? "mqtts://localhost" : "mqtt://127.0.0.1"}:${port}`,
    webSocketUrl:
      webSocketPort === undefined
        ? undefined
        : `${options.tls ? "wss://localhost" : "ws://127.0.0.1"}:${webSocketPort}`,
    log: () => text,
    async stop(signal = "SIGTERM") {
      process.removeListener("exit", kill);
      child.kill(signal);
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    reload: () => void child.kill("SIGHUP"),
  };
}
