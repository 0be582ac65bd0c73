// SPDX-License-Identifier: Apache-2.0
// depthwatt record: a run whose result is a recording.
import { existsSync } from "node:fs";
import type { Command } from "commander";
import { DepthwattError } from "../../../core/index.js";
import { describeArguments, withConfig, withExamples, withJson } from "../../cli/options.js";
import { type RunOptions, run, withRunOptions } from "../../cli/run/run.js";

interface RecordOptions extends RunOptions {
  inputs?: boolean;
}

async function record(file: string, options: RecordOptions): Promise<void> {
  if (existsSync(file))
    throw new DepthwattError("USAGE", `expected a new file to record to, and ${file} is there already`, {
      hint: "Give another name; {time} in it is replaced by the start time.",
    });
  await run(
    // A recording is not also published, unless that is requested.
    { ...options, broker: options.broker ?? "none" },
    {
      "outputs.mcap.file": { flag: "<out.mcap>", value: file },
      "outputs.mcap.inputs": { flag: "--inputs", value: options.inputs === true ? "true" : undefined },
    },
  );
}

export function define(command: Command): void {
  describeArguments(command, {
    "out.mcap": "file to record to; {time} in it is replaced by the start time",
  });
  command.option("--inputs", "also record both captured images, so that depth can be computed again");
  withExamples(
    withJson(withConfig(withRunOptions(command)), "print one JSON object at the end instead of live lines"),
    "depthwatt record walk.mcap --left /dev/video0 --right /dev/video2 --calibration calibration.json --inputs",
    "depthwatt record 'night-{time}.mcap' --set outputs.mcap.rotateSeconds=600",
  ).action(record);
}
