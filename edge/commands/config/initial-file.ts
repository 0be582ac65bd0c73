// SPDX-License-Identifier: Apache-2.0
// The configuration file that `config --init` writes: the settings that most users change, with their defaults and meanings.
import { yaml } from "../../../core/index.js";
import { expectedWords, SETTING_BY_KEY } from "../../config/index.js";

/** In groups, in the order of the file. */
export const INITIAL_KEYS = [
  "device",
  "source.kind",
  "source.v4l2.left",
  "source.v4l2.right",
  "source.v4l2.width",
  "source.v4l2.height",
  "source.v4l2.rateHz",
  "calibration.file",
  "match.algorithm",
  "match.minDisparity",
  "match.numDisparities",
  "match.halfResolution",
  "match.sgm.paths",
  "refine.minConfidence",
  "refine.temporal",
  "depth.minMetres",
  "depth.maxMetres",
  "engine.backend",
  "outputs.mqtt.broker",
  "outputs.mqtt.username",
  "outputs.mqtt.passwordFile",
  "outputs.viewer.enabled",
  "http.port",
  "http.address",
  "control.enabled",
  "power.sensor",
];

/** Returns the file's text. It comments out settings without a default, and those whose default depends on the machine. */
export function initialFile(): string {
  const lines = [
    "# Settings of depthwatt that most users change, with their defaults.",
    "# All settings: depthwatt config --print. One in detail: depthwatt config explain KEY.",
  ];
  let open: string[] = [];
  for (const key of INITIAL_KEYS) {
    const setting = SETTING_BY_KEY.get(key)!;
    const groups = key.split(".");
    const name = groups.pop()!;
    const same = groups.findIndex((group, at) => group !== open[at]);
    for (let at = same === -1 ? groups.length : same; at < groups.length; at++)
      lines.push(...(at === 0 ? [""] : []), `${"  ".repeat(at)}${groups[at]}:`);
    if (groups.length === 0) lines.push("");
    open = groups;
    const indent = "  ".repeat(groups.length);
    const { default: value, description } = setting.facts;
    lines.push(`${indent}# ${description}`);
    if (value === undefined || typeof value === "function")
      lines.push(`${indent}# ${name}: (${expectedWords(setting)})`);
    else lines.push(`${indent}${name}: ${yaml().stringify(value).trim()}`);
  }
  return `${lines.join("\n")}\n`;
}
