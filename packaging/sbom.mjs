// SPDX-License-Identifier: Apache-2.0
// `npm run sbom`: the bill of materials of an installation, CycloneDX JSON on stdout. npm makes it of the lock file; what differs
// from run to run, and the name of the folder, is removed, so that equal trees give equal files.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { productionTree } from "./dependency-tree.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

export function billOfMaterials() {
  // Not --omit=dev: that leaves out packages that both the tests and the program use.
  const words = ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"];
  const text = execFileSync("npm", words, { cwd: root, encoding: "utf8", maxBuffer: 1 << 26 });
  const bill = JSON.parse(text);
  delete bill.serialNumber;
  delete bill.metadata.timestamp;
  const named = (component) => {
    const name = component["bom-ref"].replace(/(?<=.)@[^@]*$/, "");
    return { ...component, name };
  };
  bill.metadata.component = named(bill.metadata.component);
  const installed = new Set(productionTree(root).map(({ name, version }) => `${name}@${version}`));
  bill.components = bill.components.filter((component) => installed.has(component["bom-ref"])).map(named);
  const self = bill.metadata.component["bom-ref"];
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => ref === self || installed.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => installed.has(one)) }));
  return bill;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { name } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const bill = billOfMaterials();
  if (bill.metadata.component.name !== name) throw new Error(`expected a bill of ${name}`);
  process.stdout.write(`${JSON.stringify(bill, undefined, 2)}\n`);
}
