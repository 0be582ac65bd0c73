// SPDX-License-Identifier: Apache-2.0
// Tests what a visitor of the live page loads.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";

// Coverage builds a page that is not minified.
test.skipIf(process.env.NODE_V8_COVERAGE)(
  "the built page, with the parts that are loaded later, is less than 120 kB in gzip",
  () => {
    const folder = "dist/page";
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    const names = files.map(({ name }) => name);
    expect(names).toContain("index.html");
    // Each next to its packed form, which is what a browser loads.
    const plain = files.filter(({ name }) => !name.endsWith(".gz"));
    expect(names.toSorted()).toEqual(plain.flatMap(({ name }) => [name, `${name}.gz`]).toSorted());
    const sizes = plain.map(({ parentPath, name }) => {
      const packed = readFileSync(join(parentPath, `${name}.gz`));
      expect(gunzipSync(packed).equals(readFileSync(join(parentPath, name))), name).toBe(true);
      return packed.length;
    });
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeGreaterThan(20_000);
    expect(bytes).toBeLessThan(120_000);
  },
);
