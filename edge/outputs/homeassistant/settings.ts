// SPDX-License-Identifier: Apache-2.0
// Settings of the announcement to Home Assistant.
import { z } from "zod";
import { checkBaseTopic } from "../../../core/frame/topics.js";
import { isDepthwattError } from "../../../core/index.js";
import type { BrokenSetting } from "../../contracts/broken-setting.js";
import { type Exact, section, setting } from "../../contracts/setting.js";

const KEYS = /^[A-Za-z0-9.]+(,[A-Za-z0-9.]+)*$/;

export const homeAssistantSettings = section(
  "MQTT discovery for Home Assistant, at the broker of outputs.mqtt.",
  {
    enabled: setting(z.boolean(), { default: false, description: "Announces this device." }),
    announced: setting(z.boolean(), {
      default: true,
      takesEffect: "live",
      description: "false removes the device from Home Assistant; true announces it again.",
    }),
    discoveryPrefix: setting(z.string().min(1), {
      default: "homeassistant",
      description: "Topic where Home Assistant looks for announcements, and reports that it has started.",
    }),
    switches: setting(z.string().regex(KEYS).optional(), {
      expects: "keys of live settings joined by commas",
      default: "outputs.mqtt.preview.enabled",
      description:
        "Live settings of true and false that become switches; needs control.authentication broker.",
    }),
    selects: setting(z.string().regex(KEYS).optional(), {
      expects: "keys of live settings joined by commas",
      default: "match.algorithm",
      description: "Live settings with a choice that become selects; needs control.authentication broker.",
    }),
  },
);

export type HomeAssistantSettings = Exact<z.infer<typeof homeAssistantSettings>>;

export function brokenHomeAssistant({ discoveryPrefix }: HomeAssistantSettings): BrokenSetting[] {
  try {
    checkBaseTopic(discoveryPrefix, "discoveryPrefix");
    return [];
  } catch (error) {
    if (!isDepthwattError(error)) throw error;
    return [{ keys: ["discoveryPrefix"], text: error.message.slice("discoveryPrefix: ".length) }];
  }
}
