// SPDX-License-Identifier: Apache-2.0
// The broker of a soak, Debian's mosquitto, and the link to it: both can go bad. The run reaches the broker by the link, the
// consumers directly.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep } from "./random.mjs";

export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export class Broker {
  #child;
  #folder = mkdtempSync(join(tmpdir(), "depthwatt-soak-broker-"));
  log = "";

  constructor(port) {
    this.port = port;
    this.url = `mqtt://127.0.0.1:${port}`;
    const settings = [
      "allow_anonymous true",
      `listener ${port} 127.0.0.1`,
      "log_type error",
      "log_type warning",
    ];
    // A consumer that does not read shall cost the broker a bounded number of frames.
    settings.push("max_queued_messages 50", "max_inflight_messages 20");
    writeFileSync(join(this.#folder, "mosquitto.conf"), `${settings.join("\n")}\n`);
  }

  async start() {
    const child = spawn("/usr/sbin/mosquitto", ["-c", join(this.#folder, "mosquitto.conf")], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        this.log = (this.log + chunk).slice(-10_000);
      });
    this.#child = child;
    for (let attempts = 0; !(await answers(this.port)); attempts++) {
      if (child.exitCode !== null || attempts > 500) throw new Error(`mosquitto did not start: ${this.log}`);
      await sleep(20);
    }
  }

  freeze() {
    this.#child.kill("SIGSTOP");
  }

  thaw() {
    this.#child.kill("SIGCONT");
  }

  async kill() {
    const child = this.#child;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await exited;
  }

  async close() {
    if (this.#child?.exitCode === null && this.#child.signalCode === null) await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const answers = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });

/** Opens a TCP link that can stop reading, cut its connections, and refuse new ones. */
export class Link {
  #server;
  #sockets = new Set();
  #clients = new Set();
  #stalled = false;
  #target;

  constructor(targetPort) {
    this.#target = targetPort;
  }

  async open(port = 0) {
    this.#server = createServer((client) => this.#join(client));
    await new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", resolve);
    });
    this.port = this.#server.address().port;
  }

  #join(client) {
    const upstream = connect(this.#target, "127.0.0.1");
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        this.#clients.delete(client);
        client.destroy();
        upstream.destroy();
      });
    }
    this.#clients.add(client);
    client.on("data", (chunk) => {
      if (!upstream.write(chunk)) client.pause();
    });
    upstream.on("drain", () => {
      if (!this.#stalled) client.resume();
    });
    upstream.pipe(client);
    if (this.#stalled) client.pause();
  }

  stall(stalled) {
    this.#stalled = stalled;
    for (const client of this.#clients) stalled ? client.pause() : client.resume();
  }

  cut() {
    for (const socket of [...this.#sockets]) socket.resetAndDestroy();
  }

  /** Stops listening, and cuts the connections. */
  async refuse() {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  async listen() {
    await this.open(this.port);
  }

  async close() {
    await this.refuse();
  }
}
