// SPDX-License-Identifier: Apache-2.0
// depthwatt view: the live page, fed from any broker. Credentials of the broker stay in this process.
import { once } from "node:events";
import { type Command, InvalidArgumentError } from "commander";
import { connectConsumer } from "../../../clients/javascript/src/index.js";
import { PICTURE_STREAMS } from "../../../core/frame/frame-format.js";
import { redactUrl } from "../../../core/index.js";
import {
  type BrokerOptions,
  credentialsFrom,
  URL_ARGUMENT,
  withBrokerAccess,
} from "../../cli/broker-flags.js";
import { createLog } from "../../cli/log.js";
import { describeArguments, withExamples } from "../../cli/options.js";
import { END_SIGNALS, printLine } from "../../cli/output.js";
import { createGate, HttpServer } from "../../http/index.js";
import { checkBrokerUrl } from "../../mqtt/credentials.js";
import { servePage } from "../../outputs/viewer/assets.js";
import { brokerControl } from "../../outputs/viewer/broker-control.js";
import { BrokerFeed } from "../../outputs/viewer/broker-feed.js";
import { Hub } from "../../outputs/viewer/hub.js";

interface ViewOptions extends BrokerOptions {
  address: string;
  port: number | "auto";
  pagePasswordFile?: string;
}

function parsePort(text: string): number | "auto" {
  const port = Number(text);
  if (text === "auto") return text;
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    throw new InvalidArgumentError("Expected auto or a port from 0 to 65535.");
  return port;
}

async function view(url: string, options: ViewOptions): Promise<void> {
  checkBrokerUrl(url, "URL");
  const { base, address, port } = options;
  const gate = createGate(address, options.pagePasswordFile, {
    address: "--address",
    passwordFile: "--page-password-file",
  });
  const credentials = credentialsFrom(options);
  const log = createLog("info");
  const control = brokerControl({ broker: url, base, credentials });
  const hub = new Hub({ kind: "view", origin: redactUrl(url), gate, control });
  const server = new HttpServer({ address, port, onProblem: (problem) => log.error(problem) });
  servePage(server, hub);
  const streams = PICTURE_STREAMS;
  // Somebody sits in front of it: a broker that is back is seen at once.
  const consumer = connectConsumer(url, { base, streams, grid: true, longestPauseMs: 1000, ...credentials });
  const feed = new BrokerFeed(hub, consumer);
  const ended = new AbortController();
  try {
    await server.listen();
    let reason = "";
    consumer.on("status", (status) => {
      // Each attempt that fails like the one before need not be reported again, nor the end that was asked for.
      if (status.reason !== reason && !ended.signal.aborted)
        log[status.connected ? "info" : "warn"](`broker: ${status.reason}`);
      reason = status.reason;
    });
    printLine(`page      ${server.url}`);
    await Promise.race(END_SIGNALS.map((name) => once(process, name, { signal: ended.signal })));
  } finally {
    ended.abort();
    feed.close();
    await consumer.close();
    hub.close();
    await server.close();
  }
}

export function define(command: Command): void {
  describeArguments(command, URL_ARGUMENT);
  command
    .option("--address <address>", "address that serves the page", "127.0.0.1")
    .option("--port <port>", "port of the page; auto: 8990, or a free one", parsePort, "auto")
    .option(
      "--page-password-file <file>",
      "file with the page's password; required unless the address is loopback",
    )
    .action(view);
  withBrokerAccess(command);
  withExamples(
    command,
    "depthwatt view mqtt://127.0.0.1:1883",
    "depthwatt view mqtts://broker.local --username me --password-file broker.txt",
  );
}
