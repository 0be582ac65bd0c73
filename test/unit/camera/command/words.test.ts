// SPDX-License-Identifier: Apache-2.0
// Command lines as words.
import { expect, test } from "vitest";
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
])("%j is refused", (command, text) => {
  expect(() => splitCommand(command)).toThrowError(
    expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining(text) }),
  );
});
