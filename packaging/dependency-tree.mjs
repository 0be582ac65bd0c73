// SPDX-License-Identifier: Apache-2.0
// Lists the packages of an installation for Linux, from the lock file: each package with its licence, and which dependency of ours
// brings it. For the page of dependencies and the check of them.
import { readText } from "../scripts/checks/tree.mjs";

/** Why each direct dependency is there, and each package whose code is inside the built page. */
export const reasons = (root) => JSON.parse(readText(root, "packaging/dependencies.json"));

const packageName = (path) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);

/** Where Node finds `name` from the package at `path`: its own folder first, then those above. */
function found(packages, path, name) {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf("node_modules/"))).replace(/\/$/, "")) {
    const candidate = at === "" ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (packages[candidate] !== undefined) return candidate;
    if (at === "") return undefined;
  }
}

/** A Jetson or a PC. */
const onOurMachines = ({ os = ["linux"], cpu = ["x64"], libc = ["glibc"] }) =>
  os.includes("linux") && (cpu.includes("x64") || cpu.includes("arm64")) && libc.includes("glibc");

/** name, version, licence, hasInstallScript of every package of production, and the direct dependencies that lead to it. */
export function productionTree(root) {
  const { packages } = JSON.parse(readText(root, "package-lock.json"));
  const direct = Object.keys(JSON.parse(readText(root, "package.json")).dependencies ?? {});
  return closure(packages, direct);
}

/** Packages of development whose code the build puts into the live page. */
export function bundledTree(root) {
  const { packages } = JSON.parse(readText(root, "package-lock.json"));
  return closure(packages, Object.keys(reasons(root).insideThePage));
}

function closure(packages, direct) {
  const tree = new Map();
  const visit = (path, from) => {
    const entry = packages[path];
    const real = entry.link ? packages[entry.resolved] : entry;
    if (!onOurMachines(real)) return;
    const known = tree.get(path) ?? {
      name: packageName(path),
      version: real.version,
      licence: real.license,
      hasInstallScript: real.hasInstallScript === true,
      ours: entry.link === true,
      from: new Set(),
    };
    if (known.from.has(from)) return;
    known.from.add(from);
    tree.set(path, known);
    const start = entry.link ? entry.resolved : path;
    for (const name of Object.keys({ ...real.dependencies, ...real.optionalDependencies })) {
      const next = found(packages, start, name) ?? found(packages, "", name);
      if (next !== undefined) visit(next, from);
    }
  };
  for (const name of direct) {
    const path = `node_modules/${name}`;
    if (packages[path] !== undefined) visit(path, name);
  }
  return [...tree.values()]
    .map((entry) => ({ ...entry, from: [...entry.from].sort() }))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.version < b.version ? -1 : 1));
}
