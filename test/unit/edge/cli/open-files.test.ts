// SPDX-License-Identifier: Apache-2.0
// A limit of open files that no command fits in is an error with a hint, not a stack.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { openFilesLimit } from "../../../../edge/cli/open-files.js";
import { PROGRAM } from "../../../doubles/program.js";

test("the soft limit is read", () => {
  expect(openFilesLimit("Max processes 1 1 processes\nMax open files            40    4096    files\n")).toBe(
    40,
  );
  expect(openFilesLimit("Max open files            unlimited    unlimited    files\n")).toBeUndefined();
});

test.each([26, 40, 63])("%i open files are too few", (limit) => {
  const shell = `ulimit -n ${limit}; exec "$0" "$1" boards`;
  const { status, stderr } = spawnSync("bash", ["-c", shell, process.execPath, PROGRAM], {
    encoding: "utf8",
  });
  expect(stderr).toBe(
    `error: expected a limit of at least 64 open files, found ${limit}\n` +
      "hint: Raise it: 'ulimit -n 1024' in the shell, or LimitNOFILE=1024 in the service's unit.\n",
  );
  expect(status).toBe(4);
});
