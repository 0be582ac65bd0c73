// SPDX-License-Identifier: Apache-2.0
// The command that `run` prints for reading its stream: it must reach that stream, and show no password.
import { describe, expect, test } from "vitest";
import { consumeCommand } from "../../../../edge/cli/greeting.js";
import { cutToTerminal } from "../../../../edge/cli/live-line.js";
import { loadConfig } from "../../../../edge/config/index.js";
import type { Publishing } from "../../../../edge/outputs/mqtt/publishing.js";

const BROKER = {} as Publishing["broker"];

function commandOf(
  set: string[],
  streams: Publishing["streams"] = ["depth"],
  brokerUrl = "mqtt://127.0.0.1:1883",
  broker?: Publishing["broker"],
) {
  const { config } = loadConfig({ set: ["device=porch", "board=none", ...set], environment: {} });
  return consumeCommand(config, { brokerUrl, broker, streams });
}

describe("the command that run prints", () => {
  test("is short for the embedded broker", () => {
    expect(commandOf([], ["depth", "confidence"], "mqtt://127.0.0.1:1883", BROKER)).toBe(
      "npx depthwatt consume mqtt://127.0.0.1:1883 --device porch",
    );
  });

  test("names base and stream where consume would look elsewhere", () => {
    expect(commandOf(["base=home/robots"], ["disparity"])).toBe(
      "npx depthwatt consume mqtt://127.0.0.1:1883 --device porch --base home/robots --stream disparity",
    );
  });

  test("carries the credentials' files, quoted for a shell", () => {
    const set = [
      "publish.broker=mqtts://h",
      "publish.username=o'neil",
      "publish.passwordFile=/etc/my pass",
      "publish.caFile=/ca.pem",
    ];
    expect(commandOf(set)).toBe(
      "npx depthwatt consume mqtt://127.0.0.1:1883 --device porch " +
        "--username 'o'\\''neil' --password-file '/etc/my pass' --ca-file /ca.pem",
    );
  });

  test("never shows the password of the URL", () => {
    expect(commandOf([], ["depth"], "mqtts://an%20na:secret@host:8883/x?token=secret")).toBe(
      "npx depthwatt consume mqtts://host:8883/x --device porch --username 'an na' --password-file FILE",
    );
  });

  test("is left out where nothing is sent that consume reads", () => {
    expect(commandOf([], ["preview"])).toBeUndefined();
    expect(commandOf([], [])).toBeUndefined();
  });
});

test.each([
  [20, "123456789012345678…"],
  [23, "1234567890123456789012"],
  [0, "1234567890123456789012"],
  [1, "…"],
])("a live line fits into %s columns", (columns, expected) => {
  expect(cutToTerminal("1234567890123456789012", { columns })).toBe(expected);
});
