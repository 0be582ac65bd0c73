// SPDX-License-Identifier: Apache-2.0
// depthwatt set: settings of a running depthwatt, changed over its broker.
import type { Command } from "commander";
import { DepthwattError, printable } from "../../../core/index.js";
import { ask, type ControlOptions, show, withAccess } from "../../cli/ask-device.js";
import { describeArguments, withExamples } from "../../cli/options.js";
import { note } from "../../cli/output.js";
import { SETTING_BY_KEY, type SettingValue } from "../../config/index.js";
import { valueOfText } from "../../config/layers.js";

interface SetOptions extends ControlOptions {
  save?: boolean;
}

/** KEY=VALUE by this program's own schema; a key that only the device knows is read as YAML would. */
function assignment(word: string): [key: string, value: SettingValue | null] {
  const equals = word.indexOf("=");
  if (equals < 1)
    throw new DepthwattError("USAGE", `expected KEY=VALUE, got ${JSON.stringify(word.slice(0, 100))}`, {
      hint: "For example: depthwatt set match.sgm.paths=8 --device robot-1",
    });
  const key = word.slice(0, equals).trim();
  const text = word.slice(equals + 1).trim();
  const setting = SETTING_BY_KEY.get(key);
  return [key, setting === undefined ? text : (valueOfText(setting, text) ?? null)];
}

function assignments(words: readonly string[]): Record<string, SettingValue | null> {
  const values = new Map<string, SettingValue | null>();
  for (const [key, value] of words.map(assignment)) {
    if (values.has(key))
      throw new DepthwattError(
        "USAGE",
        `expected each key once, got ${JSON.stringify(key.slice(0, 100))} twice`,
      );
    values.set(key, value);
  }
  return Object.fromEntries(values);
}

async function set(words: string[], options: SetOptions): Promise<void> {
  const { preset, ...values } = assignments(words);
  const answer = await ask(options, "set", {
    ...(preset !== undefined && { preset }),
    values,
    ...(options.save && { save: true }),
  });
  show(answer, options);
  const { file, overridden = [] } = (answer.saved ?? {}) as { file?: string; overridden?: string[] };
  if (file === undefined) return;
  note(printable(`saved to ${file} on ${options.device}`));
  if (overridden.length > 0)
    note(printable(`at the next start a flag or a variable still sets: ${overridden.join(", ")}`));
}

export function define(command: Command): void {
  describeArguments(command, {
    "key=value":
      "nothing after = unsets a setting that may have no value; preset=NAME sets all values of a preset, which others given here override",
  });
  command
    .option("--save", "also write the values to the device's configuration file, and keep its comments")
    .action(set);
  withExamples(
    withAccess(command),
    "depthwatt set match.algorithm=cbca refine.median=false --device robot-1 --secret-file control.secret",
    "depthwatt set preset=esaw-9 refine.fill=off --device robot-1 --secret-file control.secret",
    "depthwatt set power.budgetWatts=10 --device robot-1 --secret-file control.secret --save",
  );
}
