// SPDX-License-Identifier: Apache-2.0
// Every stage has the same files as every other, and includes no other stage.
import { posix } from "node:path";
import { filesBelow, filesIn, NATIVE_ENDINGS, readText, withoutComments } from "./tree.mjs";

const README_SECTIONS = ["## By hand", "## Cost"];

const STAGE_FOLDERS = ["cuda/rectify", "cuda/prepare", "cuda/match", "cuda/refine", "cuda/output"];

/** A stage is a folder that holds its own contract: census/census.h. */
export function findStages(root) {
  return filesIn(root, STAGE_FOLDERS, [".h"]).flatMap((path) => {
    const folder = posix.dirname(path);
    return posix.basename(folder) === posix.basename(path, ".h") ? [folder] : [];
  });
}

function missingFiles(root, stage) {
  const name = posix.basename(stage);
  const file = name.replaceAll("_", "-");
  const here = new Set(filesBelow(root, stage));
  const everywhere = (path) => filesBelow(root, posix.dirname(path)).includes(path);
  const needed = [
    [`${stage}/README.md`, here.has(`${stage}/README.md`)],
    [`${stage}/${name}.ref.cc`, here.has(`${stage}/${name}.ref.cc`)],
    [
      `${stage}/${name}.inl.h or ${name}.cc`,
      here.has(`${stage}/${name}.inl.h`) || here.has(`${stage}/${name}.cc`),
    ],
    [`${stage}/${name}.node.inl.h`, here.has(`${stage}/${name}.node.inl.h`)],
    [`test/stages/${file}.test.ts`, everywhere(`test/stages/${file}.test.ts`)],
    [`bench/stages/${file}.bench.ts`, everywhere(`bench/stages/${file}.bench.ts`)],
  ];
  return needed.filter(([, there]) => !there).map(([path]) => `${stage}: ${path} is missing`);
}

function readmeProblems(root, stage) {
  const path = `${stage}/README.md`;
  if (!filesBelow(root, stage).includes(path)) return [];
  const text = readText(root, path);
  const name = posix.basename(stage);
  const problems = README_SECTIONS.filter((heading) => !text.includes(`\n${heading}\n`)).map(
    (heading) => `${path}: the section "${heading}" is missing`,
  );
  if (!text.startsWith(`# ${name}: `)) problems.push(`${path}: expected it to begin with "# ${name}: "`);
  return problems;
}

/** A matcher's adapters, and its definition as a whole: they put stages one after the other, and compute nothing themselves. */
const composesStages = (path) =>
  /\.(cpu\.cc|gpu\.cu|stage\.cc|stage\.cu|matcher\.ref\.cc|node\.inl\.h)$/.test(path);

/** Vector code that fuses two stages: the first one includes the second one's. */
const FUSED = { "cuda/match/sgm/sgm.inl.h": "cuda/match/select/select.inl.h" };

function includeProblems(root, stage, stages) {
  return filesIn(root, [stage], NATIVE_ENDINGS).flatMap((path) => {
    if (composesStages(path)) return [];
    const includes = [...withoutComments(readText(root, path)).matchAll(/^\s*#include\s+"([^"]+)"/gm)];
    return includes.flatMap(([, included]) => {
      const target = posix.join(posix.dirname(path), included);
      if (target === FUSED[path]) return [];
      const other = stages.find((candidate) => candidate !== stage && target.startsWith(`${candidate}/`));
      return other ? [`${path}: a stage includes no other stage, but this one includes ${target}`] : [];
    });
  });
}

/** Headers that the definition and the fast form may both read: the one matching cost, and tables made of integers. */
const SHARED_DEFINITIONS = new Set(["cuda/match/cost/hamming.h", "cuda/match/cbca/exponential_tables.h"]);

/** Headers for references alone. */
const isForReferences = (path) => path.endsWith(".ref.h");

/** A twin that calls or includes the other proves nothing: the definition stands alone, and fast code never asks it. */
function referenceProblems(root, stage) {
  const contract = `${stage}/${posix.basename(stage)}.h`;
  return filesIn(root, [stage], NATIVE_ENDINGS).flatMap((path) => {
    const text = withoutComments(readText(root, path));
    if (/\.(matcher\.ref\.cc|node\.inl\.h)$/.test(path)) return [];
    const included = [...text.matchAll(/^\s*#include\s+"([^"]+)"/gm)].map(([, name]) =>
      posix.join(posix.dirname(path), name),
    );
    if (path.endsWith(".ref.cc")) {
      return included
        .filter(
          (target) => target !== contract && !SHARED_DEFINITIONS.has(target) && !isForReferences(target),
        )
        .map(
          (target) =>
            `${path}: a reference shares no arithmetic with the fast code, but it includes ${target}`,
        );
    }
    const shared = included.find(isForReferences);
    if (shared !== undefined) return [`${path}: only references include ${shared}`];
    if (path === contract) return [];
    const called = /\b\w+Reference\s*\(/.exec(text);
    return called ? [`${path}: fast code never calls a reference, but it has ${called[0]}`] : [];
  });
}

export default {
  name: "stage shape",
  run(root) {
    const stages = findStages(root);
    const problems = stages.flatMap((stage) => [
      ...missingFiles(root, stage),
      ...readmeProblems(root, stage),
      ...includeProblems(root, stage, stages),
      ...referenceProblems(root, stage),
    ]);
    return { found: `${stages.length} stages`, problems };
  },
};
