// SPDX-License-Identifier: Apache-2.0
// Defines the settings of control: whether a running depthwatt can be changed from outside, and how clients prove their
// permission.
import { z } from "zod";
import type { BrokenSetting } from "../contracts/broken-setting.js";
import { type Exact, section, setting } from "../contracts/setting.js";

export const controlSection = section("Asking and changing a running depthwatt from outside.", {
  enabled: setting(z.boolean(), {
    default: false,
    description:
      "Answers requests over MQTT, and lets the live page change settings; docs/guides/control.md says how.",
  }),
  authentication: setting(z.enum(["secret", "broker"]), {
    default: "secret",
    description:
      "How a client proves its permission: by a signature made with the secret of control.secretFile, or by the broker's access list.",
  }),
  secretFile: setting(z.string().min(1).optional(), {
    isPath: true,
    description:
      "File whose first line is the secret, 16 characters at least; it must not be readable by others.",
  }),
});

export type ControlSettings = Exact<z.infer<typeof controlSection>>;

/**
 * @param broker the setting outputs.mqtt.broker
 * @param pageAsks whether the live page lets in only those who prove who they are
 */
export function brokenControl(control: ControlSettings, broker: string, pageAsks: boolean): BrokenSetting[] {
  const { enabled, authentication, secretFile } = control;
  if (!enabled) return [];
  if (authentication === "secret" && secretFile === undefined && !pageAsks) {
    const text =
      "expected to be set with control.enabled, unless http.passwordFile is, or control.authentication is broker; got nothing";
    return [{ keys: ["control.secretFile", "control.enabled"], text }];
  }
  if (authentication === "broker" && broker === "embedded") {
    const text = "expected secret, because the embedded broker lets everybody in, got broker";
    return [{ keys: ["control.authentication", "outputs.mqtt.broker"], text }];
  }
  return [];
}
