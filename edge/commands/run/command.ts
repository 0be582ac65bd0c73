// SPDX-License-Identifier: Apache-2.0
// depthwatt run: the main job. Pairs in, depth out over MQTT, figures on a live line or as one JSON object at the end.
import type { Command } from "commander";
import { withConfig, withExamples, withJson } from "../../cli/options.js";
import { type RunOptions, run, withRunOptions } from "../../cli/run/run.js";

export function define(command: Command): void {
  withExamples(
    withJson(withConfig(withRunOptions(command)), "print one JSON object at the end instead of live lines"),
    "depthwatt run",
    "depthwatt run --left recording/left --right recording/right --calibration calibration.json --broker mqtt://broker:1883",
    "depthwatt run --frames 60 --json",
  ).action((options: RunOptions) => run(options));
}
