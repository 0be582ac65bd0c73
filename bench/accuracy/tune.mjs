// SPDX-License-Identifier: Apache-2.0
// Settings by measurement: percent bad of each value, or of each combination, on the research sets and on rendered rooms without texture.
//   node bench/accuracy/tune.mjs --vary KEY=V1,V2... [--vary ...] [--descend] [--set key=value]... [--preset NAME]
//                         [--sets NAME,NAME] [--noise SIGMA] [--out FILE]
// Every combination of the values is tried; with --descend one key after the other, each time the best value of it, until none gets better.
// Better is what has the smaller mean over the sets of its error in proportion to that of the settings as given, with no bare room counted.
// --noise adds normal noise to the research pairs. bench/leave-one-out.mjs reports what a choice is worth on scenes that had no say in it.
// Needs DEPTHWATT_DATA for the research sets; the bare rooms are rendered.
import { mean } from "../../dist/core/statistics.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";
import { noisy } from "./perturbed.mjs";
import { bareScenes } from "./room-scenes.mjs";
import { measureSets, researchSets } from "./tuning.mjs";

const BARE = "bare";

const { values } = scriptArguments({
  options: {
    vary: { type: "string", multiple: true, default: [] },
    set: { type: "string", multiple: true, default: [] },
    preset: { type: "string" },
    sets: { type: "string" },
    noise: { type: "string" },
    descend: { type: "boolean", default: false },
    ...RESULT_OPTIONS,
  },
});
const varied = values.vary.map((text) => {
  const [key, list] = text.split("=");
  if (!list) throw new Error(`expected --vary KEY=VALUE,VALUE, got "${text}"`);
  return { key, choices: list.split(",") };
});

async function scenesBySet() {
  const all = { ...(await researchSets()), [BARE]: await bareScenes() };
  const asked = values.sets?.split(",") ?? Object.keys(all);
  const unknown = asked.filter((name) => !(name in all));
  if (unknown.length > 0)
    throw new Error(`expected sets of ${Object.keys(all).join(", ")}, got ${unknown.join(", ")}`);
  const sigma = Number(values.noise ?? 0);
  const noisyPair = (scene) =>
    sigma === 0 || scene.constructed
      ? scene
      : { ...scene, left: noisy(scene.left, sigma, 1), right: noisy(scene.right, sigma, 2) };
  return Object.fromEntries(asked.map((name) => [name, all[name].map(noisyPair)]));
}

const sets = await scenesBySet();
const names = Object.keys(sets);
const tried = new Map();

/** @param settings the varied keys' values, by key; measured once */
async function tryOut(settings) {
  const set = [...values.set, ...Object.entries(settings).map(([key, value]) => `${key}=${value}`)];
  const known = tried.get(set.join(" "));
  if (known !== undefined) return known;
  const figures = await measureSets(sets, {
    set,
    ...(values.preset !== undefined && { preset: values.preset }),
  });
  const row = { settings, figures };
  tried.set(set.join(" "), row);
  const cells = [
    ...names.map((name) => figures.sets[name]),
    figures.at80 ?? Number.NaN,
    mean(Object.values(figures.unsure)),
  ];
  console.log(`${cells.map((value) => value.toFixed(2).padStart(6)).join(" ")}  ${set.join(" ")}`);
  return row;
}

const counted = names.filter((name) => name !== BARE);
/** Compares a row with the first one: the mean over the sets of error over error. */
const relativeError = (row, start) =>
  mean(
    (counted.length > 0 ? counted : names).map((name) => row.figures.sets[name] / start.figures.sets[name]),
  );
const findBest = (rows, cost) => rows.reduce((best, row) => (cost(row) < cost(best) ? row : best));

async function grid(start) {
  let combinations = [{}];
  for (const { key, choices } of varied) {
    combinations = combinations.flatMap((settings) =>
      choices.map((value) => ({ ...settings, [key]: value })),
    );
  }
  for (const settings of combinations) await tryOut(settings);
  return findBest([...tried.values()], (row) => relativeError(row, start));
}

async function descend(start) {
  let best = start;
  for (let changed = true; changed; ) {
    changed = false;
    for (const { key, choices } of varied) {
      for (const value of choices) {
        const row = await tryOut({ ...best.settings, [key]: value });
        if (relativeError(row, start) >= relativeError(best, start)) continue;
        best = row;
        changed = true;
      }
    }
  }
  return best;
}

console.log(`${names.join(", ")}, wrong at 80 %, confidence of bare walls; settings`);
const start = await tryOut({});
const best = values.descend ? await descend(start) : await grid(start);
console.log(
  `\nbest, ${relativeError(best, start).toFixed(4)} of the first: ${JSON.stringify(best.settings)}`,
);
if (values.out !== undefined) {
  const rows = [...tried.values()].map(({ settings, figures }) => ({
    kind: "measured",
    settings,
    ...figures,
  }));
  const chosen = { asked: values, best: best.settings, rows };
  writeResult("tuning", values, { what: "settings by error", ...chosen });
}
