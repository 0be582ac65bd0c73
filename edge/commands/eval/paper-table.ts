// SPDX-License-Identifier: Apache-2.0
// The papers' tables: ours, and below it what the paper prints.
import type { Evaluation } from "../../eval/evaluate.js";
import { PUBLISHED, PUBLISHED_MASKS } from "./published.js";

export interface PaperRow {
  preset: string;
  evaluation: Evaluation;
}

/** As the papers count them: width x height x disparities of the whole images, at any matched resolution. */
export function megaDisparitiesPerSecond({ scenes }: Evaluation): number {
  const evaluated = scenes.reduce(
    (sum, { width, height, numDisparities }) => sum + width * height * numDisparities,
    0,
  );
  const milliseconds = scenes.reduce((sum, scene) => sum + scene.milliseconds, 0);
  return evaluated / milliseconds / 1000;
}

const shown = (value: number | null | undefined, digits: number) =>
  value == null ? "-" : value.toFixed(digits);

/** The masks of a scene that are reported: those of Middlebury v2 where it has them, else all that has a ground truth. */
function publishedMasks(masks: Evaluation["scenes"][number]["masks"]): string[] {
  const known = PUBLISHED_MASKS.filter((name) => name in masks);
  return known.length > 0 ? known : ["valid"];
}

/** Rows for a person, headings first; each preset has a row of ours, and one of the paper's where that prints any of it. */
export function paperTable(rows: readonly PaperRow[]): string[][] {
  const { scenes } = rows[0]!.evaluation;
  const places = scenes.flatMap(({ name, masks }) => publishedMasks(masks).map((mask) => ({ name, mask })));
  const heading = [
    "preset",
    "of",
    ...places.map(({ name, mask }) => `${name} ${mask}`),
    "average",
    "ms",
    "MDE/s",
  ];
  const lines = rows.flatMap(({ preset, evaluation }) => {
    const { middleburyV2BadPercent, masks, milliseconds } = evaluation.mean;
    const ours = places.map(({ name, mask }) => {
      const scene = evaluation.scenes.find((one) => one.name === name)!;
      return shown(scene.masks[mask]?.badPercent, 2);
    });
    const average = middleburyV2BadPercent ?? masks.valid?.badPercent;
    const line = [preset, "ours", ...ours, shown(average, 2), shown(milliseconds, 1)];
    const published = PUBLISHED[preset];
    const own = [...line, shown(megaDisparitiesPerSecond(evaluation), 0)];
    if (published === undefined) return [own];
    const theirs = places.map(({ name, mask }) => {
      const at = PUBLISHED_MASKS.indexOf(mask as (typeof PUBLISHED_MASKS)[number]);
      return shown(at < 0 ? undefined : published.scenes[name]?.[at], 2);
    });
    const rate = shown(published.megaDisparitiesPerSecond?.value, 1);
    return [own, ["", "published", ...theirs, shown(published.averagePercent, 2), "-", rate]];
  });
  return [heading, ...lines];
}

/** Where each published row is from, and what else the paper says. */
export function paperNotes(rows: readonly PaperRow[]): string[] {
  return rows.flatMap(({ preset }) => {
    const published = PUBLISHED[preset];
    if (published === undefined) return [];
    const { from, megaDisparitiesPerSecond: rate, also } = published;
    const on = rate === undefined ? "" : `; MDE/s on ${rate.on}`;
    return [`${preset}: ${from}${on}${also === undefined ? "" : `; ${also}`}`];
  });
}
