// SPDX-License-Identifier: Apache-2.0
// depthwatt batch: disparity maps of whole archives of pairs, on one machine or on many.
import { existsSync, realpathSync } from "node:fs";
import { availableParallelism } from "node:os";
import { type Command, Option } from "commander";
import { DepthwattError } from "../../../core/index.js";
import { numberBetween } from "../../cli/numbers.js";
import {
  type ConfigOptions,
  describeArguments,
  loadFlagConfig,
  withConfig,
  withExamples,
  withJson,
} from "../../cli/options.js";
import { note, printJson, printLine } from "../../cli/output.js";
import { Progress } from "../../cli/progress.js";
import { type SettingOptions, settingFlags, withSettingFlags } from "../../cli/setting-flags.js";
import { EXIT_SKIPPED, noteSkipped } from "../../cli/skipped.js";
import type { BatchCounts, BatchOptions } from "./batch.js";
import type { ResultFormat } from "./results.js";
import { parseShard, shardItems } from "./shard.js";
import type { BatchStage } from "./stages.js";

const SETTINGS = ["calibration", "algorithm", "numDisparities", "minDisparity", "backend"] as const;

interface BatchFlags extends ConfigOptions, SettingOptions<(typeof SETTINGS)[number]> {
  format: ResultFormat;
  shard?: string;
  ahead?: string;
  queue?: string;
  enqueue?: boolean;
  again?: boolean;
  ackWait?: string;
  json?: boolean;
}

const MAX_SKIPPED_NOTES = 20;
const ACK_WAIT_SECONDS = "30";
const FLAGS = { enqueue: "--enqueue", ackWait: "--ack-wait" } as const;

const busy = (occupancy: Record<BatchStage, number>) =>
  Object.entries(occupancy)
    .map(([stage, percent]) => `${stage} ${percent.toFixed(0)} %`)
    .join(", ");

const isSameFolder = (one: string, other: string) =>
  existsSync(one) && existsSync(other) && realpathSync(one) === realpathSync(other);

async function run(input: string, output: string, flags: BatchFlags): Promise<void> {
  const { config } = loadFlagConfig(flags, settingFlags(flags));
  for (const name of ["enqueue", "ackWait"] as const)
    if (flags.queue === undefined && flags[name] !== undefined)
      throw new DepthwattError("USAGE", `expected --queue with ${FLAGS[name]}, got nothing`);
  if (flags.again && !flags.enqueue)
    throw new DepthwattError("USAGE", "expected --enqueue with --again, got nothing");
  if (isSameFolder(input, output))
    throw new DepthwattError(
      "USAGE",
      `expected another folder than the archive for the results, got ${output}`,
    );
  const shard = flags.queue === undefined ? parseShard(flags.shard, process.env) : undefined;
  if (flags.queue !== undefined && flags.shard !== undefined)
    throw new DepthwattError("USAGE", "expected --shard or --queue, got both");
  const [{ listArchive }, { checkFree, resultSettings, claimFolder }] = await Promise.all([
    import("./archive.js"),
    import("./results.js"),
  ]);
  // Before the folder is made and claimed, which a mistyped archive should not do. A worker of a queue lists nothing.
  const archive = flags.queue === undefined || flags.enqueue ? await listArchive(input) : undefined;
  // Results of a queue are named after the content of their images.
  if (archive !== undefined && flags.queue === undefined)
    checkFree(
      output,
      archive.pairs.map(({ name }) => `${name}.${flags.format}`),
    );
  const key = await claimFolder(output, resultSettings(config, flags.format));
  const progress = new Progress();
  const options: BatchOptions = {
    config,
    input,
    output,
    format: flags.format,
    note: once(progress),
    ahead: numberBetween("--ahead", flags.ahead ?? String(2 + Math.min(6, availableParallelism())), 1, 64),
    onProgress: ({ pairs, written, kept, skipped }, occupancy) =>
      progress.show(
        written + kept + sum(skipped),
        flags.queue === undefined ? pairs : undefined,
        busy(occupancy),
      ),
    onSkip: noteSkipped(progress, MAX_SKIPPED_NOTES),
  };
  const began = performance.now();
  const seconds = () => Math.round(performance.now() - began) / 1000;
  if (flags.queue !== undefined) {
    const { enqueue, workQueue } = await import("./queue.js");
    const queue = {
      ...options,
      url: flags.queue,
      key,
      onReturn: noteSkipped(progress, MAX_SKIPPED_NOTES, "returned to the queue"),
      ackWaitSeconds: numberBetween("--ack-wait", flags.ackWait ?? ACK_WAIT_SECONDS, 1, 86_400),
    };
    if (archive !== undefined) {
      const { pairs, unmatched } = archive;
      const fresh = await enqueue(pairs, queue, flags.again ?? false);
      if (flags.json) printJson({ pairs: pairs.length, enqueued: fresh, unmatched });
      else printLine(`${fresh} of ${pairs.length} pairs are new in the queue`);
      return;
    }
    const done = await workQueue(queue).finally(() => progress.clear());
    if (done.counts.returned > 0) note(`${done.counts.returned} deliveries went back into the queue`);
    return report(flags, { ...done.counts, seconds: seconds(), occupancy: done.occupancy, unmatched: 0 });
  }
  const { runBatch } = await import("./batch.js");
  const { pairs, unmatched } = archive!;
  const { counts, occupancy } = await runBatch(shardItems(pairs, shard), options).finally(() =>
    progress.clear(),
  );
  const part = shard && { shard: `${shard.index}/${shard.of}` };
  report(flags, { ...counts, ...part, unmatched, seconds: seconds(), occupancy });
}

const sum = (counts: Record<string, number>) =>
  Object.values(counts).reduce((total, count) => total + count, 0);

/** Passes a notice that holds for every pair only once. */
function once(progress: Progress): (text: string) => void {
  const said = new Set<string>();
  return (text) => {
    if (said.has(text)) return;
    said.add(text);
    progress.clear();
    note(text);
  };
}

type Summary = BatchCounts & { seconds: number; occupancy: Record<BatchStage, number>; unmatched: number };

function report(flags: BatchFlags, summary: Summary): void {
  const { pairs, written, kept, skipped, seconds, occupancy, unmatched } = summary;
  if (flags.json) printJson(summary);
  else {
    const left = Object.entries(skipped).map(([code, count]) => `${count} ${code}`);
    printLine(
      `${pairs} pairs in ${seconds.toFixed(1)} s: ${written} written, ${kept} there already, ` +
        `${left.length === 0 ? "none skipped" : `skipped: ${left.join(", ")}`}, ${unmatched} images without a partner`,
    );
    printLine(`busy: ${busy(occupancy)}`);
  }
  if (sum(skipped) > 0) process.exitCode = EXIT_SKIPPED;
}

export function define(command: Command): void {
  describeArguments(command, {
    in: "folder with dataset.json, left/ and right/, mav0/, or folders that contain these",
    out: "folder for the disparity maps, named as the pairs",
  });
  withSettingFlags(command, ...SETTINGS)
    .addOption(
      new Option("--format <name>", "format of the disparity maps").choices(["pfm", "png"]).default("pfm"),
    )
    .option(
      "--shard <i/n>",
      "compute part i of n; with n alone, JOB_COMPLETION_INDEX or SLURM_ARRAY_TASK_ID gives i",
    )
    .option(
      "--ahead <n>",
      "pairs in progress at a time: one is matched, the others are read, decoded or written",
    )
    .option("--queue <url>", "pull pairs from a JetStream work queue: nats://HOST:4222/STREAM")
    .option("--enqueue", "put the pairs of <in> into the queue, and end")
    .option("--again", "with --enqueue: put all pairs without a result into the queue, also those given up")
    .option(
      "--ack-wait <s>",
      `seconds after which a dead worker's pair is delivered again (default: ${ACK_WAIT_SECONDS})`,
    );
  withExamples(
    withJson(withConfig(command), "print one JSON object at the end"),
    "depthwatt batch archive maps --num-disparities 128",
    "depthwatt batch archive maps --shard 2/8",
    "depthwatt batch archive maps --queue nats://queue:4222/NIGHT --enqueue",
    "depthwatt batch archive maps --queue nats://queue:4222/NIGHT",
  ).action(run);
}
