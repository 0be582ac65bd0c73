// SPDX-License-Identifier: Apache-2.0
// Prints the greeting of run: the backend, the address of the stream, and the command that reads it.
import { qualityWords } from "../../../cuda/index.js";
import { matchParameters } from "../../config/index.js";
import type { Runtime } from "../../run/runtime.js";
import { printLine } from "../output.js";

const line = (label: string, text: string) => printLine(`${label.padEnd(9)} ${text}`.trimEnd());

/** Where to look, for a person who has just started it. */
export function greet(runtime: Runtime): void {
  const { source, engine, meter, outputs } = runtime.parts;
  const { backend, backendReason, instructionSet, threads } = engine.info;
  const match = matchParameters(runtime.config.match);
  line("source", source.description.title);
  line(
    "engine",
    `${[match.algorithm, ...qualityWords(match), `${match.numDisparities} disparities`].join(", ")} ` +
      `on ${backend} (${instructionSet}, ${threads} threads)`,
  );
  line("", backendReason.replace(/\.$/, ""));
  const { sensor } = meter;
  if ("rails" in sensor)
    line("power", `${sensor.name}: ${sensor.rails.map((rail) => rail.label).join(", ")}`);
  else line("power", "unavailable ('depthwatt doctor' says why)");
  const lines = outputs.greeting();
  for (const [label, text] of lines) line(label, text);
  if (lines.length === 0) line("outputs", "none: frames are neither published nor recorded");
}
