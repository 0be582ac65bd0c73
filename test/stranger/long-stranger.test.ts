// SPDX-License-Identifier: Apache-2.0
// Runs the tasks of tasks.sh in order in one empty folder, as a stranger with an empty home folder would, and checks that
// each command is on the page that its task names.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { needs, PYTHON } from "../doubles/needs.js";

const project = resolve(import.meta.dirname, "../..");

interface Task {
  title: string;
  page: string;
  byHand: boolean;
  lines: string[];
}

const TASKS: Task[] = readFileSync(join(import.meta.dirname, "tasks.sh"), "utf8")
  .split(/^## /m)
  .slice(1)
  .map((text) => {
    const [head = "", ...lines] = text.trim().split("\n");
    const [, title = "", page = "", byHand] = /^(.*): (\S+?)(, by hand)?$/.exec(head) ?? [];
    return { title, page, byHand: byHand !== undefined, lines };
  });

/** The output of each task shows that it worked. */
const EXPECTED: Record<string, RegExp> = {
  "2 demo": /<title>depthwatt<\/title>.*10 frames .* crc errors 0/s,
  "3 Python": /^\S+ \d+ \d+\.\d+/m,
  "4 view a broker": /<title>depthwatt<\/title>/,
  "5 doctor": /Ready: 'depthwatt run' will work/,
  "6 own images": /wrote disparity\.pfm and disparity\.png.*10 frames in/s,
  "8 Node library": /^640 x 480: .* m in the middle$/m,
  "10 record and replay": /10 frames in.*40 written.*^10$/ms,
  "11 change a setting of a running device": /^64$.*match\.algorithm +cbca/ms,
  "13 eval": /^mean +valid/m,
  "14 point cloud": /wrote cloud\.ply.*element vertex \d+/s,
  "15 ROS": /ROS messages were sent/,
  "16 Home Assistant": /announced/,
  "17 configuration file": /wrote depthwatt\.yaml.*3 frames in/s,
  "18 recover from a mistake": /did you mean "match\.numDisparities".*exit code 2.*3 frames in/s,
  "19 completion in fish": /^\d\d+$/m,
};

test("twenty tasks, and each command is on its page", () => {
  expect(TASKS).toHaveLength(20);
  const missing = TASKS.flatMap(({ title, page, lines }) => {
    const text = readFileSync(join(project, page), "utf8");
    const asked = lines.filter((line) => line !== "" && !/# (ours|adapted)$/.test(line));
    return asked.filter((line) => !text.includes(line)).map((line) => `${title}: ${page} has no "${line}"`);
  });
  expect(missing).toEqual([]);
  expect(TASKS.filter(({ byHand }) => !byHand).map(({ title }) => title)).toEqual(Object.keys(EXPECTED));
});

needs("paho", "numpy").suite("a stranger", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-stranger-"));
  const seconds: string[] = [];

  beforeAll(() => {
    for (const name of ["bin", "home", "work"]) mkdirSync(join(folder, name));
    symlinkSync(join(project, "dist/edge/cli/main.js"), join(folder, "bin/depthwatt"));
    // In a checkout npx finds the command of the folder that it runs in.
    writeFileSync(join(folder, "bin/npx"), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  });

  afterAll(() => {
    spawnSync("sh", ["-c", "kill $(cat *.pid)"], { cwd: join(folder, "work") });
    console.log(`a stranger's tasks, seconds: ${seconds.join(", ")}`);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  const run = ({ title, lines }: Task) => {
    const started = performance.now();
    const { status, stdout, stderr } = spawnSync("bash", ["-ec", `exec 2>&1\n${lines.join("\n")}`], {
      cwd: join(folder, "work"),
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 55_000,
      env: {
        HOME: join(folder, "home"),
        PATH: `${join(folder, "bin")}:${process.env.PATH}`,
        PROJECT: project,
        PYTHON,
      },
    });
    seconds.push(`${title} ${((performance.now() - started) / 1000).toFixed(1)}`);
    expect(status, `${title}: ${stdout}${stderr}`).toBe(0);
    expect(stdout, title).toMatch(EXPECTED[title]!);
  };

  // Later tasks use the files of earlier tasks.
  test("does every task, one after the other", { timeout: 600_000 }, () => {
    for (const task of TASKS.filter(({ byHand }) => !byHand)) run(task);
  });
});
