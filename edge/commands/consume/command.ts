// SPDX-License-Identifier: Apache-2.0
// depthwatt consume: subscribes to a stream, checks every frame, reports rate, latency and losses, saves frames.
import { type Command, Option } from "commander";
import {
  type Consumer,
  type ConsumerSummary,
  connectConsumer,
  DEFAULT_MAX_PIXELS,
  type ReceivedFrame,
  StreamStatistics,
} from "../../../clients/javascript/src/index.js";
import { STREAM_CODES, type StreamName } from "../../../core/frame/frame-format.js";
import { DepthwattError, printable } from "../../../core/index.js";
import type { BrokerStatus } from "../../../core/mqtt/connection.js";
import {
  type BrokerOptions,
  credentialsFrom,
  URL_ARGUMENT,
  withBrokerAccess,
  withFlagsInHint,
} from "../../cli/broker-flags.js";
import { cutToTerminal } from "../../cli/live-line.js";
import { secondsUpTo, wholeNumberFrom } from "../../cli/numbers.js";
import { describeArguments, withExamples, withJson } from "../../cli/options.js";
import { END_SIGNALS, note, printJson, printLine } from "../../cli/output.js";
import { checkBrokerUrl } from "../../mqtt/credentials.js";
import { FrameSaver, SAVE_FORMATS, type SaveFormat } from "./frame-saver.js";

interface ConsumeOptions extends BrokerOptions {
  device?: string;
  stream: StreamName;
  save?: string;
  format: SaveFormat;
  frames?: number;
  timeout?: number;
  maxPixels?: number;
  json?: boolean;
}

const LIVE_LINE_MS = 500;
/** Other devices named at most. */
const MAX_OTHERS = 20;
// Timers hold milliseconds in 31 bits, and end at once beyond that.
const MAX_TIMEOUT_SECONDS = 2_147_483;

function liveLine(summary: ConsumerSummary): string {
  const fps = typeof summary.fps === "number" ? `${summary.fps.toFixed(1)} fps` : "- fps";
  const { latencyMs } = summary;
  const latency =
    "p50" in latencyMs ? `${latencyMs.p50.toFixed(1)} ms (p95 ${latencyMs.p95.toFixed(1)})` : "-";
  const { frames, gaps, crcErrors, invalid } = summary;
  const refused = invalid > 0 ? `  refused ${invalid}` : "";
  return `${frames} frames  ${fps}  latency ${latency}  lost ${gaps}  crc errors ${crcErrors}${refused}`;
}

/** Prints the summary for a person. */
export function report(summary: ConsumerSummary): void {
  const { frames, seconds, bytes, latencyMs, energy } = summary;
  printLine(liveLine(summary));
  printLine(`${seconds} s, ${bytes} bytes, ${frames > 0 ? Math.round(bytes / frames) : 0} bytes a frame`);
  if ("joules" in energy) {
    const { joulesPerFrame, joulesUncertainty, joules } = energy;
    const one =
      typeof joulesUncertainty === "number" ? `+- ${joulesUncertainty} J` : "of unknown uncertainty";
    printLine(`${joulesPerFrame} J a frame (one frame ${one}), ${joules} J in ${energy.seconds} s`);
  } else printLine(`energy unknown: ${energy.reason}`);
  if (!("p50" in latencyMs)) printLine(`latency unknown: ${latencyMs.reason}`);
}

/** Resolves when enough frames came or Ctrl-C was pressed; rejects when none came for `timeout` seconds. */
async function watch(
  consumer: Consumer,
  options: ConsumeOptions,
  onFrame: (frame: ReceivedFrame) => boolean,
): Promise<void> {
  let status: BrokerStatus = { connected: false, reason: "connecting" };
  let timer: NodeJS.Timeout | undefined;
  let stopListening = () => {};
  let stopNotes = () => {};
  let interrupt = () => {};
  try {
    await new Promise<void>((resolve, reject) => {
      const silent = () => {
        const topic = `${options.base}/${options.device ?? "+"}/${options.stream}`;
        const text = `no frame on ${topic} for ${options.timeout} s (${status.reason})`;
        reject(
          status.error
            ? withFlagsInHint(status.error)
            : new DepthwattError("STREAM_SILENT", text, { context: { topic } }),
        );
      };
      const restartTimer = () => {
        clearTimeout(timer);
        if (options.timeout !== undefined) timer = setTimeout(silent, options.timeout * 1000);
      };
      restartTimer();
      interrupt = resolve;
      for (const name of END_SIGNALS) process.once(name, interrupt);
      stopNotes = consumer.on("status", (news) => {
        // Each attempt that fails like the one before need not be reported again.
        if (news.reason !== status.reason && !(options.json && news.connected)) {
          note(
            news.error === undefined
              ? news.reason
              : `${news.reason}\nhint: ${withFlagsInHint(news.error).hint}`,
          );
        }
        status = news;
        // Trying again does not fix a refused password or certificate.
        if (status.error !== undefined && !status.error.retryable) reject(withFlagsInHint(status.error));
      });
      stopListening = consumer.on("frame", (frame) => {
        restartTimer();
        if (!onFrame(frame)) return;
        stopListening();
        resolve();
      });
    });
  } finally {
    clearTimeout(timer);
    stopListening();
    stopNotes();
    for (const name of END_SIGNALS) process.off(name, interrupt);
  }
}

async function consume(url: string, options: ConsumeOptions): Promise<void> {
  checkBrokerUrl(url, "URL");
  const { base, device, stream } = options;
  let chosen = device;
  const credentials = credentialsFrom(options);
  // One line for each kind of damage, for any number and content of messages.
  const damages = new Set<unknown>();
  const noteDamage = (sender: string, error: DepthwattError) => {
    const { field } = error.context;
    if (!damages.has(field)) note(printable(`${sender}/${stream}: ${error.message}`));
    damages.add(field);
  };
  const saver =
    options.save === undefined
      ? undefined
      : new FrameSaver(options.save, options.format, (error) => noteDamage(chosen ?? "?", error));
  const statistics = new StreamStatistics();
  const consumer = connectConsumer(url, {
    base,
    streams: [stream],
    ...(device === undefined ? {} : { device }),
    ...(options.maxPixels === undefined ? {} : { maxPixels: options.maxPixels }),
    ...credentials,
  });
  const others = new Set<string>();
  consumer.on("invalid", (invalid) => {
    if (invalid.crc) statistics.crcErrors++;
    else statistics.invalid++;
    noteDamage(invalid.device, invalid.error);
  });
  consumer.on("concurrentPublishers", ({ device: name, runIds }) => {
    if (name !== (chosen ?? name)) return;
    statistics.concurrentPublishers = runIds.length;
    const runs = runIds.map((runId) => runId.toString(16).padStart(8, "0")).join(" and ");
    note(printable(`${runIds.length} publishers send as ${base}/${name} at once (runs ${runs})`));
    note("hint: give each its own device name ('depthwatt run --device NAME')");
  });
  const live = process.stderr.isTTY
    ? setInterval(
        () =>
          process.stderr.write(`\r\u001b[K${cutToTerminal(liveLine(statistics.summary()), process.stderr)}`),
        LIVE_LINE_MS,
      )
    : undefined;
  try {
    await watch(consumer, options, (frame) => {
      chosen ??= frame.device;
      if (frame.device !== chosen) {
        if (others.size < MAX_OTHERS && !others.has(frame.device)) {
          note(printable(`also there, not shown: ${base}/${frame.device} (use --device)`));
          others.add(frame.device);
        }
        return false;
      }
      statistics.add(frame);
      saver?.save(frame);
      return statistics.frames === options.frames || saver?.failed === true;
    });
    await saver?.finish();
  } finally {
    clearInterval(live);
    if (live !== undefined) process.stderr.write("\r\u001b[K");
    await consumer.close();
    if (saver !== undefined) {
      const left = `skipped ${saver.skipped} (the disk was busy), ${saver.undecodable} not decodable`;
      note(`saved ${saver.saved} frames to ${options.save}, ${left}`);
    }
    if (options.json) printJson(statistics.summary());
    else report(statistics.summary());
  }
}

export function define(command: Command): void {
  describeArguments(command, URL_ARGUMENT);
  command
    .option("--device <name>", "device to read (default: the first one that sends)")
    .addOption(
      new Option("--stream <name>", "stream to read").choices(Object.keys(STREAM_CODES)).default("depth"),
    )
    .option("--frames <n>", "end after this many frames", wholeNumberFrom(1))
    .option(
      "--timeout <seconds>",
      "end with an error if no frame arrives for this long",
      secondsUpTo(MAX_TIMEOUT_SECONDS),
    )
    .option("--save <folder>", "write every frame there, and its header as a JSON file next to it")
    .addOption(
      new Option("--format <format>", "format of saved frames").choices([...SAVE_FORMATS]).default("auto"),
    )
    .action(consume);
  command.option(
    "--max-pixels <n>",
    `refuse frames that claim more pixels (default: ${DEFAULT_MAX_PIXELS})`,
    wholeNumberFrom(1),
  );
  withBrokerAccess(command);
  withJson(command, "print the summary as one line of JSON");
  withExamples(
    command,
    "depthwatt consume mqtt://127.0.0.1:1883",
    "depthwatt consume mqtt://127.0.0.1:1883 --stream disparity --frames 10 --save out --json",
  );
}
