// SPDX-License-Identifier: Apache-2.0
// Every room has the same files as every other, and includes no other room.
import { posix } from "node:path";
import { filesBelow, filesIn, NATIVE_ENDINGS, readText, withoutComments } from "./tree.mjs";

const README_SECTIONS = ["## By hand", "## Cost", "## Files"];

const ROOM_FOLDERS = ["cuda/rectify", "cuda/prepare", "cuda/match", "cuda/refine", "cuda/output"];

/** A room is a folder that holds its own contract: census/census.h. */
export function findRooms(root) {
  return filesIn(root, ROOM_FOLDERS, [".h"]).flatMap((path) => {
    const folder = posix.dirname(path);
    return posix.basename(folder) === posix.basename(path, ".h") ? [folder] : [];
  });
}

function missingFiles(root, room) {
  const name = posix.basename(room);
  const file = name.replaceAll("_", "-");
  const here = new Set(filesBelow(root, room));
  const everywhere = (path) => filesBelow(root, posix.dirname(path)).includes(path);
  const needed = [
    [`${room}/README.md`, here.has(`${room}/README.md`)],
    [`${room}/${name}.ref.cc`, here.has(`${room}/${name}.ref.cc`)],
    [
      `${room}/${name}.inl.h or ${name}.cc`,
      here.has(`${room}/${name}.inl.h`) || here.has(`${room}/${name}.cc`),
    ],
    [`${room}/${name}.node.inl.h`, here.has(`${room}/${name}.node.inl.h`)],
    [`test/rooms/${file}.test.ts`, everywhere(`test/rooms/${file}.test.ts`)],
    [`bench/stages/${file}.bench.ts`, everywhere(`bench/stages/${file}.bench.ts`)],
  ];
  return needed.filter(([, there]) => !there).map(([path]) => `${room}: ${path} is missing`);
}

function readmeProblems(root, room) {
  const path = `${room}/README.md`;
  if (!filesBelow(root, room).includes(path)) return [];
  const text = readText(root, path);
  const name = posix.basename(room);
  const problems = README_SECTIONS.filter((heading) => !text.includes(`\n${heading}\n`)).map(
    (heading) => `${path}: the section "${heading}" is missing`,
  );
  if (!text.startsWith(`# ${name}: `)) problems.push(`${path}: expected it to begin with "# ${name}: "`);
  return problems;
}

/** A matcher's adapters, and its definition as a whole: they put rooms one after the other, and compute nothing themselves. */
const composesRooms = (path) =>
  /\.(cpu\.cc|gpu\.cu|stage\.cc|stage\.cu|matcher\.ref\.cc|node\.inl\.h)$/.test(path);

/** Vector code that fuses two stages: the first one includes the second one's. */
const FUSED = { "cuda/match/sgm/sgm.inl.h": "cuda/match/select/select.inl.h" };

function includeProblems(root, room, rooms) {
  return filesIn(root, [room], NATIVE_ENDINGS).flatMap((path) => {
    if (composesRooms(path)) return [];
    const includes = [...withoutComments(readText(root, path)).matchAll(/^\s*#include\s+"([^"]+)"/gm)];
    return includes.flatMap(([, included]) => {
      const target = posix.join(posix.dirname(path), included);
      if (target === FUSED[path]) return [];
      const other = rooms.find((candidate) => candidate !== room && target.startsWith(`${candidate}/`));
      return other ? [`${path}: a room includes no other room, but this one includes ${target}`] : [];
    });
  });
}

/** What the definition and the fast form may both read: the one matching cost, and tables made of integers. */
const SHARED_DEFINITIONS = new Set(["cuda/match/cost/hamming.h", "cuda/match/cbca/exponential_tables.h"]);

/** Headers for references alone. */
const isForReferences = (path) => path.endsWith(".ref.h");

/** A twin that calls or includes the other proves nothing: the definition stands alone, and fast code never asks it. */
function referenceProblems(root, room) {
  const contract = `${room}/${posix.basename(room)}.h`;
  return filesIn(root, [room], NATIVE_ENDINGS).flatMap((path) => {
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
  name: "room shape",
  run(root) {
    const rooms = findRooms(root);
    const problems = rooms.flatMap((room) => [
      ...missingFiles(root, room),
      ...readmeProblems(root, room),
      ...includeProblems(root, room, rooms),
      ...referenceProblems(root, room),
    ]);
    return { found: `${rooms.length} rooms`, problems };
  },
};
