// SPDX-License-Identifier: Apache-2.0
// The thread that the trial broker runs in: starts it from workerData, answers two questions, ends with its parent.
import { parentPort, workerData } from "node:worker_threads";
import { type BrokerLimits, type BrokerPorts, startBrokerCore } from "./broker-core.js";

export interface BrokerWorkerData {
  limits: BrokerLimits;
  ports: BrokerPorts;
}

export type BrokerRequest = "counters" | "close";

const { limits, ports } = workerData as BrokerWorkerData;
const port = parentPort;
if (port === null) throw new Error("broker-worker.ts runs as a worker thread only");

try {
  const broker = await startBrokerCore(limits, ports);
  port.on("message", async (request: BrokerRequest) => {
    if (request === "counters") port.postMessage({ counters: broker.counters() });
    else {
      await broker.close();
      port.close();
    }
  });
  port.postMessage({ listening: { port: broker.port, webSocketPort: broker.webSocketPort } });
} catch (error) {
  // Without a listener on the port, the thread ends.
  port.postMessage({ failed: String(error) });
}
