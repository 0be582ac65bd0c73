// SPDX-License-Identifier: Apache-2.0
// The commands, in the order in which --help lists them. Each is one file beside this one, imported when it is called: what
// other commands need costs no time.
import type { Command } from "commander";

export interface CommandEntry {
  name: string;
  /** As --help lists them; the command's own file says what each is. */
  arguments: string;
  description: string;
  /** Gives the command its options, its examples and what it does. */
  define: () => Promise<(command: Command) => void>;
  /** It reads the others: they are defined, too, when it is called. */
  readsOthers?: true;
}

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "run",
    arguments: "",
    description: "capture, match and publish depth until stopped, with live figures",
    define: async () => (await import("./run.js")).defineRun,
  },
  {
    name: "record",
    arguments: "<out.mcap>",
    description: "run, and record depth, images and figures to an MCAP file",
    define: async () => (await import("./record.js")).defineRecord,
  },
  {
    name: "convert",
    arguments: "<in> <out>",
    description:
      "recordings into images, point clouds, tables and previews; folders of images into recordings",
    define: async () => (await import("./convert.js")).defineConvert,
  },
  {
    name: "match",
    arguments: "<left> <right>",
    description: "match one pair of pictures and write the disparity map",
    define: async () => (await import("./match.js")).defineMatch,
  },
  {
    name: "compare",
    arguments: "<left> <right>",
    description: "match one pair with two presets: disparity and error maps side by side",
    define: async () => (await import("./compare.js")).defineCompare,
  },
  {
    name: "batch",
    arguments: "<in> <out>",
    description: "match whole archives of pairs; goes on where it was interrupted",
    define: async () => (await import("./batch.js")).defineBatch,
  },
  {
    name: "consume",
    arguments: "<url>",
    description: "subscribe to a stream: check every frame, report rate, latency and losses",
    define: async () => (await import("./consume.js")).defineConsume,
  },
  {
    name: "fleet",
    arguments: "<url>",
    description: "every device at a broker: state, frames a second, watts, versions, warnings",
    define: async () => (await import("./fleet.js")).defineFleet,
  },
  {
    name: "view",
    arguments: "<url>",
    description: "serve the live page for the devices of any broker",
    define: async () => (await import("./view.js")).defineView,
  },
  {
    name: "get",
    arguments: "[key...]",
    description: "settings of a running depthwatt: those named, or all",
    define: async () => (await import("./control.js")).defineGet,
  },
  {
    name: "set",
    arguments: "<key=value...>",
    description: "change settings of a running depthwatt, all of them or none, without losing a frame",
    define: async () => (await import("./control.js")).defineSet,
  },
  {
    name: "scene",
    arguments: "",
    description: "write the built-in scene: pictures, exact disparity, occlusion masks, calibration",
    define: async () => (await import("./scene.js")).defineScene,
  },
  {
    name: "eval",
    arguments: "<folders...>",
    description: "measure accuracy on scenes with a ground truth",
    define: async () => (await import("./eval.js")).defineEval,
  },
  {
    name: "bench",
    arguments: "",
    description: "time a matcher on a synthetic pair in memory",
    define: async () => (await import("./bench.js")).defineBench,
  },
  {
    name: "calibrate",
    arguments: "",
    description: "calibrate both cameras from pairs that show a board",
    define: async () => (await import("./calibrate.js")).defineCalibrate,
  },
  {
    name: "check-calibration",
    arguments: "[left] [right]",
    description: "whether the cameras lie to each other as their calibration says",
    define: async () => (await import("./check-calibration.js")).defineCheckCalibration,
  },
  {
    name: "list-devices",
    arguments: "",
    description: "cameras with their formats, sizes and rates",
    define: async () => (await import("./list-devices.js")).defineListDevices,
  },
  {
    name: "capture",
    arguments: "",
    description: "save still pairs from the cameras, as captured",
    define: async () => (await import("./capture.js")).defineCapture,
  },
  {
    name: "profile",
    arguments: "",
    description: "measure frame rate and energy over sizes, paths, rates and power modes",
    define: async () => (await import("./profile.js")).defineProfile,
  },
  {
    name: "doctor",
    arguments: "",
    description: "what this machine has, what it lacks, and what to do",
    define: async () => (await import("./doctor.js")).defineDoctor,
  },
  {
    name: "boards",
    arguments: "",
    description: "which board this is, why, and every board that is known",
    define: async () => (await import("./boards.js")).defineBoards,
  },
  {
    name: "presets",
    arguments: "",
    description: "settings under one name, for --preset: what each is for, its source and its figures",
    define: async () => (await import("./presets.js")).definePresets,
  },
  {
    name: "config",
    arguments: "",
    description: "show settings, their origin and their meaning",
    define: async () => (await import("./config.js")).defineConfig,
  },
  {
    name: "power-modes",
    arguments: "",
    description: "this board's power modes, and whether the service may change them",
    define: async () => (await import("./power-modes.js")).definePowerModes,
  },
  {
    name: "install-service",
    arguments: "",
    description: "make depthwatt a systemd service of this machine",
    define: async () => (await import("./install-service.js")).defineInstallService,
  },
  {
    name: "uninstall-service",
    arguments: "",
    description: "end the service and remove what install-service made; settings and recordings stay",
    define: async () => (await import("./install-service.js")).defineUninstallService,
  },
  {
    name: "completion",
    arguments: "<shell>",
    description: "print the completion of a shell: commands, options, settings and their values",
    define: async () => (await import("./completion.js")).defineCompletion,
    readsOthers: true,
  },
];
