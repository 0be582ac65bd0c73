// SPDX-License-Identifier: Apache-2.0
// Every command, one line each, by group, in the order in which --help lists them. A command's code is imported when it is called.
import type { Command } from "commander";

export interface CommandEntry {
  /** Heading in --help. */
  group: "Run" | "Cameras" | "Files" | "Measure" | "Device" | "Fleet";
  /** Its name and its arguments, such as "convert <in> <out>". */
  usage: string;
  /** One line for --help. */
  summary: string;
  /** Imports its folder's command.ts, which adds its options, its examples and its action. */
  load: () => Promise<{ define: (command: Command) => void }>;
  /** Its action reads the other commands, so that they are defined too. */
  needsAll?: true;
}

// biome-ignore format: one line per command
export const COMMANDS: readonly CommandEntry[] = [
  { group: "Run", usage: "run", summary: "capture, match and publish depth until stopped, with live metrics", load: () => import("./run/command.js") },
  { group: "Run", usage: "record <out.mcap>", summary: "run, and record depth, images and metrics to an MCAP file", load: () => import("./record/command.js") },
  { group: "Run", usage: "consume <url>", summary: "subscribe to a stream: check every frame, report rate, latency and losses", load: () => import("./consume/command.js") },
  { group: "Run", usage: "view <url>", summary: "serve the live page for the devices of any broker", load: () => import("./view/command.js") },
  { group: "Cameras", usage: "list-devices", summary: "list cameras with their formats, sizes and rates", load: () => import("./list-devices/command.js") },
  { group: "Cameras", usage: "capture", summary: "save still pairs from the cameras, as captured", load: () => import("./capture/command.js") },
  { group: "Cameras", usage: "calibrate", summary: "calibrate both cameras from pairs that show a board", load: () => import("./calibrate/command.js") },
  { group: "Cameras", usage: "check-calibration [left] [right]", summary: "check that the cameras still match their calibration", load: () => import("./check-calibration/command.js") },
  { group: "Files", usage: "match <left> <right>", summary: "match one pair of images and write the disparity map", load: () => import("./match/command.js") },
  { group: "Files", usage: "compare <left> <right>", summary: "match one pair with two presets: disparity and error maps side by side", load: () => import("./compare/command.js") },
  { group: "Files", usage: "batch <in> <out>", summary: "match whole archives of pairs; continues after an interruption", load: () => import("./batch/command.js") },
  { group: "Files", usage: "convert <in> <out>", summary: "recordings into images, point clouds, tables and previews; folders of images into recordings", load: () => import("./convert/command.js") },
  { group: "Files", usage: "scene", summary: "write the built-in scene: images, exact disparity, occlusion masks, calibration", load: () => import("./scene/command.js") },
  { group: "Measure", usage: "eval <folders...>", summary: "measure accuracy on scenes with ground truth", load: () => import("./eval/command.js") },
  { group: "Measure", usage: "reproduce <paper>", summary: "repeat the tables and figures of a paper, ours next to the printed values", load: () => import("./reproduce/command.js") },
  { group: "Measure", usage: "bench", summary: "time a matcher on a synthetic pair in memory", load: () => import("./bench/command.js") },
  { group: "Measure", usage: "measure [left] [right]", summary: "measure depth error and noise at a flat target; correct the baseline's scale", load: () => import("./measure/command.js") },
  { group: "Measure", usage: "profile", summary: "measure frame rate and energy over sizes, paths, rates and power modes", load: () => import("./profile/command.js") },
  { group: "Measure", usage: "energy [files...]", summary: "show the energy log: frame rate, watts and joules per frame over time", load: () => import("./energy/command.js") },
  { group: "Device", usage: "doctor", summary: "report what this machine has, what it lacks, and what to do", load: () => import("./doctor/command.js") },
  { group: "Device", usage: "boards", summary: "show which board this is, why, and every known board", load: () => import("./boards/command.js") },
  { group: "Device", usage: "presets", summary: "list the presets for --preset: purpose, source and accuracy", load: () => import("./presets/command.js") },
  { group: "Device", usage: "config", summary: "show settings, their origin and their meaning", load: () => import("./config/command.js") },
  { group: "Device", usage: "power-modes", summary: "show this board's power modes, and whether the service may change them", load: () => import("./power-modes/command.js") },
  { group: "Device", usage: "install-service", summary: "install depthwatt as a systemd service", load: () => import("./install-service/command.js") },
  { group: "Device", usage: "uninstall-service", summary: "remove the service that install-service made; settings and recordings stay", load: () => import("./uninstall-service/command.js") },
  { group: "Device", usage: "support-bundle", summary: "write an archive for a report, without passwords and images", load: () => import("./support-bundle/command.js") },
  { group: "Device", usage: "completion <shell>", summary: "print shell completion for commands, options, settings and their values", load: () => import("./completion/command.js"), needsAll: true },
  { group: "Fleet", usage: "fleet <url>", summary: "list every device at a broker: state, frame rate, watts, versions, warnings", load: () => import("./fleet/command.js") },
  { group: "Fleet", usage: "get [key...]", summary: "read settings of a running depthwatt: those named, or all", load: () => import("./get/command.js") },
  { group: "Fleet", usage: "set <key=value...>", summary: "change settings of a running depthwatt, all of them or none, without losing a frame", load: () => import("./set/command.js") },
];
