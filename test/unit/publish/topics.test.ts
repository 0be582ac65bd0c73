// SPDX-License-Identifier: Apache-2.0
// Tests topic names: valid ones, and refusals with the key's name.
import { describe, expect, test } from "vitest";
import { makeTopics, splitTopic } from "../../../core/frame/topics.js";

describe("topics", () => {
  test("are <base>/<device>/<leaf>", () => {
    const topics = makeTopics("site/hall-2", "Röbot 1");
    expect(topics.state).toBe("site/hall-2/Röbot 1/state");
    expect(topics.cameraInfo).toBe("site/hall-2/Röbot 1/camera_info");
    expect(topics.stream("disparity")).toBe("site/hall-2/Röbot 1/disparity");
    expect(topics.stream("registered", "thermal")).toBe("site/hall-2/Röbot 1/registered/thermal");
    expect(topics.stream("registeredConfidence")).toBe("site/hall-2/Röbot 1/registered/+/confidence");
    // 200 bytes of UTF-8 are 100 of these letters.
    expect(makeTopics("a", "ö".repeat(100)).state).toContain("ööö");
    expect(() => makeTopics("a", `${"ö".repeat(100)}x`)).toThrow("at most 200 bytes");
  });

  test.each([
    ["", /at least one character/],
    ["a+b", /no wildcard.*"\+"/],
    ["#", /no wildcard.*"#"/],
    ["a\u0000b", /"\\u0000"/],
    ["a\nb", /control character/],
    ["$SYS", /no leading '\$'/],
    ["a/b", /single topic level/],
    ["\ud800", /well-formed/],
    ["x".repeat(201), /at most 200 bytes/],
  ])("device %j is refused", (device, message) => {
    expect(() => makeTopics("depthwatt", device)).toThrow(message);
    expect(() => makeTopics("depthwatt", device)).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID", context: { key: "device", value: device } }),
    );
  });

  test.each(["/a", "a/", "a//b", "a/#"])("base %j is refused", (base) => {
    expect(() => makeTopics(base, "d")).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  });

  test("are taken apart again", () => {
    expect(splitTopic("a/b", "a/b/dev/depth")).toEqual({ device: "dev", leaf: "depth" });
    expect(splitTopic("a", "a/b/dev/depth")).toBeUndefined();
    expect(splitTopic("a", "ab/dev/depth")).toBeUndefined();
    expect(splitTopic("a", "a/dev")).toBeUndefined();
  });

  test.each([
    ["a/d/registered/thermal", "registered"],
    ["a/d/registered/thermal/confidence", "registeredConfidence"],
    ["a/d/registered/thermal/other", undefined],
    ["a/d/registered/thermal/confidence/x", undefined],
    ["a/d/registered/thermal/x/confidence", undefined],
    ["a/d/depth/confidence", undefined],
    [`a/${"x".repeat(200)}/depth`, "depth"],
  ])("%s has the leaf %s", (topic, leaf) => {
    expect(splitTopic("a", topic)?.leaf).toBe(leaf);
  });

  test("a name that no publisher may have has no topic", () => {
    expect(splitTopic("a", "a/\u001b[2J/depth")).toBeUndefined();
    expect(splitTopic("a", `a/${"x".repeat(201)}/depth`)).toBeUndefined();
    expect(splitTopic("a", "a//depth")).toBeUndefined();
  });
});
