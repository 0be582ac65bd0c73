// SPDX-License-Identifier: Apache-2.0
// The bill of materials: every package of the production tree stands in it with version, licence and hash, and two calls give one
// text.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";

const load = (path: string) => import(/* @vite-ignore */ pathToFileURL(resolve(path)).href);

interface Component {
  "bom-ref": string;
  name: string;
  version: string;
  purl: string;
  licenses?: unknown[];
  hashes?: { alg: string; content: string }[];
}

test("CycloneDX: the whole production tree, nothing of development, the same each time", async () => {
  const { billOfMaterials } = await load("packaging/sbom.mjs");
  const { productionTree } = await load("packaging/dependency-tree.mjs");
  const bill = billOfMaterials() as {
    bomFormat: string;
    metadata: { component: { name: string } };
    components: Component[];
  };
  expect(bill.bomFormat).toBe("CycloneDX");
  expect(bill.metadata.component.name).toBe("depthwatt");
  const reported = new Map(bill.components.map((component) => [component["bom-ref"], component]));
  const tree = productionTree(".") as { name: string; version: string; ours: boolean }[];
  expect(tree.length).toBeGreaterThan(50);
  for (const { name, version, ours } of tree) {
    const component = reported.get(`${name}@${version}`);
    expect(component, `${name}@${version}`).toMatchObject({ name, version });
    expect(component!.licenses?.length, name).toBeGreaterThan(0);
    if (!ours) expect(component!.hashes?.[0]?.alg, name).toBe("SHA-512");
  }
  for (const name of ["vitest", "typescript", "playwright-core"])
    expect([...reported.values()].map((component) => component.name)).not.toContain(name);
  expect(JSON.stringify(billOfMaterials())).toBe(JSON.stringify(bill));
});
