// SPDX-License-Identifier: Apache-2.0
// The helper's units: this machine's paths, systemd's own judgement, what root would run that others may write; and its client.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { loadNative } from "../../../../../edge/contracts/native.js";
import { ask } from "../../../../../edge/service/power-mode/client.js";
import {
  checkRootsOwn,
  planAllowing,
  planForbidding,
  unitTexts,
} from "../../../../../edge/service/power-mode/install.js";
import { describeStep } from "../../../../../edge/service/steps.js";
import { needs } from "../../../../doubles/needs.js";

const folder = mkdtempSync(join(realpathSync(tmpdir()), "depthwatt-power-mode-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("are written with this machine's paths, and taken away again", () => {
  const plan = planAllowing("/opt/node", "/opt/helper.js", false).map(describeStep);
  expect(plan.map((step) => step.replace(/, \d+ bytes/, ""))).toEqual([
    "write /etc/systemd/system/depthwatt-power-mode.socket (mode 0644)",
    "write /etc/systemd/system/depthwatt-power-mode@.service (mode 0644)",
    "run systemctl daemon-reload",
    "run systemctl enable --now depthwatt-power-mode.socket",
  ]);
  expect(planForbidding(false).map(describeStep)).toEqual([
    "run systemctl disable --now depthwatt-power-mode.socket",
    "remove /etc/systemd/system/depthwatt-power-mode.socket",
    "remove /etc/systemd/system/depthwatt-power-mode@.service",
    "run systemctl daemon-reload",
  ]);
  const texts = unitTexts("/opt/node", "/opt/helper.js");
  expect(texts["depthwatt-power-mode@.service"]).toMatch(/^ExecStart=\/opt\/node \/opt\/helper\.js$/m);
  expect(() => unitTexts("/opt/no de", "/opt/helper.js")).toThrow(/without blanks/);
});

test("which the Debian package has brought are only switched on and off", () => {
  const [on, off] = [planAllowing("/opt/node", "/opt/helper.js", true), planForbidding(true)];
  expect([on, off].map((plan) => plan.map(describeStep))).toEqual([
    ["run systemctl enable --now depthwatt-power-mode.socket"],
    ["run systemctl disable --now depthwatt-power-mode.socket"],
  ]);
});

needs("systemd").suite("the units", () => {
  test("verify clean", () => {
    const texts = unitTexts(process.execPath, "/etc/hosts");
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
    const paths = Object.keys(texts).map((name) => join(folder, name));
    const { status, stdout, stderr } = spawnSync(
      "systemd-analyze",
      ["--man=no", "--recursive-errors=yes", "verify", ...paths],
      { encoding: "utf8" },
    );
    expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: "" });
  });
});

test("a program that others may write to is not run as root", () => {
  const program = join(folder, "node");
  writeFileSync(program, "", { mode: 0o755 });
  const owner = process.getuid!();
  chmodSync(program, 0o775);
  expect(() => checkRootsOwn([program], owner)).toThrow(`${program} may be written by others than root`);
  chmodSync(program, 0o755);
  expect(() => checkRootsOwn([program], owner + 1)).toThrow(/may be written by others than root/);
});

test("the kernel says who is at the other end of a socket, and a file has no other end", () => {
  expect(() => loadNative().peerCredentials(99_999)).toThrow(/connected Unix socket/);
});

describe("the client", () => {
  /** Takes one request and answers so. @returns what it was asked, the client's status and words */
  async function asked(words: string[], answer: string) {
    const path = join(folder, `socket-${answer.length}-${words.length}`);
    let request = "";
    const server: Server = createServer((socket) => {
      socket.on("data", (chunk) => {
        request += chunk;
        socket.end(answer);
      });
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    try {
      const said = await ask(words, path);
      return { request, ...said };
    } finally {
      server.close();
    }
  }

  test("takes nvpmodel's words and gives its answer", async () => {
    expect(await asked(["-q"], "ok 15W\n")).toEqual({
      request: "query\n",
      status: 0,
      out: "NV Power Mode: 15W\n",
      err: "",
    });
    expect((await asked(["-m", "2"], "ok MAXN\n")).request).toBe("set 2\n");
  });

  test("fails with the reason of a refusal, and without an answer", async () => {
    expect(await asked(["-m", "9"], "refused this board has no mode 9\n")).toMatchObject({
      status: 1,
      out: "",
      err: "refused this board has no mode 9\n",
    });
    expect(await ask(["-q"], join(folder, "nobody"))).toMatchObject({
      status: 1,
      err: expect.stringContaining("ENOENT"),
    });
    expect((await ask(["--force"], join(folder, "nobody"))).status).toBe(1);
  });
});
