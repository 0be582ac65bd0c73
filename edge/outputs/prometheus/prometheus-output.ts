// SPDX-License-Identifier: Apache-2.0
// Serves Prometheus metrics: counts since the start at /metrics of the process's HTTP server, made on request.
import type { DeviceState, Output, OutputContext } from "../../contracts/output.js";
import { sendText } from "../../http/index.js";
import { exposition, formatFor } from "./exposition.js";
import { FAMILIES } from "./families.js";
import type { ScrapeFacts } from "./family.js";
import { Scrapes } from "./scrapes.js";

export const METRICS_PATH = "/metrics";

/** Keys of `info` that do not change with every setting. */
const BUILD_LABELS = ["version", "board", "backend", "instructionSet", "algorithm"] as const;

function buildLabels(info: object): Record<string, string> {
  const values = info as Record<string, unknown>;
  return Object.fromEntries(
    BUILD_LABELS.filter((name) => typeof values[name] === "string").map((name) => [
      name === "instructionSet" ? "instruction_set" : name,
      String(values[name]),
    ]),
  );
}

export async function openPrometheus(context: OutputContext<unknown>): Promise<Output> {
  const { server } = await context.http();
  const startSeconds = Date.now() / 1000 - process.uptime();
  let build: Record<string, string> = {};
  let recent: ScrapeFacts["recent"];
  let state: DeviceState | undefined;
  let warnings = 0;
  const facts = (): ScrapeFacts => {
    const { user, system } = process.cpuUsage();
    return {
      totals: context.totals?.(),
      recent,
      state,
      build,
      warnings,
      process: {
        cpuSeconds: (user + system) / 1e6,
        residentBytes: process.memoryUsage.rss(),
        startSeconds,
      },
    };
  };
  const scrapes = new Scrapes((format) => exposition(FAMILIES, facts(), format));
  server.get(METRICS_PATH, (request, response) => {
    const why = scrapes.answer(formatFor(request.headers.accept), response);
    if (why !== undefined) sendText(response, 503, why);
  });
  return {
    streams: [],
    frame: (lease) => lease.release(),
    state(next) {
      state = next;
    },
    notice() {
      warnings++;
    },
    info(info) {
      build = buildLabels(info);
    },
    metrics(metrics) {
      recent = metrics as ScrapeFacts["recent"];
    },
    counters: () => scrapes.counters(),
    greeting: () => [["metrics", `${server.url}${METRICS_PATH}`]],
    async close() {
      scrapes.close();
    },
  };
}
