// SPDX-License-Identifier: Apache-2.0
// Where test/setup/nvcc-11.8.mjs looks for the compiler of the old boards.
import { expect, test } from "vitest";
import { archives, cachedNvcc118 } from "../setup/nvcc-11.8.mjs";

test("both forms of apt's sources, without disabled, source code and foreign entries", () => {
  const text = [
    "Types: deb deb-src\nURIs: http://archive.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\n",
    "Types: deb\nEnabled: no\nURIs: http://archive.example/debian/off\nSuites: x\nComponents: main\n",
  ].join("\n");
  const list =
    "# deb http://archive.example/debian/no a main\ndeb [arch=amd64] http://archive.example/debian bookworm main\n" +
    "deb-src http://archive.example/debian/src b main\ndeb http://example.org/other c main\n";
  expect(archives([{ name: "a.sources", text }])).toEqual([
    "http://archive.example/debian bookworm",
    "http://archive.example/debian bookworm-updates",
  ]);
  expect(archives([{ name: "b.list", text: list }])).toEqual(["http://archive.example/debian bookworm"]);
});

test("nothing where nothing has been fetched", () => {
  expect(cachedNvcc118("/nonexistent")).toBeUndefined();
});
