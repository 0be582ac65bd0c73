// SPDX-License-Identifier: Apache-2.0
// The command that `run` prints for reading its stream: it must reach that stream, and show no password.
import { describe, expect, test } from "vitest";
import { cutToTerminal } from "../../../../edge/cli/live-line.js";
import { loadConfig } from "../../../../edge/config/index.js";
import { consumeCommand } from "../../../../edge/outputs/mqtt/consume-command.js";

function pageCommand(
  set: string[],
  streams: string[] = ["depth"],
  brokerUrl = "mqtt://127.0.0.1:1883",
  embedded = false,
) {
  const { config } = loadConfig({ set: ["device=porch", "board=none", ...set], environment: {} });
  const { base, device, outputs } = config;
  return consumeCommand({ base, device, settings: outputs.mqtt }, { brokerUrl, embedded, streams });
}

describe("the command that run prints", () => {
  test("is short for the embedded broker", () => {
    expect(pageCommand([], ["depth", "confidence"], "mqtt://127.0.0.1:1883", true)).toBe(
      "npx depthwatt consume mqtt://127.0.0.1:1883 --device porch",
    );
  });

  test("names base and stream where consume would look elsewhere", () => {
    expect(pageCommand(["base=home/robots"], ["disparity"])).toBe(
      "npx depthwatt consume mqtt://127.0.0.1:1883 --device porch --base home/robots --stream disparity",
    );
  });

  test("carries the credentials' files, quoted for a shell", () => {
    const set = [
      "outputs.mqtt.broker=mqtts://h",
      "outputs.mqtt.username=o'neil",
      "outputs.mqtt.passwordFile=/etc/my pass",
      "outputs.mqtt.caFile=/ca.pem",
    ];
    expect(pageCommand(set)).toBe(
      "npx depthwatt consume mqtt://127.0.0.1:1883 --device porch " +
        "--username 'o'\\''neil' --password-file '/etc/my pass' --ca-file /ca.pem",
    );
  });

  test("never shows the password of the URL", () => {
    expect(pageCommand([], ["depth"], "mqtts://an%20na:secret@host:8883/x?token=secret")).toBe(
      "npx depthwatt consume mqtts://host:8883/x --device porch --username 'an na' --password-file FILE",
    );
  });

  test("is left out where nothing is sent that consume reads", () => {
    expect(pageCommand([], ["preview"])).toBeUndefined();
    expect(pageCommand([], [])).toBeUndefined();
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
