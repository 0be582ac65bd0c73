// SPDX-License-Identifier: Apache-2.0
// Checks what is installed with depthwatt: each dependency has a reason, each package a licence that we may pass on,
// and only our package runs a script at installation.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { bundledTree, productionTree, reasons } from "../../packaging/dependency-tree.mjs";
import { filesIn, readText } from "./tree.mjs";

// libvips is its own library that sharp loads: LGPL allows that next to any licence.
const LICENCES = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "LGPL-3.0-or-later",
  "MIT",
  "Unlicense",
]);

function importedByThePage(root) {
  const files = filesIn(root, ["clients/page"], [".ts", ".tsx"]);
  const names = files.flatMap((path) =>
    [...readText(root, path).matchAll(/from "([^."][^"]*)"/g)].map(
      ([, name]) => /^(?:@[^/]+\/)?[^/]+/.exec(name)[0],
    ),
  );
  return new Set(names);
}

export const dependencies = {
  name: "dependencies",
  run(root) {
    const problems = [];
    const file = "packaging/dependencies.json";
    const { installed, insideThePage } = reasons(root);
    const tree = [...productionTree(root), ...bundledTree(root)];
    const { dependencies = {} } = JSON.parse(readText(root, "package.json"));
    for (const name of Object.keys(dependencies))
      if (!installed[name]) problems.push(`${name}: ${file} gives no reason for it`);
    for (const name of Object.keys(installed))
      if (dependencies[name] === undefined) problems.push(`${name}: in ${file}, not in package.json`);
    for (const name of importedByThePage(root))
      if (!insideThePage[name]) problems.push(`${name}: the live page imports it, ${file} gives no reason`);
    for (const { name, version, licence, hasInstallScript, ours } of tree) {
      const each = (licence ?? "none").replace(/[()]/g, "").split(/ (?:AND|OR) /);
      if (!each.every((one) => LICENCES.has(one)))
        problems.push(`${name}@${version}: its licence is ${licence ?? "unknown"}`);
      if (hasInstallScript && !ours) problems.push(`${name}@${version}: runs a script at installation`);
    }
    return { found: `${tree.length} packages`, problems };
  },
};

/** Folders with a package.json and a lock file: the program, and the documentation site. */
const LOCKED = ["", "docs/site/"];

function lockProblems(root, folder) {
  const text = readText(root, `${folder}package-lock.json`);
  const { packages } = JSON.parse(text);
  const problems = [];
  for (const [path, entry] of Object.entries(packages)) {
    if (/^\w+:\/\//.test(entry.resolved ?? ""))
      problems.push(`${path}: names the host it was downloaded from`);
    const ours = path === "" || entry.link || !path.includes("node_modules/");
    if (!ours && !entry.integrity && !entry.inBundle) problems.push(`${path}: no integrity hash`);
  }
  if (/https?:\/\/[^"]*registry/i.test(text)) problems.push("package-lock.json: names a registry");
  const { dependencies = {}, devDependencies = {} } = JSON.parse(readText(root, `${folder}package.json`));
  for (const name of Object.keys({ ...dependencies, ...devDependencies })) {
    if (!packages[`node_modules/${name}`]) problems.push(`${name}: in package.json, not in the lock file`);
  }
  return { count: Object.keys(packages).length, problems };
}

/** The lock files pin versions and hashes, not download hosts, and our own workspaces are never fetched. */
export const lockFile = {
  name: "lock file",
  run(root) {
    const folders = LOCKED.filter((folder) => existsSync(join(root, folder, "package-lock.json")));
    const found = folders.map((folder) => lockProblems(root, folder));
    return {
      found: `${found.map(({ count }) => count).join(" and ")} packages`,
      problems: found.flatMap(({ problems }) => problems),
    };
  },
};
