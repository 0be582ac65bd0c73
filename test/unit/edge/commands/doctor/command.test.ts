// SPDX-License-Identifier: Apache-2.0
// depthwatt doctor as a whole: which findings it prints in which order, as text, JSON and commands, and its exit code.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import "../../../../../edge/commands/doctor/command.js";
import { fixLines } from "../../../../../edge/commands/doctor/command.js";
import type { Finding } from "../../../../../edge/commands/doctor/finding.js";
import { VERSION } from "../../../../../edge/contracts/version.js";
import { runInProcess } from "../../../../doubles/command-line.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-doctor-command-"));
afterAll(() => rmSync(folder, { recursive: true }));

const set = (...pairs: string[]) => pairs.flatMap((pair) => ["--set", pair]);
const doctor = (...words: string[]) => runInProcess(["doctor", ...words]);
const QUIET = set("outputs.mqtt.broker=none", "board=none", "engine.backend=cpu");

/** Findings that only some machines have: with a GPU, or with a plugin for one. */
const OF_MACHINES = ["memory", "plugin", "nodes"];
const MACHINE = ["node", "addon", "images", "cpu", "cuda", "clocks"];

async function findingsOf(...words: string[]) {
  const ran = await doctor("--json", ...words);
  expect(ran.stderr).toBe("");
  const lines = ran.stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(1);
  const report = JSON.parse(lines[0]!) as {
    findings: Finding[];
    healthy: boolean;
    version: string;
    host: string;
  };
  const bad = report.findings.filter(({ state }) => state === "bad");
  expect([report.version, report.host, report.healthy]).toEqual([VERSION, hostname(), bad.length === 0]);
  expect(ran.code).toBe(bad.length === 0 ? 0 : (bad[0]!.exitCode ?? 3));
  const names = report.findings.map(({ name }) => name).filter((name) => !OF_MACHINES.includes(name));
  return { ...report, names, code: ran.code };
}

test("--json has a finding for every part, in the order of a person who looks", async () => {
  const { names, findings } = await findingsOf(...QUIET);
  expect(names).toEqual([...MACHINE, "settings", "board", "cameras", "power", "broker"]);
  const settings = findings.find(({ name }) => name === "settings")!;
  expect(settings.text).toBe("3 given, by --set");
});

test("cameras of a command, a calibration and control have their own findings", async () => {
  const calibration = join(folder, "rig.json");
  writeFileSync(calibration, "{}");
  const camera = "gst-launch-1.0 nvarguscamerasrc sensor-id=0 ! fdsink";
  const secretFile = join(folder, "secret");
  writeFileSync(secretFile, "0123456789abcdef0123456789abcdef\n", { mode: 0o600 });
  const { names, findings, code } = await findingsOf(
    ...QUIET,
    ...set("source.kind=command", `source.command.left=${camera}`, `source.command.right=${camera}`),
    ...set(`calibration.file=${calibration}`),
    ...set("control.enabled=true", "control.authentication=secret", `control.secretFile=${secretFile}`),
  );
  expect(names).toEqual([
    ...[...MACHINE, "settings", "board", "cameras", "argus", "calibration", "power", "broker", "control"],
  ]);
  const of = (wanted: string) => findings.find(({ name }) => name === wanted)!;
  expect(of("calibration")).toMatchObject({ state: "bad", facts: { file: calibration } });
  expect(of("control")).toMatchObject({ state: "ok", text: "on the live page; there is no broker" });
  // No machine that runs the tests has NVIDIA's daemon, unless it is a Jetson.
  if (of("argus").state === "bad") {
    expect(of("argus").commands).toEqual(["sudo systemctl restart nvargus-daemon"]);
    expect(code).toBe(of("argus").exitCode);
  }
});

test("other commands use no camera daemon", async () => {
  const { names } = await findingsOf(
    ...QUIET,
    ...set("source.kind=command", "source.command.left=cat", "source.command.right=cat"),
  );
  expect(names).not.toContain("argus");
});

test("wrong settings: only the machine is examined, and the exit code is theirs", async () => {
  const { names, findings, code, healthy } = await findingsOf(...set("match.nothing=1"));
  expect(names).toEqual([...MACHINE, "settings", "power"]);
  expect(findings.find(({ name }) => name === "settings")).toMatchObject({ state: "bad", exitCode: 2 });
  expect([code, healthy]).toEqual([2, false]);
});

test("as text: a heading, the findings, and whether a run will work", async () => {
  const { findings } = await findingsOf(...QUIET);
  const { code, stdout, stderr } = await doctor(...QUIET);
  expect(stderr).toBe("");
  const lines = stdout.trimEnd().split("\n");
  expect(lines[0]).toBe(`depthwatt ${VERSION} on ${hostname()}`);
  const heads = lines.flatMap((line) => /^ (ok|--|BAD) +(\S+) +\S/.exec(line)?.slice(1, 3) ?? []);
  const marks = { ok: "ok", absent: "--", bad: "BAD" };
  expect(heads).toEqual(findings.flatMap(({ name, state }) => [marks[state], name]));
  const bad = findings.filter(({ state }) => state === "bad");
  if (bad.length === 0) expect([code, lines.at(-1)]).toEqual([0, "Ready: 'depthwatt run' will work."]);
  const wrong = await doctor(...set("match.nothing=1"));
  expect(wrong.code).toBe(2);
  expect(wrong.stdout).toMatch(
    /^ BAD {2}settings {4}match\.nothing \(from --set\): no setting has this name$/m,
  );
  expect(wrong.stdout).toMatch(/\nNot ready: (.*, )?settings\.\n$/);
});

test("--fix prints only commands and remarks, or that there is nothing to fix", async () => {
  const { findings } = await findingsOf(...QUIET);
  const lines = fixLines(findings);
  const { stdout, stderr } = await doctor("--fix", ...QUIET);
  expect(stdout).toBe(lines.map((line) => `${line}\n`).join(""));
  expect(stderr).toBe(lines.length === 0 ? "Nothing to fix.\n" : "");
  const wrong = await doctor("--fix", ...set("match.nothing=1"));
  expect(wrong.code).toBe(2);
  expect(wrong.stdout).toContain(
    "# settings: match.nothing (from --set): no setting has this name\n#   no command does: Check the spelling;",
  );
  expect(wrong.stdout).not.toContain("# node");
  expect(wrong.stderr).toBe("");
});

test("--service asks the installed service, which is not there", async () => {
  const { code, stdout, stderr } = await doctor("--service", "of-no-machine");
  expect(code).not.toBe(0);
  expect(stdout).toBe("");
  expect(stderr).toContain("there is no depthwatt@of-no-machine.service");
});
