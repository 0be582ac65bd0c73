// SPDX-License-Identifier: Apache-2.0
// The section `source` of the settings, made from the list: the kind, and its own section for each kind.
import { z } from "zod";
import { section, setting } from "../contracts/setting.js";
import type { BrokenSetting, SourceDefinition } from "../contracts/source.js";
import * as list from "./list.js";

const SOURCES = { ...list };
type List = typeof SOURCES;
export type SourceKind = keyof List;

export const SOURCE_KINDS = Object.keys(SOURCES) as [SourceKind, ...SourceKind[]];

/** Returns the definition of a kind; only here are its settings cast to its own type. */
export function sourceDefinition(kind: SourceKind): SourceDefinition<z.ZodObject> {
  return SOURCES[kind] as unknown as SourceDefinition<z.ZodObject>;
}

type Sections = { [Kind in SourceKind]: List[Kind]["settings"] };

export const sourceSection = section("Where image pairs come from; each kind has its own settings.", {
  kind: setting(z.enum(SOURCE_KINDS), {
    default: "synthetic",
    takesEffect: "live",
    description: `${SOURCE_KINDS.map((kind) => `${kind}: ${SOURCES[kind].summary}`).join("; ")}.`,
  }),
  ...(Object.fromEntries(SOURCE_KINDS.map((kind) => [kind, SOURCES[kind].settings])) as Sections),
});

/**
 * Returns the kind that --left or --side-by-side means without --source: the kind that claims the path, else a
 * recording.
 */
export function kindOfPath(path: string): SourceKind {
  return SOURCE_KINDS.find((kind) => sourceDefinition(kind).takesPath?.(path)) ?? "replay";
}

/** The settings of the chosen source against its own rule. */
export function brokenSource(source: z.infer<typeof sourceSection>): BrokenSetting | undefined {
  const { kind } = source;
  return sourceDefinition(kind).broken?.(source[kind], `source.${kind}`);
}
