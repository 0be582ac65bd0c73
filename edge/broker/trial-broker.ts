// SPDX-License-Identifier: Apache-2.0
// The trial broker as the command line sees it: starts it in a worker thread, says where it listens, ends with the process.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { DepthwattError, packageRoot } from "../../core/index.js";
import type { BrokerCounters } from "./broker-core.js";
import type { BrokerRequest, BrokerWorkerData } from "./broker-worker.js";

export type { BrokerCounters } from "./broker-core.js";

export interface TrialBrokerOptions {
  /** Wanted ports of 127.0.0.1; where one is taken, a free one is used instead. 0 = any. */
  port?: number;
  /** null = no WebSocket listener. */
  webSocketPort?: number | null;
  maxPendingBytesPerClient?: number;
  maxConnections?: number;
  maxPacketBytes?: number;
  maxRetainedBytes?: number;
  maxRetainedMessages?: number;
  /** The broker's thread ended without being asked to. */
  onFailed?: (error: DepthwattError) => void;
}

/** A broker for trying things out: loopback only, no users, MQTT 3.1.1, forgets everything when it stops. */
export interface TrialBroker {
  readonly url: string;
  readonly port: number;
  /** For browsers; undefined where it was not wanted. */
  readonly webSocketUrl: string | undefined;
  /** Sentences a person should read, such as that port 1883 was taken. */
  readonly notices: readonly string[];
  counters(): Promise<BrokerCounters>;
  close(): Promise<void>;
}

const DEFAULT_PORT = 1883;
const DEFAULT_WEBSOCKET_PORT = 9001;
const MEGABYTE = 1 << 20;

/** Tests run TypeScript without compiling it, but Node starts threads from JavaScript: the compiled twin under dist/. */
function workerFile(): string {
  const worker = fileURLToPath(new URL("./broker-worker.js", import.meta.url));
  if (existsSync(worker)) return worker;
  const compiled = join(packageRoot(), "dist", "edge", "broker", "broker-worker.js");
  if (existsSync(compiled)) return compiled;
  throw new DepthwattError("INTERNAL", `expected the broker's thread at ${compiled}, found no such file`, {
    hint: "Run 'npm run build'.",
  });
}

interface Listening {
  port: number;
  webSocketPort: number | undefined;
}

interface Answer {
  listening?: Listening;
  counters?: BrokerCounters;
  failed?: string;
}

/** @throws DepthwattError BROKER_UNREACHABLE where loopback cannot be listened on */
export async function startTrialBroker(options: TrialBrokerOptions = {}): Promise<TrialBroker> {
  const wanted = options.port ?? DEFAULT_PORT;
  const wantedWebSocket = options.webSocketPort === null ? undefined : options.webSocketPort;
  const workerData: BrokerWorkerData = {
    limits: {
      maxPendingBytesPerClient: options.maxPendingBytesPerClient ?? 4 * MEGABYTE,
      maxConnections: options.maxConnections ?? 32,
      maxPacketBytes: options.maxPacketBytes ?? 64 * MEGABYTE,
      maxRetainedBytes: options.maxRetainedBytes ?? 16 * MEGABYTE,
      maxRetainedMessages: options.maxRetainedMessages ?? 1000,
    },
    ports: {
      mqtt: wanted,
      webSocket: options.webSocketPort === null ? undefined : (wantedWebSocket ?? DEFAULT_WEBSOCKET_PORT),
    },
  };
  const worker = new Worker(workerFile(), { workerData, name: "depthwatt trial broker" });
  let closing = false;
  const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  const failed = (detail: string, cause?: unknown) =>
    new DepthwattError("BROKER_UNREACHABLE", `the embedded broker stopped: ${detail}`, {
      hint: "Use a separate broker, such as mosquitto, with '--broker mqtt://localhost'.",
      cause,
    });
  const { port, webSocketPort } = await new Promise<Listening>((resolve, reject) => {
    worker.once("message", (answer: Answer) => {
      if (answer.listening) resolve(answer.listening);
      else reject(failed(answer.failed ?? "it did not start"));
    });
    worker.once("error", (error) => reject(failed(String(error), error)));
  });
  let crash: unknown;
  worker.on("error", (error) => {
    crash = error;
  });
  const diedAlone = () => failed(crash === undefined ? "its thread ended" : String(crash), crash);
  worker.once("exit", () => {
    if (!closing) options.onFailed?.(diedAlone());
  });
  // The broker alone must not keep the process alive.
  worker.unref();

  const ask = (request: BrokerRequest) => worker.postMessage(request);
  const notices: string[] = [];
  if (wanted !== 0 && port !== wanted)
    notices.push(`port ${wanted} is taken: the embedded broker listens on ${port}`);
  return {
    url: `mqtt://127.0.0.1:${port}`,
    port,
    webSocketUrl: webSocketPort === undefined ? undefined : `ws://127.0.0.1:${webSocketPort}`,
    notices,
    counters: () =>
      new Promise((resolve, reject) => {
        worker.once("exit", () => reject(diedAlone()));
        worker.once("message", ({ counters }: Answer) => {
          if (counters) resolve(counters);
        });
        ask("counters");
      }),
    async close() {
      if (!closing) {
        closing = true;
        worker.ref(); // its end is waited for
        ask("close");
      }
      await exited;
    },
  };
}
