// SPDX-License-Identifier: Apache-2.0
// Notices on a terminal break between words; in a file each is one line.
import { afterEach, expect, test, vi } from "vitest";
import { note, printText } from "../../../../edge/cli/output.js";

afterEach(() => vi.restoreAllMocks());

test.each([
  ["stderr", note],
  ["stdout", printText],
] as const)("%s", (name, print) => {
  const stream = process[name];
  const written: string[] = [];
  vi.spyOn(stream, "write").mockImplementation((text) => written.push(String(text)) > 0);
  const sentence = "warning: the two images are 12.5 ms apart on average: moving objects get a wrong depth";
  const was = { isTTY: stream.isTTY, columns: stream.columns };
  try {
    Object.assign(stream, { isTTY: true, columns: 50 });
    print(sentence);
    print("  short");
    Object.assign(stream, { isTTY: false });
    print(sentence);
  } finally {
    Object.assign(stream, was);
  }
  expect(written).toEqual([
    "warning: the two images are 12.5 ms apart on\naverage: moving objects get a wrong depth\n",
    "  short\n",
    `${sentence}\n`,
  ]);
});
