// SPDX-License-Identifier: Apache-2.0
// What one setting alone cannot tell: the rules between settings.
import { brokenSource } from "../sources/section.js";
import type { Origin } from "./layers.js";
import type { Config } from "./schema.js";

interface Broken {
  /** The settings involved; the first one is named in front of the text. */
  keys: [string, ...string[]];
  text: string;
}

type Rule = (config: Config, origins: ReadonlyMap<string, Origin>) => Broken | undefined;

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

// What somebody set of one source would else be passed over for the source that is the default.
const sourceIsChosen: Rule = ({ source: { kind } }, origins) => {
  if (origins.get("source.kind")?.kind !== "default") return undefined;
  const meant = [...origins].find(
    ([key, origin]) =>
      /^source\.\w+\./.test(key) &&
      !key.startsWith(`source.${kind}.`) &&
      !["default", "board"].includes(origin.kind),
  );
  return (
    meant && {
      keys: ["source.kind", meant[0]],
      text: `expected to be set beside ${meant[0]}, got nothing, which is "${kind}"`,
    }
  );
};

const sourceIsWhole: Rule = ({ source }) => {
  const broken = brokenSource(source);
  return broken && { keys: ["source.kind", ...broken.keys], text: `"${source.kind}": ${broken.text}` };
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
  sourceIsChosen,
  sourceIsWhole,
  clientCertificateIsWhole,
  certificatesNeedTls,
  embeddedSpeaksThree,
];

/** Every rule that a configuration of valid values breaks. */
export function brokenRules(config: Config, origins: ReadonlyMap<string, Origin>): Broken[] {
  return RULES.flatMap((rule) => rule(config, origins) ?? []);
}
