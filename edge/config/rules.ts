// SPDX-License-Identifier: Apache-2.0
// What one setting alone cannot tell: the rules between settings.
import type { Config } from "./schema.js";

interface Broken {
  /** The settings involved; the first one is named in front of the text. */
  keys: [string, ...string[]];
  text: string;
}

type Rule = (config: Config) => Broken | undefined;

const isTls = (broker: string) => broker.startsWith("mqtts://") || broker.startsWith("wss://");

const penaltiesInOrder: Rule = ({ match: { p1, p2 } }) =>
  p1 <= p2
    ? undefined
    : { keys: ["match.p1", "match.p2"], text: `expected at most match.p2, which is ${p2}, got ${p1}` };

// 2047 pixels is the last disparity that sixteenths of a pixel hold in a signed 16-bit word.
const searchFits: Rule = ({ match: { minDisparity, numDisparities } }) =>
  minDisparity + numDisparities <= 2047
    ? undefined
    : {
        keys: ["match.numDisparities", "match.minDisparity"],
        text: `expected match.minDisparity + match.numDisparities to be at most 2047, got ${minDisparity + numDisparities}`,
      };

// Half the search must still be one: 8 disparities of the half images.
const halfSearchIsWhole: Rule = ({ match: { algorithm, halfResolution, numDisparities } }) =>
  algorithm !== "sgm" || halfResolution !== true || numDisparities >= 16
    ? undefined
    : {
        keys: ["match.numDisparities", "match.halfResolution"],
        text: `expected 16 to 512 beside match.halfResolution, got ${numDisparities}`,
      };

const sourceIsWhole: Rule = ({ source: { kind, left, right, sideBySide } }) => {
  const given = [left && "source.left", right && "source.right", sideBySide && "source.sideBySide"].filter(
    Boolean,
  );
  if (kind === "synthetic") {
    if (given.length === 0) return undefined;
    return {
      keys: ["source.kind", ...(given as string[])],
      text: `expected "replay" or "v4l2" beside ${given.join(" and ")}, got "synthetic"`,
    };
  }
  const both = left !== undefined && right !== undefined && sideBySide === undefined;
  const one = sideBySide !== undefined && left === undefined && right === undefined;
  if (both || one) return undefined;
  return {
    keys: ["source.kind", "source.left", "source.right", "source.sideBySide"],
    text: `"${kind}" expects source.left and source.right, or source.sideBySide alone, got ${given.join(" and ") || "none of them"}`,
  };
};

const clientCertificateIsWhole: Rule = ({ publish: { certFile, keyFile } }) =>
  (certFile === undefined) === (keyFile === undefined)
    ? undefined
    : {
        keys: ["publish.certFile", "publish.keyFile"],
        text: `expected publish.certFile and publish.keyFile together, got only ${certFile ? "the first" : "the second"}`,
      };

const certificatesNeedTls: Rule = ({ publish }) => {
  const file = (["caFile", "certFile", "keyFile"] as const).find((name) => publish[name] !== undefined);
  if (file === undefined || isTls(publish.broker)) return undefined;
  const key = `publish.${file}`;
  return {
    keys: [key, "publish.broker"],
    text: `expected a broker URL that begins with mqtts:// or wss:// beside it, got "${publish.broker}"`,
  };
};

const embeddedSpeaksThree: Rule = ({ publish: { broker, protocolVersion } }) =>
  broker === "embedded" && protocolVersion === 5
    ? {
        keys: ["publish.protocolVersion", "publish.broker"],
        text: "expected auto or 4, because the embedded broker speaks MQTT 3.1.1 only, got 5",
      }
    : undefined;

const RULES: readonly Rule[] = [
  penaltiesInOrder,
  searchFits,
  halfSearchIsWhole,
  sourceIsWhole,
  clientCertificateIsWhole,
  certificatesNeedTls,
  embeddedSpeaksThree,
];

/** Every rule that a configuration of valid values breaks. */
export function brokenRules(config: Config): Broken[] {
  return RULES.flatMap((rule) => rule(config) ?? []);
}
