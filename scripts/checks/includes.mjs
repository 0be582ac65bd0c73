// SPDX-License-Identifier: Apache-2.0
// Checks includes in C++ and CUDA, which go the same way as imports: core includes no other folder; power, camera and
// cuda include core; addon.cc all. No file includes itself by way of others.
import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { filesBelow, filesIn, NATIVE_ENDINGS, readText, SOURCE_FOLDERS, withoutComments } from "./tree.mjs";

/** Folder -> folders it may include. addon.cc, tests and scripts may include every one of these. */
const MAY_INCLUDE = {
  core: [],
  power: ["core"],
  camera: ["core"],
  cuda: ["core"],
};

/** Folders that others must not include, with the folders, files and endings of files that may. */
const CLOSED = {
  "cuda/check": ["cuda/check", "bench/model", "test"],
  "cuda/engine/binding": ["cuda/engine/binding", ".node.inl.h", ".node.h", "addon.cc", "test"],
  "camera/v4l2": ["camera/v4l2"],
};

/** The two backends know nothing of each other. */
const APART = [
  ["cuda/cpu", "cuda/gpu"],
  ["cuda/gpu", "cuda/cpu"],
];

const within = (path, folder) => path === folder || path.startsWith(`${folder}/`);

/** Headers that scripts/native-sources.mjs writes. */
const GENERATED = "build/generated/";

/** [included as written, path from the root or undefined] of every include in quotation marks but those of generated headers. */
export function listIncludes(root, path) {
  const text = withoutComments(readText(root, path));
  return [...text.matchAll(/^\s*#\s*include\s+"([^"]+)"/gm)].flatMap(([, written]) => {
    const candidates = [posix.join(posix.dirname(path), written), posix.normalize(written)];
    if (candidates.some((candidate) => candidate.startsWith(GENERATED))) return [];
    return [[written, candidates.find((candidate) => existsSync(join(root, candidate)))]];
  });
}

function directionProblem(path, target) {
  const [from, to] = [path.split("/")[0], target.split("/")[0]];
  // Its own package: what it includes is packed with it.
  if (within(path, "camera/v4l2") && !within(target, "camera/v4l2"))
    return "v4l2-camera includes nothing of depthwatt";
  const allowed = MAY_INCLUDE[from];
  if (allowed !== undefined && to !== from && !allowed.includes(to)) return `${from} must not include ${to}`;
  for (const [folder, may] of Object.entries(CLOSED)) {
    if (within(target, folder) && !may.some((one) => within(path, one) || path.endsWith(one)))
      return `nothing else includes ${folder}`;
  }
  const apart = APART.find(([one, other]) => within(path, one) && within(target, other));
  return apart === undefined ? undefined : `${apart[0]} must not include ${apart[1]}`;
}

/** One line per circle, which begins at its first file in the alphabet. */
function circles(edges) {
  const found = [];
  const done = new Set();
  const visit = (path, way) => {
    const at = way.indexOf(path);
    if (at >= 0) {
      const circle = way.slice(at);
      const first = circle.indexOf([...circle].sort()[0]);
      found.push([...circle.slice(first), ...circle.slice(0, first), circle[first]].join(" -> "));
      return;
    }
    if (done.has(path)) return;
    for (const target of edges.get(path) ?? []) visit(target, [...way, path]);
    done.add(path);
  };
  for (const path of [...edges.keys()].sort()) visit(path, []);
  return [...new Set(found)].map((circle) => `include circle: ${circle}`);
}

export default {
  name: "include direction",
  run(root) {
    const problems = [];
    const edges = new Map();
    let count = 0;
    const top = filesBelow(root).filter((path) => path === "addon.cc");
    for (const path of [
      ...top,
      ...filesIn(root, [...SOURCE_FOLDERS, "bench", "packaging", "scripts", "test"], NATIVE_ENDINGS),
    ]) {
      edges.set(path, []);
      for (const [written, target] of listIncludes(root, path)) {
        count++;
        if (target === undefined) {
          problems.push(
            `${path}: "${written}" leads nowhere; a header of the system stands in angle brackets`,
          );
          continue;
        }
        edges.get(path).push(target);
        const problem = directionProblem(path, target);
        if (problem !== undefined) problems.push(`${path}: ${problem} (${written})`);
      }
    }
    return { found: `${count} includes`, problems: [...problems, ...circles(edges)] };
  },
};
