// SPDX-License-Identifier: Apache-2.0
// The lock file pins versions and hashes, not download hosts, and our own workspace is never fetched.
import { readText } from "./tree.mjs";

export default {
  name: "lock file",
  run(root) {
    const text = readText(root, "package-lock.json");
    const { packages } = JSON.parse(text);
    const problems = [];
    for (const [path, entry] of Object.entries(packages)) {
      if (/^\w+:\/\//.test(entry.resolved ?? ""))
        problems.push(`${path}: names the host it was downloaded from`);
      const ours = path === "" || entry.link || !path.includes("node_modules/");
      if (!ours && !entry.integrity && !entry.inBundle) problems.push(`${path}: no integrity hash`);
    }
    if (/https?:\/\/[^"]*registry/i.test(text)) problems.push("package-lock.json: names a registry");
    const { dependencies = {}, devDependencies = {} } = JSON.parse(readText(root, "package.json"));
    for (const name of Object.keys({ ...dependencies, ...devDependencies })) {
      if (!packages[`node_modules/${name}`]) problems.push(`${name}: in package.json, not in the lock file`);
    }
    return { found: `${Object.keys(packages).length} packages`, problems };
  },
};
