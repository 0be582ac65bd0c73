// SPDX-License-Identifier: Apache-2.0
// The command line as a whole: the list of commands, and what holds for all of them.
import { Command } from "commander";
import { VERSION } from "../version.js";
import { registerBatch } from "./batch.js";
import { registerBench } from "./bench.js";
import { registerBoards } from "./boards.js";
import { registerCapture } from "./capture.js";
import { registerCompare } from "./compare.js";
import { registerConfig } from "./config.js";
import { registerConsume } from "./consume.js";
import { registerConvert } from "./convert.js";
import { registerControl } from "./control.js";
import { registerDoctor } from "./doctor.js";
import { registerEval } from "./eval.js";
import { registerFleet } from "./fleet.js";
import { registerInstallService } from "./install-service.js";
import { registerListDevices } from "./list-devices.js";
import { registerMatch } from "./match.js";
import { registerPresets } from "./presets.js";
import { registerProfile } from "./profile.js";
import { registerRecord } from "./record.js";
import { reportError } from "./report-error.js";
import { registerRun } from "./run.js";
import { registerScene } from "./scene.js";
import { registerView } from "./view.js";

/** In the order in which --help lists them. Each is one file beside this one. */
const COMMANDS = [
  registerRun,
  registerRecord,
  registerConvert,
  registerMatch,
  registerCompare,
  registerBatch,
  registerConsume,
  registerFleet,
  registerView,
  registerControl,
  registerScene,
  registerEval,
  registerBench,
  registerListDevices,
  registerCapture,
  registerProfile,
  registerDoctor,
  registerBoards,
  registerPresets,
  registerConfig,
  registerInstallService,
];

const EPILOGUE = `
Exit codes: 0 done, 2 usage or configuration, 3 device, file or sensor, 4 engine, 5 broker, 6 done but
something was left out, 70 a bug.
Begin with: depthwatt run, then depthwatt doctor for what this machine has.`;

export function buildProgram(): Command {
  const program = new Command("depthwatt")
    .description("Stereo depth from paired cameras, published over MQTT with its cost in joules per frame.")
    .version(VERSION, "--version", "print the version")
    .helpOption("--help", "print this help")
    .helpCommand(false)
    .addHelpText("after", EPILOGUE)
    .exitOverride()
    // Usage errors are told by reportError, in the same form as every other error.
    .configureOutput({ outputError: () => {} });
  for (const register of COMMANDS) register(program);
  for (const command of program.commands) command.helpOption("--help", "print this help");
  return program;
}

/** Runs one command line to its end. @returns the exit code */
export async function runCommandLine(words: readonly string[]): Promise<number> {
  const program = buildProgram();
  try {
    await program.parseAsync(words, { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    const command = program.commands.find((candidate) => words.includes(candidate.name()));
    return reportError(error, command ? `depthwatt ${command.name()}` : "depthwatt");
  }
}
