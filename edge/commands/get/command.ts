// SPDX-License-Identifier: Apache-2.0
// depthwatt get: settings of a running depthwatt, read over its broker.
import type { Command } from "commander";
import { ask, type ControlOptions, printableText, show, withAccess } from "../../cli/ask-device.js";
import { describeArguments, withExamples } from "../../cli/options.js";
import { printLine } from "../../cli/output.js";

async function get(keys: string[], options: ControlOptions): Promise<void> {
  const answer = await ask(options, "get", keys.length === 0 ? {} : { keys });
  const only = keys.length === 1 && !options.json ? answer.values?.[keys[0]!] : undefined;
  if (only === undefined) show(answer, options);
  else printLine(printableText(only));
}

export function define(command: Command): void {
  describeArguments(command, { key: "such as match.numDisparities" });
  command.action(get);
  withExamples(
    withAccess(command),
    "depthwatt get match.numDisparities --device robot-1 --secret-file control.secret",
    "depthwatt get --device robot-1 --broker mqtts://broker.local --username anna --password-file p --json",
  );
}
