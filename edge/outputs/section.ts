// SPDX-License-Identifier: Apache-2.0
// The section `outputs` of the settings, made from the list: one section for each kind, and what all of them share.
import { z } from "zod";
import type { BrokenSetting } from "../contracts/broken-setting.js";
import type { OutputDefinition } from "../contracts/output.js";
import { section, setting } from "../contracts/setting.js";
import { OUTPUTS } from "./list.js";

type List = typeof OUTPUTS;
export type OutputKind = keyof List;

/** In the order of the list: the first one that takes frames is the one whose latency is in `latencyMs`. */
export const OUTPUT_KINDS = Object.keys(OUTPUTS) as OutputKind[];

/** Returns the definition of a kind; only here are its settings cast to its own type. */
export function outputDefinition(kind: OutputKind): OutputDefinition<z.ZodObject> {
  return OUTPUTS[kind] as unknown as OutputDefinition<z.ZodObject>;
}

type Sections = { [Kind in OutputKind]: List[Kind]["settings"] };

export const outputsSection = section("Where results go; every output has its own settings.", {
  metricsIntervalMs: setting(z.int().min(100).max(600_000), {
    default: 1000,
    unit: "ms",
    takesEffect: "live",
    description: "Time between two metrics, which every output gets, and between two live lines.",
  }),
  ...(Object.fromEntries(OUTPUT_KINDS.map((kind) => [kind, OUTPUTS[kind].settings])) as Sections),
});

/** Every rule between the settings of one output that is broken. */
export function brokenOutputs(outputs: Record<OutputKind, object>): BrokenSetting[] {
  return OUTPUT_KINDS.flatMap((kind) => {
    const broken = outputDefinition(kind).broken?.(outputs[kind] as never) ?? [];
    return broken.map(({ keys, text }) => ({
      keys: keys.map((name) => `outputs.${kind}.${name}`) as BrokenSetting["keys"],
      text,
    }));
  });
}
