// SPDX-License-Identifier: Apache-2.0
// depthwatt doctor: what this machine has, what it lacks, and what to do about that.
import { hostname } from "node:os";
import type { Command } from "commander";
import { gatherEvidence } from "../../boards/index.js";
import { type ConfigOptions, withConfig, withExamples, withJson } from "../../cli/options.js";
import { note, paint, printJson, printLine, terminalWidth, wrap } from "../../cli/output.js";
import { VERSION } from "../../contracts/version.js";
import type { Finding } from "./finding.js";
import { doctorInService } from "./in-service.js";
import { lookAtClocks } from "./look-at-clocks.js";
import { lookAtControl } from "./look-at-control.js";
import { lookAtArgus, lookAtBroker, lookAtCameras, lookAtPower } from "./look-at-devices.js";
import { lookAtGpuNodes } from "./look-at-gpu-nodes.js";
import { lookAtMemory } from "./look-at-memory.js";
import {
  lookAtAddon,
  lookAtBoard,
  lookAtCpu,
  lookAtGpu,
  lookAtImages,
  lookAtNode,
  lookAtSettings,
} from "./look-at-program.js";
import { lookAtCalibration, lookAtPlugin } from "./look-at-upgrade.js";

const MARKS = { ok: ["ok", "green"], absent: ["--", "yellow"], bad: ["BAD", "red"] } as const;
const INDENT = 18;

async function examine(options: ConfigOptions): Promise<Finding[]> {
  const { finding: settings, loaded } = lookAtSettings(options);
  const { finding: addon, native } = lookAtAddon();
  const findings = [lookAtNode(), addon, await lookAtImages()];
  const backend = loaded?.config.engine.backend ?? "auto";
  if (native) findings.push(lookAtCpu(native), await lookAtGpu(native, backend));
  if (loaded && findings.some(({ name, state }) => name === "cuda" && state === "ok"))
    findings.push(await lookAtMemory(loaded.config));
  if (native) findings.push(lookAtClocks(native));
  const evidence = gatherEvidence();
  const plugin = loaded && lookAtPlugin(backend, loaded, evidence);
  findings.push(...[plugin, lookAtGpuNodes(backend, evidence)].filter((one) => one !== undefined), settings);
  if (loaded) findings.push(lookAtBoard(loaded), lookAtCameras(loaded.config));
  const more = loaded ? [await lookAtArgus(loaded.config), await lookAtCalibration(loaded.config)] : [];
  findings.push(...more.filter((one) => one !== undefined));
  findings.push(lookAtPower(native, loaded?.board.totalRule));
  if (loaded) {
    findings.push(await lookAtBroker(loaded.config));
    const control = await lookAtControl(loaded.config);
    if (control) findings.push(control);
  }
  return findings;
}

/** A finding as lines of at most `width` columns. */
export function findingLines({ name, state, text, hint, details = [] }: Finding, width: number): string[] {
  const room = width - INDENT;
  const [mark, colour] = MARKS[state];
  const head = ` ${paint(colour, mark.padEnd(4))} ${name.padEnd(INDENT - 6)}`;
  const lines = text.split("\n").flatMap((line) => wrap(line, room));
  const more = details.flatMap((detail) =>
    wrap(detail, room - 2).map((line, index) => (index === 0 ? line : `  ${line}`)),
  );
  const hints = hint === undefined ? [] : wrap(`hint: ${hint}`, room);
  const rest = [
    ...lines.slice(1),
    ...more.map((line) => paint("dim", line)),
    ...hints.map((line) => paint("bold", line)),
  ];
  return [head + lines[0], ...rest.map((line) => " ".repeat(INDENT) + line)];
}

/** The commands alone, to read and to pass to a shell; what none of them fixes is there as a remark. */
export function fixLines(findings: readonly Finding[]): string[] {
  return findings.flatMap(({ name, state, text, hint, commands = [] }) => {
    if (commands.length === 0 && state !== "bad") return [];
    // One line: what follows a line break in a message would be a command.
    const oneLine = (words: string) => words.replace(/\s+/g, " ");
    const none = hint === undefined ? [] : [`#   no command does: ${oneLine(hint)}`];
    return [`# ${name}: ${oneLine(text)}`, ...(commands.length === 0 ? none : commands)];
  });
}

interface DoctorFlags extends ConfigOptions {
  json?: boolean;
  fix?: boolean;
  service?: string | true;
}

async function doctor({ service, ...options }: DoctorFlags): Promise<void> {
  if (service !== undefined) {
    process.exitCode = doctorInService({ service, ...options });
    return;
  }
  const findings = await examine(options);
  const bad = findings.filter((finding) => finding.state === "bad");
  if (bad.length > 0) process.exitCode = bad[0]!.exitCode ?? 3;
  if (options.json) {
    printJson({ version: VERSION, host: hostname(), healthy: bad.length === 0, findings });
    return;
  }
  if (options.fix) {
    const lines = fixLines(findings);
    for (const line of lines) printLine(line);
    if (lines.length === 0) note("Nothing to fix.");
    return;
  }
  printLine(paint("bold", `depthwatt ${VERSION} on ${hostname()}`));
  for (const finding of findings) for (const line of findingLines(finding, terminalWidth())) printLine(line);
  const names = bad.map((finding) => finding.name).join(", ");
  printLine(bad.length === 0 ? "Ready: 'depthwatt run' will work." : `Not ready: ${names}.`);
}

export function define(command: Command): void {
  withJson(withConfig(command), "print as JSON, with all facts")
    .option("--service [name]", "run in the installed service's sandbox; name: one of several instances")
    .option("--fix", "print only the commands that fix the findings; run none")
    .action(doctor);
  withExamples(
    command,
    "depthwatt doctor",
    "depthwatt doctor --fix",
    "depthwatt doctor --service",
    "depthwatt doctor --set outputs.mqtt.broker=mqtt://broker.local --json",
  );
}
