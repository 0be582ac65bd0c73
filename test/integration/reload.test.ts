// SPDX-License-Identifier: Apache-2.0
// Tests SIGHUP: a service reads its configuration again and continues with any content; a run whose terminal was closed
// ends.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hasTerminal } from "../../edge/cli/run/reload.js";
import type { RunFigures } from "../../edge/run/figures.js";
import { until } from "../doubles/frames.js";
import { PROGRAM } from "../doubles/program.js";

const SMALL = ["source.synthetic.width=160", "source.synthetic.height=96", "power.sensor=none"];
const WORDS = ["run", "--broker", "none", "--json", ...SMALL.flatMap((setting) => ["--set", setting])];

test("SIGHUP applies live settings, and a bad file leaves the running settings", async () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-reload-"));
  const file = join(folder, "depthwatt.yaml");
  writeFileSync(file, "match: {numDisparities: 32}\n");
  // Its own session, as a service has it: no terminal that could be closed.
  const recording = join(folder, "run.mcap");
  const words = [...WORDS, "--config", file, "--set", `outputs.mcap.file=${recording}`];
  const child = spawn(process.execPath, [PROGRAM, ...words], { detached: true });
  let log = "";
  let out = "";
  child.stderr.on("data", (chunk) => (log += chunk));
  child.stdout.on("data", (chunk) => (out += chunk));
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  try {
    const { pid } = child;
    await until(
      "it catches SIGHUP",
      () => /^SigCgt:\s*\w+[13579bdf]$/m.test(readFileSync(`/proc/${pid}/status`, "utf8")),
      60_000,
    );
    const reload = async (text: string, expected: RegExp) => {
      writeFileSync(file, text);
      child.kill("SIGHUP");
      await until(`the log says ${expected}`, () => expected.test(log), 30_000);
    };
    await reload(
      "match: {numDisparities: 48}\nrefine: {median: false}\n",
      /reload: changed match\.numDisparities, refine\.median"/,
    );
    await reload("match: {numDisparities: 48}\nrefine: {median: false}\n", /reload: no setting has changed/);
    await reload(
      "match: {numDisparities: 4}\n",
      /reload: match\.numDisparities \(from [^)]*yaml\): expected .* got 4; the running settings stay/,
    );
    await reload("match: [\n", /reload: [^"]*yaml:2:1: expected YAML or JSON: .* the running settings stay/);
    await reload(
      "match: {numDisparities: 64}\nengine: {threads: 1}\n",
      /reload: engine\.threads \(from reload\): expected settings that take effect live, .* the running settings stay/,
    );
    // On a slow machine all this is over before the first frame, which a recording shows.
    await until(
      "frames are recorded",
      () => existsSync(recording) && statSync(recording).size > 100_000,
      60_000,
    );
    // At this level the log has problems only. The end of the recording shows that the change was applied.
    writeFileSync(file, "log: {level: warn}\noutputs: {mcap: {recording: false}}\n");
    child.kill("SIGHUP");
    await until(
      "the recording ends",
      () => readFileSync(recording).subarray(-7).toString() === "MCAP0\r\n",
      30_000,
    );
    await reload("log: {level: loud}\n", /reload: log\.level .*; the running settings stay/);
    expect(log).not.toMatch(/reload: changed [^"]*log\.level/);
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
    expect((JSON.parse(out.trim()) as RunFigures).frames).toBeGreaterThan(0);
  } finally {
    child.kill("SIGKILL");
  }
}, 120_000);

// The master side of the terminal is closed once the run has begun; what it prints at its end goes to a file.
const IN_A_TERMINAL = `
import os, pty, sys, time
out, words = sys.argv[1], sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    fd = os.open(out, os.O_WRONLY | os.O_CREAT)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    os.execv(words[0], words)
while not int([line.split()[1] for line in open(f"/proc/{pid}/status") if line.startswith("SigCgt")][0], 16) & 1:
    time.sleep(0.02)
time.sleep(2)
os.close(terminal)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

test("a closed terminal ends the run in order", async () => {
  const out = join(mkdtempSync(join(tmpdir(), "depthwatt-hangup-")), "out");
  const python = spawn("python3", ["-c", IN_A_TERMINAL, out, process.execPath, PROGRAM, ...WORDS]);
  const code = await new Promise<number | null>((resolve) => python.on("close", resolve));
  expect(existsSync(out)).toBe(true);
  const text = readFileSync(out, "utf8");
  expect(code, text).toBe(0);
  expect(JSON.parse(text.trim().split("\n").at(-1)!)).toMatchObject({ backend: "cpu" });
}, 60_000);

test.each<[string, boolean]>([
  ["812 (node) S 1 812 812 0 -1 4194304", false],
  ["812 (node) S 1 812 812 34816 812 4194304", true],
  ["812 (a) 0 (b)) S 1 812 812 34816 812 4194304", true],
])("%s has a terminal: %s", (stat, expected) => {
  expect(hasTerminal(stat)).toBe(expected);
});
