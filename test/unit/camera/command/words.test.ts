// SPDX-License-Identifier: Apache-2.0
// Command lines as words.
import { expect, test } from "vitest";
import { LastLine } from "../../../../camera/command/process.js";
import { splitCommand } from "../../../../camera/index.js";

test.each([
  ["ffmpeg -i a.mp4 -", ["ffmpeg", "-i", "a.mp4", "-"]],
  ["  cat\t'two words'  ", ["cat", "two words"]],
  [`a "b \\"c\\" \\d" e'f'g`, ["a", 'b "c" \\d', "efg"]],
  ["a \\ b '' \"\"", ["a", " b", "", ""]],
  ["echo $HOME *.png", ["echo", "$HOME", "*.png"]],
  [
    "gst-launch-1.0 videotestsrc ! 'video/x-raw(memory:NVMM),format=NV12' ! fdsink",
    ["gst-launch-1.0", "videotestsrc", "!", "video/x-raw(memory:NVMM),format=NV12", "!", "fdsink"],
  ],
  ["grep '|' x", ["grep", "|", "x"]],
  ["a \\| x\\ y\\'z \\\\", ["a", "|", "x y'z", "\\"]],
  ["a b\\", ["a", "b\\"]],
  ["'a|'; 2>x", ["a|;", "2>x"]],
])("%s", (command, words) => {
  expect(splitCommand(command)).toEqual(words);
});

test.each([
  ["", "got none"],
  ["  ", "got none"],
  ["''", "got none"],
  ["a 'b", "' is opened and not closed"],
  ['a "b\\"', '" is opened and not closed'],
  ["a | b", "got one with |, which only a shell understands"],
  ["a 2>&1", "got one with 2>&1"],
  ["a && b", "got one with &&"],
  ["a 'b' | c", "got one with |"],
  ["a \\b > c", "got one with >"],
])("%j is refused", (command, text) => {
  expect(() => splitCommand(command)).toThrowError(
    expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining(text) }),
  );
});

test("the last line on stderr that has text, of at most 300 characters, however the bytes are cut", () => {
  const last = (...pieces: string[]) => {
    const line = new LastLine();
    for (const piece of pieces) line.add(Buffer.from(piece));
    return line.text;
  };
  expect(last()).toBeUndefined();
  expect(last(" \n\r\n ")).toBeUndefined();
  expect(last("one\ntwo")).toBe("two");
  expect(last("one\ntwo\n  \n")).toBe("two");
  expect(last("frame 1\rframe 2\r", "fra", "me 3\r")).toBe("frame 3");
  expect(last("one\n", "tw", "o \n", "   ")).toBe("two");
  expect(last(`${"a".repeat(301)}\n`)).toBe("a".repeat(300));
  expect(last("b".repeat(301))).toBe("b".repeat(300));
});
