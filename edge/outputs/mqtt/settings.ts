// SPDX-License-Identifier: Apache-2.0
// The settings of the MQTT output: where the broker is, how to get in, which streams go there and how they are encoded.
import { z } from "zod";
import { isDepthwattError } from "../../../core/index.js";
import type { BrokenSetting } from "../../contracts/broken-setting.js";
import { rateSetting } from "../../contracts/rate-setting.js";
import { type Exact, section, setting } from "../../contracts/setting.js";
import { checkBrokerUrl } from "../../mqtt/credentials.js";

const BROKER = /^(embedded|none|(mqtts?|wss?):\/\/[^\s/]+(\/\S*)?)$/;

function streamSettings(name: string, encodings: readonly [string, ...string[]], enabled: boolean) {
  return {
    enabled: setting(z.boolean(), { default: enabled, description: `Publishes ${name}.` }),
    encoding: setting(z.enum(encodings), {
      default: encodings[0],
      description: "How the body of a frame is written; docs/reference/frames.md has the bytes.",
    }),
    reduceToFit: setting(z.boolean(), {
      default: false,
      description:
        "A picture larger than maxPayloadBytes, or than the broker takes, is sent with a half or a quarter of its width and height, voxels with 2, 4 or 8 times their edge.",
    }),
  };
}

function stream(name: string, encodings: readonly [string, ...string[]], enabled: boolean) {
  return section(`The ${name} topic.`, streamSettings(name, encodings, enabled), "live");
}

export const mqttSettings = section("The MQTT output: topics at a broker.", {
  broker: setting(z.string().regex(BROKER), {
    default: "embedded",
    expects: '"embedded", "none" or a URL that begins with mqtt://, mqtts://, ws:// or wss://',
    description:
      "embedded is a broker in this process, loopback only, for trying it out; none switches this output off.",
  }),
  username: setting(z.string().min(1).optional(), { description: "User name at the broker." }),
  passwordFile: setting(z.string().min(1).optional(), {
    isPath: true,
    description: "File whose first line is the password; it must not be readable by others.",
  }),
  caFile: setting(z.string().min(1).optional(), {
    isPath: true,
    description: "PEM file of the authorities that may sign the broker's certificate; else the system's.",
  }),
  certFile: setting(z.string().min(1).optional(), {
    isPath: true,
    description: "PEM file of the client certificate.",
  }),
  keyFile: setting(z.string().min(1).optional(), {
    isPath: true,
    description: "PEM file of the client certificate's key; it must not be readable by others.",
  }),
  protocolVersion: setting(z.union([z.literal("auto"), z.literal([4, 5])]), {
    default: "auto",
    description: "MQTT 5, or 4 which is MQTT 3.1.1; auto tries 5 and falls back.",
  }),
  maxPendingBytes: setting(z.int().min(65536).max(1_073_741_824), {
    default: 8_388_608,
    unit: "bytes",
    description: "Bytes that may wait for the socket; beyond them the newest frame replaces the waiting one.",
  }),
  maxPayloadBytes: setting(z.int().min(1024).max(268_435_455), {
    default: 268_435_455,
    unit: "bytes",
    description:
      "Frames larger than this are dropped and counted, or reduced with reduceToFit; set it to the broker's own limit.",
  }),
  rateHz: rateSetting(),
  depth: stream("depth", ["rvl", "raw", "png", "compressedDepth"], true),
  disparity: stream("disparity", ["rvl", "raw", "png"], false),
  confidence: stream("confidence", ["raw", "png"], false),
  left: section(
    "The left topic.",
    {
      ...streamSettings("left", ["raw", "png", "jpeg"], false),
      colours: setting(z.boolean(), {
        default: false,
        description: "Publishes left in colours where the source has them: three bytes a pixel, red first.",
      }),
    },
    "live",
  ),
  right: stream("right", ["raw", "png", "jpeg"], false),
  points: section(
    "The points topic.",
    {
      ...streamSettings("points", ["raw", "voxels"], false),
      rateHz: rateSetting("topic"),
    },
    "live",
  ),
  registered: section("The topics registered/CAMERA and registered/CAMERA/confidence.", {
    enabled: setting(z.boolean(), {
      default: false,
      description: "Publishes depth in the image of registration.camera.",
    }),
    confidence: setting(z.boolean(), {
      default: false,
      description: "Publishes its confidence too.",
    }),
    encoding: setting(z.enum(["raw", "png", "jpeg"]), {
      default: "raw",
      description: "How the body of a frame is written; jpeg: depth in the colours of the preview.",
    }),
  }),
  preview: section(
    "The preview topic.",
    {
      enabled: setting(z.boolean(), {
        default: false,
        description: "Publishes a small colour picture of the disparity, at most twice a second.",
      }),
      encoding: setting(z.enum(["jpeg", "png"]), {
        default: "jpeg",
        description: "File format of the picture; a message is one file.",
      }),
    },
    "live",
  ),
});

export type MqttSettings = Exact<z.infer<typeof mqttSettings>>;

const isTls = (broker: string) => broker.startsWith("mqtts://") || broker.startsWith("wss://");

function clientCertificate({ certFile, keyFile }: MqttSettings): BrokenSetting[] {
  if ((certFile === undefined) === (keyFile === undefined)) return [];
  const given = certFile ? "the first" : "the second";
  const text = `expected outputs.mqtt.certFile and outputs.mqtt.keyFile together, got only ${given}`;
  return [{ keys: ["certFile", "keyFile"], text }];
}

function certificatesNeedTls(settings: MqttSettings): BrokenSetting[] {
  const file = (["caFile", "certFile", "keyFile"] as const).find((name) => settings[name] !== undefined);
  if (file === undefined || isTls(settings.broker)) return [];
  const text = `expected a broker URL that begins with mqtts:// or wss:// with it, got "${settings.broker}"`;
  return [{ keys: [file, "broker"], text }];
}

/** The pattern accepts some strings that are no URL, such as port 99999. */
function brokerIsUrl({ broker }: MqttSettings): BrokenSetting[] {
  if (broker === "embedded" || broker === "none") return [];
  try {
    checkBrokerUrl(broker, "broker");
    return [];
  } catch (error) {
    if (!isDepthwattError(error)) throw error;
    return [{ keys: ["broker"], text: error.message.slice("broker: ".length) }];
  }
}

function passwordHasUser({ broker, username, passwordFile, protocolVersion }: MqttSettings): BrokenSetting[] {
  if (passwordFile === undefined || username !== undefined || protocolVersion === 5) return [];
  if (/^\w+:\/\/[^/@]+@/.test(broker)) return [];
  // MQTT 3.1.1 section 3.1.2.9: no password without a user name.
  return [
    { keys: ["passwordFile", "username"], text: "expected outputs.mqtt.username with it, got nothing" },
  ];
}

function embeddedSpeaksThree({ broker, protocolVersion }: MqttSettings): BrokenSetting[] {
  if (broker !== "embedded" || protocolVersion !== 5) return [];
  const text = "expected auto or 4, because the embedded broker speaks MQTT 3.1.1 only, got 5";
  return [{ keys: ["protocolVersion", "broker"], text }];
}

function jpegIsGrey({ left }: MqttSettings): BrokenSetting[] {
  if (left.encoding !== "jpeg" || !left.colours) return [];
  const text = "expected raw or png with colours, got jpeg";
  return [{ keys: ["left.encoding", "left.colours"], text }];
}

export function brokenMqtt(settings: MqttSettings): BrokenSetting[] {
  return [
    brokerIsUrl,
    clientCertificate,
    certificatesNeedTls,
    passwordHasUser,
    embeddedSpeaksThree,
    jpegIsGrey,
  ].flatMap((rule) => rule(settings));
}
