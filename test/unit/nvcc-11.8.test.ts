// SPDX-License-Identifier: Apache-2.0
// Where scripts/nvcc-11.8.mjs looks for the compiler of the old boards.
import { expect, test } from "vitest";
import { archives, cachedNvcc118 } from "../../scripts/nvcc-11.8.mjs";

test("both forms of apt's sources, without what is switched off, is source code, or is not Debian's", () => {
  const text = [
    "Types: deb deb-src\nURIs: http://deb.debian.org/debian\nSuites: bookworm bookworm-updates\nComponents: main\n",
    "Types: deb\nEnabled: no\nURIs: http://deb.debian.org/off\nSuites: x\nComponents: main\n",
  ].join("\n");
  const list =
    "# deb http://deb.debian.org/no a main\ndeb [arch=amd64] http://deb.debian.org/debian bookworm main\n" +
    "deb-src http://deb.debian.org/src b main\ndeb http://example.org/other c main\n";
  expect(archives([{ name: "a.sources", text }])).toEqual([
    "http://deb.debian.org/debian bookworm",
    "http://deb.debian.org/debian bookworm-updates",
  ]);
  expect(archives([{ name: "b.list", text: list }])).toEqual(["http://deb.debian.org/debian bookworm"]);
});

test("nothing where nothing has been fetched", () => {
  expect(cachedNvcc118("/nonexistent")).toBeUndefined();
});
