// SPDX-License-Identifier: Apache-2.0
// Brokers of other makers for tests, each in its own folder, that can be stopped and started again with what they kept:
// nats-server with its MQTT listener, RabbitMQ with its MQTT plugin.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./mosquitto.js";

export interface OtherBroker {
  readonly url: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Stops it for good. */
  remove(): Promise<void>;
}

const isOpen = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.once("close", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });

async function answers(port: number, what: string, child: ChildProcess, log: () => string): Promise<void> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    if (await isOpen(port)) return;
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`${what} did not start:\n${log()}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

class BrokerProcess implements OtherBroker {
  readonly url: string;
  #child: ChildProcess | undefined;
  #log = "";

  constructor(
    readonly name: string,
    readonly folder: string,
    readonly port: number,
    readonly run: () => ChildProcess,
    readonly clean: () => void = () => {},
  ) {
    this.url = `mqtt://127.0.0.1:${port}`;
  }

  async start(): Promise<void> {
    const child = this.run();
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk: Buffer) => {
        this.#log = (this.#log + chunk.toString()).slice(-20_000);
      });
    process.once("exit", () => child.kill("SIGKILL"));
    await answers(this.port, this.name, child, () => this.#log);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    // RabbitMQ is a shell around Erlang: killed, it would leave a broker behind that answers in place of the next one.
    const late = setTimeout(() => child.kill("SIGKILL"), 120_000);
    await ended;
    clearTimeout(late);
    while (await isOpen(this.port)) await new Promise((resolve) => setTimeout(resolve, 100));
  }

  async remove(): Promise<void> {
    await this.stop();
    this.clean();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const PATHS = { PATH: `${process.env.PATH}:/usr/sbin:/sbin` };

export async function natsWithMqtt(): Promise<OtherBroker> {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-nats-"));
  const [port, own] = [await freePort(), await freePort()];
  const file = join(folder, "nats.conf");
  writeFileSync(
    file,
    [
      "server_name: test",
      "host: 127.0.0.1",
      `port: ${own}`,
      `jetstream { store_dir: "${join(folder, "store")}" }`,
      `mqtt { host: 127.0.0.1, port: ${port} }`,
    ].join("\n"),
  );
  return new BrokerProcess("nats-server", folder, port, () =>
    spawn("nats-server", ["-c", file], {
      env: { ...process.env, ...PATHS },
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
}

export async function rabbitWithMqtt(): Promise<OtherBroker> {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-rabbit-"));
  const [port, amqp, distribution, epmd] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  for (const name of ["mnesia", "log"]) mkdirSync(join(folder, name));
  writeFileSync(
    join(folder, "rabbitmq.conf"),
    [
      `listeners.tcp.default = 127.0.0.1:${amqp}`,
      `mqtt.listeners.tcp.default = 127.0.0.1:${port}`,
      "mqtt.allow_anonymous = true",
      "mqtt.retained_message_store = rabbit_mqtt_retained_msg_store_dets",
      "mqtt.retained_message_store_dets_sync_interval = 200",
    ].join("\n"),
  );
  writeFileSync(join(folder, "plugins"), "[rabbitmq_mqtt].\n");
  const environment = {
    ...process.env,
    ...PATHS,
    HOME: folder,
    ERL_EPMD_PORT: String(epmd),
    ERL_EPMD_ADDRESS: "127.0.0.1",
    RABBITMQ_NODENAME: "depthwatt@localhost",
    RABBITMQ_DIST_PORT: String(distribution),
    RABBITMQ_CONFIG_FILE: join(folder, "rabbitmq.conf"),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, "plugins"),
    RABBITMQ_MNESIA_BASE: join(folder, "mnesia"),
    RABBITMQ_LOG_BASE: join(folder, "log"),
    RABBITMQ_LOGS: "-",
  };
  // Erlang leaves its own daemon behind.
  const clean = () => void spawnSync("epmd", ["-kill"], { env: environment });
  return new BrokerProcess(
    "RabbitMQ",
    folder,
    port,
    () =>
      spawn("/usr/lib/rabbitmq/bin/rabbitmq-server", [], {
        env: environment,
        stdio: ["ignore", "pipe", "pipe"],
      }),
    clean,
  );
}
