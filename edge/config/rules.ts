// SPDX-License-Identifier: Apache-2.0
// Checks the rules between settings.
import { RIGHT_CAMERA } from "../../camera/index.js";
import { checkBaseTopic, checkDeviceName } from "../../core/frame/topics.js";
import { isDepthwattError } from "../../core/index.js";
import { engineAddon } from "../../cuda/index.js";
import type { BrokenSetting } from "../contracts/broken-setting.js";
import { brokenControl } from "../control/settings.js";
import { brokenHttp } from "../http/settings.js";
import { brokenOutputs } from "../outputs/section.js";
import { brokenSource, sourceDefinition } from "../sources/section.js";
import type { Origin } from "./layers.js";
import { matchParameters } from "./match-parameters.js";
import type { Config } from "./schema.js";

type Rule = (config: Config, origins: ReadonlyMap<string, Origin>) => BrokenSetting | undefined;

// 2047 pixels is the last disparity that sixteenths of a pixel hold in a signed 16-bit word.
const searchFits: Rule = ({ match: { minDisparity, numDisparities } }) =>
  minDisparity + numDisparities <= 2047
    ? undefined
    : {
        keys: ["match.numDisparities", "match.minDisparity"],
        text: `expected match.minDisparity + match.numDisparities to be at most 2047, got ${minDisparity + numDisparities}`,
      };

const depthLimitsAreOrdered: Rule = ({ depth: { minMetres, maxMetres } }) =>
  maxMetres === 0 || minMetres <= maxMetres
    ? undefined
    : {
        keys: ["depth.minMetres", "depth.maxMetres"],
        text: `expected at most depth.maxMetres, ${maxMetres}, or depth.maxMetres = 0 for no limit, got ${minMetres}`,
      };

/** The matcher's own rules, which the addon knows. Without the addon nothing can be matched, and opening an engine reports it. */
const matcherIsWhole: Rule = ({ match }) => {
  try {
    return engineAddon().brokenRule(matchParameters(match)) ?? undefined;
  } catch (error) {
    if (isDepthwattError(error) && error.code === "ADDON_MISSING") return undefined;
    throw error;
  }
};

// Without this rule, settings of one source would be ignored if the default source runs.
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
      text: `expected to be set with ${meant[0]}, got nothing, which is "${kind}"`,
    }
  );
};

const sourceIsWhole: Rule = ({ source }) => {
  const broken = brokenSource(source);
  return broken && { keys: ["source.kind", ...broken.keys], text: `"${source.kind}": ${broken.text}` };
};

const sleepNeedsCameras: Rule = ({ source: { kind }, power: { dutyCycle } }) =>
  dutyCycle.frames === undefined || !sourceDefinition(kind).isRecording
    ? undefined
    : {
        keys: ["power.dutyCycle.frames", "source.kind"],
        text: `expected to be unset, because the recording (source.kind "${kind}") would begin again after each sleep, got ${dutyCycle.frames}`,
      };

/** nvpmodel sets the limits of the clocks: what one of them restores, the other would undo. */
const clocksHaveOneOwner: Rule = ({ power: { clocks, modes } }) =>
  clocks === "off" || modes === undefined
    ? undefined
    : {
        keys: ["power.clocks", "power.modes"],
        text: `expected to be "off", because power.modes changes the same clocks, got "${clocks}"`,
      };

/** Without this rule, only the first connection would find a name that is no topic. */
const namesAreTopics: Rule = ({ base, device }) => {
  for (const [key, value, check] of [
    ["base", base, checkBaseTopic],
    ["device", device, checkDeviceName],
  ] as const) {
    try {
      check(value);
    } catch (error) {
      if (!isDepthwattError(error)) throw error;
      return { keys: [key], text: error.message.slice(key.length + 2) };
    }
  }
  return undefined;
};

// ROS has points in metres; to make them of millimetres would cost every frame.
const recordedPointsAreMetres: Rule = ({ outputs: { mcap }, points: { element } }) =>
  mcap.file === undefined || !mcap.points || element === "float32"
    ? undefined
    : {
        keys: ["points.element", "outputs.mcap.points"],
        text: `expected float32, because a recording has points in metres, got ${element}`,
      };

const rosPointsAreMetres: Rule = ({ outputs: { ros }, points: { element } }) =>
  !ros.enabled || !ros.points || element === "float32"
    ? undefined
    : {
        keys: ["points.element", "outputs.ros.points"],
        text: `expected float32, because a PointCloud2 has points in metres, got ${element}`,
      };

/** The image of another camera is registered by the camera's name in the calibration. */
const colouringCameraIsNamed: Rule = ({ registration: { camera }, points: { colour } }) =>
  colour !== "registered" || (camera !== undefined && camera !== RIGHT_CAMERA)
    ? undefined
    : {
        keys: ["registration.camera", "points.colour"],
        text: `expected the name of the camera whose images colour points, got ${camera ?? "none"}`,
      };

const RULES: readonly Rule[] = [
  colouringCameraIsNamed,
  recordedPointsAreMetres,
  rosPointsAreMetres,
  namesAreTopics,
  searchFits,
  depthLimitsAreOrdered,
  matcherIsWhole,
  sourceIsChosen,
  sourceIsWhole,
  sleepNeedsCameras,
  clocksHaveOneOwner,
];

/** Every rule that a configuration of valid values breaks. */
export function brokenRules(config: Config, origins: ReadonlyMap<string, Origin>): BrokenSetting[] {
  return [
    ...RULES.flatMap((rule) => rule(config, origins) ?? []),
    ...brokenOutputs(config.outputs),
    ...brokenHttp(config.http),
    ...brokenControl(config.control, config.outputs.mqtt.broker, config.http.passwordFile !== undefined),
  ];
}
