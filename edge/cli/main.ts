#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The executable: hands the command line over and leaves with its exit code.
import { leave, watchOutputs } from "./output.js";
import { runCommandLine } from "./program.js";
import { reportError } from "./report-error.js";

const json = process.argv.includes("--json");
watchOutputs((error) => leave(reportError(error, "depthwatt")));
// Reports an error outside of a command's own steps like every other bug, with its exit code.
process.on("uncaughtException", (error) => leave(reportError(error, "depthwatt", json)));
const exitCode = await runCommandLine(process.argv.slice(2));
// A command that failed may have left sockets or cameras open, which would keep the process alive.
if (exitCode !== 0) leave(exitCode);
