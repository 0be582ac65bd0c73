// SPDX-License-Identifier: Apache-2.0
// A run that has a bad day: the program as its users start it, at a broker behind a link that can go bad, watched from outside. What
// it holds (descriptors, threads, memory) is read from /proc before the day and after it.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mqtt, { type MqttClient } from "mqtt";
import type { RunFigures } from "../../edge/run/figures.js";
import { sleep, until } from "./frames.js";
import { type Mosquitto, startMosquitto } from "./mosquitto.js";
import { PROGRAM } from "./program.js";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.js";

export interface Held {
  descriptors: number;
  threads: number;
  residentMegabytes: number;
}

export function held(pid: number): Held {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)![1]);
  return {
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    threads: field("Threads"),
    residentMegabytes: field("VmRSS") / 1024,
  };
}

const SMALL = [
  "board=none",
  "power.sensor=none",
  "source.synthetic.width=192",
  "source.synthetic.height=128",
  "source.synthetic.rateHz=20",
  "match.numDisparities=32",
  "outputs.metricsIntervalMs=200",
  "outputs.viewer.enabled=false",
];

export interface BadDayOptions {
  settings?: string[];
  words?: string[];
  environment?: NodeJS.ProcessEnv;
  /** Lines of mosquitto.conf. */
  broker?: string[];
}

/** Opens what a test needs, and closes all of it in the opposite order. */
export class BadDays {
  readonly #cleanups: (() => unknown)[] = [];

  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
  }

  owns(cleanup: () => unknown): void {
    this.#cleanups.push(cleanup);
  }

  folder(): string {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-bad-day-"));
    this.owns(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  async begin(options: BadDayOptions = {}): Promise<Day> {
    const { settings = [], words = [], environment = {}, broker: lines = [] } = options;
    const broker = await startMosquitto({ settings: ["allow_anonymous true", ...lines] });
    this.owns(() => broker.stop());
    const link = await startTcpProxy(broker.port);
    this.owns(() => link.close());
    const client = await mqtt.connectAsync(broker.url);
    this.owns(() => client.endAsync(true));
    const day = new Day(broker, link, client);
    await day.listen();
    const set = [...SMALL, ...settings].flatMap((one) => ["--set", one]);
    const url = `mqtt://127.0.0.1:${link.port}`;
    day.start(["run", "--json", "--device", "bad", "--broker", url, ...set, ...words], environment);
    this.owns(() => day.kill());
    await day.delivers();
    return day;
  }
}

export class Day {
  readonly states: { state: string; reason: string }[] = [];
  log = "";
  frames = 0;
  /** The newest metrics. */
  metrics: RunFigures | undefined;
  #child: ChildProcess | undefined;
  #out = "";
  #ended: Promise<number | null> = Promise.resolve(null);

  constructor(
    readonly broker: Mosquitto,
    readonly link: TcpProxy,
    readonly client: MqttClient,
  ) {}

  async listen(): Promise<void> {
    this.client.on("error", () => {});
    this.client.on("message", (topic, payload) => {
      if (topic.endsWith("/depth")) this.frames++;
      else if (topic.endsWith("/metrics")) this.metrics = JSON.parse(payload.toString()) as RunFigures;
      else if (topic.endsWith("/state")) this.states.push(JSON.parse(payload.toString()));
    });
    const topics = ["depth", "metrics", "state"].map((leaf) => `depthwatt/bad/${leaf}`);
    await this.client.subscribeAsync(topics);
  }

  start(words: string[], environment: NodeJS.ProcessEnv): void {
    const env = { ...process.env, ...environment };
    // Its own session, as a service has it.
    const child = spawn(process.execPath, [PROGRAM, ...words], { env, detached: true });
    child.stderr.on("data", (chunk) => {
      this.log += chunk;
    });
    child.stdout.on("data", (chunk) => {
      this.#out += chunk;
    });
    this.#ended = new Promise((resolve) => child.once("close", resolve));
    this.#child = child;
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  signal(name: NodeJS.Signals): void {
    this.#child!.kill(name);
  }

  async kill(): Promise<void> {
    this.#child?.kill("SIGKILL");
    await this.#ended;
  }

  /** Until frames come, from now on. @returns after how many milliseconds */
  async delivers(): Promise<number> {
    const [before, began] = [this.frames, performance.now()];
    await until("frames come", () => this.frames > before + 3, 60_000);
    return performance.now() - began;
  }

  async says(text: RegExp): Promise<void> {
    await until(`the log says ${text}`, () => text.test(this.log), 60_000);
  }

  async isState(state: string, reason: RegExp = /./): Promise<void> {
    const seen = () => this.states.at(-1);
    const is = () => seen()?.state === state && reason.test(seen()!.reason);
    await until(`the state is ${state} ${reason}`, is, 60_000).catch((error: Error) => {
      throw new Error(`${error.message}; it is ${JSON.stringify(seen())}; ${this.log.slice(-1000)}`);
    });
  }

  /** Returns the use at rest: the smallest of some readings. */
  async holds(): Promise<Held> {
    const looks: Held[] = [];
    for (let i = 0; i < 10; i++) {
      looks.push(held(this.pid));
      await sleep(100);
    }
    const least = (of: (one: Held) => number) => Math.min(...looks.map(of));
    return {
      descriptors: least(({ descriptors }) => descriptors),
      threads: least(({ threads }) => threads),
      residentMegabytes: least(({ residentMegabytes }) => residentMegabytes),
    };
  }

  /** Descriptors and threads are as before, memory is within what a heap breathes. @throws Error where they stay away */
  async holdsAgain(before: Held): Promise<void> {
    let now = await this.holds();
    const back = () =>
      now.descriptors <= before.descriptors &&
      now.threads <= before.threads &&
      now.residentMegabytes < before.residentMegabytes + 80;
    for (let looks = 0; !back(); looks++) {
      if (looks === 20) throw new Error(`held before ${JSON.stringify(before)}, now ${JSON.stringify(now)}`);
      now = await this.holds();
    }
  }

  /** Ends it. @returns exit code and figures of the run */
  async end(): Promise<{ code: number | null; figures: RunFigures; log: string }> {
    this.signal("SIGTERM");
    const code = await this.#ended;
    const text = this.#out.trim().split("\n").at(-1) ?? "";
    if (text === "") throw new Error(`exit ${code}: ${this.log.slice(-2000)}`);
    return { code, figures: JSON.parse(text) as RunFigures, log: this.log };
  }
}
