// SPDX-License-Identifier: Apache-2.0
// depthwatt fleet: every device at a broker in one table, once or again and again.
import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { connectConsumer } from "../../../clients/javascript/src/index.js";
import { DepthwattError, printable } from "../../../core/index.js";
import {
  type BrokerOptions,
  credentialsFrom,
  URL_ARGUMENT,
  withBrokerAccess,
  withFlagsInHint,
} from "../../cli/broker-flags.js";
import { cutToTerminal } from "../../cli/live-line.js";
import { secondsUpTo } from "../../cli/numbers.js";
import { describeArguments, withExamples, withJson } from "../../cli/options.js";
import { columns, END_SIGNALS, note, printJson, printLine } from "../../cli/output.js";
import { Progress } from "../../cli/progress.js";
import { checkBrokerUrl } from "../../mqtt/credentials.js";
import { Fleet, type FleetDevice } from "./fleet.js";

interface FleetOptions extends BrokerOptions {
  seconds: number;
  watch?: boolean;
  json?: boolean;
}

/** Even, because devices are asked for their state after half of the time. */
const LISTEN_STEPS = 20;

const figure = (value: number | null, digits: number) => (value === null ? "-" : value.toFixed(digits));

function table(devices: readonly FleetDevice[]): string[] {
  const rows = devices.map(({ device, state, fps, watts, fpsPerWatt, version, board, backend, warnings }) =>
    [
      device,
      state,
      figure(fps, 1),
      figure(watts, 1),
      figure(fpsPerWatt, 2),
      version ?? "-",
      board ?? "-",
      backend ?? "-",
      warnings.join("; "),
    ].map(printable),
  );
  return columns([
    ["DEVICE", "STATE", "FPS", "W", "FPS/W", "VERSION", "BOARD", "BACKEND", "WARNINGS"],
    ...rows,
  ]);
}

/** Returns the line below the table. Devices without a measured power do not count in the watts. */
export function summary(devices: readonly FleetDevice[]): string {
  const states = new Map<string, number>();
  for (const { state } of devices) states.set(state, (states.get(state) ?? 0) + 1);
  const sum = (pick: (device: FleetDevice) => number | null) =>
    devices.reduce((total, device) => total + (pick(device) ?? 0), 0);
  const counts = [...states].map(([state, count]) => `${count} ${printable(state)}`).join(", ");
  const measured = devices.filter(({ watts }) => watts !== null).length;
  const power = measured > 0 ? `, ${sum(({ watts }) => watts).toFixed(1)} W of ${measured}` : "";
  return `${devices.length} ${devices.length === 1 ? "device" : "devices"}: ${counts || "none"}; ${sum(({ fps }) => fps).toFixed(1)} fps together${power}`;
}

/** Prints the table of the devices, or the devices as JSON. */
export function show(fleet: Pick<Fleet, "devices" | "overlooked">, json: boolean | undefined): void {
  const devices = fleet.devices();
  if (json) {
    printJson({ devices, overlooked: fleet.overlooked });
    return;
  }
  const { stdout } = process;
  for (const line of table(devices)) printLine(stdout.isTTY ? cutToTerminal(line, stdout) : line);
  printLine(summary(devices));
  if (fleet.overlooked > 0) printLine(`messages of further devices: ${fleet.overlooked}`);
}

/** Waits for `seconds`, or until `signal` is aborted, and calls `onHalf` after half of them. */
async function listen(
  { seconds, watch }: FleetOptions,
  signal: AbortSignal,
  onHalf: () => void,
): Promise<void> {
  const progress = new Progress();
  for (let step = 0; step < LISTEN_STEPS && !signal.aborted; step++) {
    if (step === LISTEN_STEPS / 2) onHalf();
    const left = (seconds * (LISTEN_STEPS - step)) / LISTEN_STEPS;
    if (watch !== true) progress.show(step, LISTEN_STEPS, "listening to the broker", left);
    await delay((1000 * seconds) / LISTEN_STEPS, undefined, { signal }).catch(() => {});
  }
  progress.clear();
}

async function showFleet(url: string, options: FleetOptions): Promise<void> {
  checkBrokerUrl(url, "URL");
  const credentials = credentialsFrom(options);
  const consumer = connectConsumer(url, { base: options.base, streams: [], ...credentials });
  const fleet = new Fleet();
  fleet.follow(consumer);
  const ending = new AbortController();
  const end = () => ending.abort();
  let failed: DepthwattError | undefined;
  consumer.on("status", ({ connected, reason, error }) => {
    // The end of the command closes the connection, which is no news.
    if (!connected && options.watch && !ending.signal.aborted) note(reason);
    if (error === undefined) failed = undefined;
    else failed = error;
    if (error !== undefined && !error.retryable) ending.abort();
  });
  for (const name of END_SIGNALS) process.once(name, end);
  try {
    const first = await consumer.firstAttempt;
    if (!first.connected && !options.watch)
      throw (
        (first.error && withFlagsInHint(first.error)) ??
        new DepthwattError("BROKER_UNREACHABLE", first.reason)
      );
    do {
      await listen(options, ending.signal, () => {
        for (const { device, state } of fleet.devices()) if (state === "unknown") consumer.ask(device);
      });
      if (options.watch && process.stdout.isTTY && !options.json) printLine("\u001b[H\u001b[2J".trimEnd());
      if (failed !== undefined && !failed.retryable) throw withFlagsInHint(failed);
      show(fleet, options.json);
      // Devices may be missing from the table.
      if (failed !== undefined && !options.watch) throw withFlagsInHint(failed);
    } while (options.watch && !ending.signal.aborted);
  } finally {
    for (const name of END_SIGNALS) process.off(name, end);
    await consumer.close();
  }
}

export function define(command: Command): void {
  describeArguments(command, URL_ARGUMENT);
  command
    .option("--seconds <n>", "seconds to listen before the table is shown", secondsUpTo(3600), 3)
    .option("--watch", "repeat until Ctrl-C")
    .action(showFleet);
  withBrokerAccess(command);
  withJson(command, "print the devices as one line of JSON");
  withExamples(
    command,
    "depthwatt fleet mqtt://broker.local:1883",
    "depthwatt fleet mqtt://broker.local:1883 --watch",
  );
}
