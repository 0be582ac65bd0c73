// SPDX-License-Identifier: Apache-2.0
// What install-service would do, step by step, and what it refuses.
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { DepthwattError } from "../../../../core/index.js";
import {
  describeStep,
  type Machine,
  perform,
  planInstallation,
  unitFor,
} from "../../../../edge/service/install-plan.js";

const unit = readFileSync(resolve(import.meta.dirname, "../../../../edge/service/depthwatt.service"), "utf8");
const machine: Machine = {
  node: "/usr/bin/node",
  mainScript: "/opt/depthwatt/dist/edge/cli/main.js",
  unit,
  udevRule: "# rule\n",
  hasUser: () => false,
};
const root = mkdtempSync(join(tmpdir(), "depthwatt-install-"));
afterAll(() => rmSync(root, { recursive: true }));

function refusal(action: () => unknown): DepthwattError {
  try {
    action();
  } catch (error) {
    if (error instanceof DepthwattError) return error;
  }
  throw new Error("expected a DepthwattError");
}

describe("the plan", () => {
  const words = (changes: Partial<Machine> = {}) =>
    planInstallation({ ...machine, ...changes }).map(describeStep);

  test("makes groups before the user, and the unit before systemd reads it", () => {
    const steps = words().map((step) => step.split(" ").slice(0, 3).join(" "));
    const order = [
      "run groupadd --system",
      "run useradd --system",
      "write /etc/systemd/system/depthwatt.service (mode",
      "run systemctl daemon-reload",
      "run systemctl enable",
    ];
    const places = order.map((step) => steps.indexOf(step));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places).not.toContain(-1);
  });

  test("leaves a user that is there alone", () => {
    expect(words({ hasUser: (name) => name === "depthwatt" }).join("\n")).not.toContain("useradd");
  });

  test.each(["/home/anna/.nvm/node", "/root/node", "/tmp/node"])(
    "refuses a Node at %s, which the unit cannot see",
    (node) => {
      const error = refusal(() => planInstallation({ ...machine, node }));
      expect(error.code).toBe("SERVICE_FAILED");
      expect(error.message).toContain(node);
    },
  );
});

describe("the unit", () => {
  test("gets this machine's paths and nothing else", () => {
    const changed = unitFor(machine).split("\n");
    const differing = unit
      .split("\n")
      .flatMap((line, index) => (line === changed[index] ? [] : [changed[index]]));
    expect(differing).toEqual([
      "ExecStart=/usr/bin/node /opt/depthwatt/dist/edge/cli/main.js run --config /etc/depthwatt/config.yaml",
    ]);
  });

  test("quotes what systemd would read as its own", () => {
    const odd = unitFor({ ...machine, mainScript: "/opt/100 % $HOME/main.js" });
    expect(odd).toContain('ExecStart=/usr/bin/node "/opt/100 %% $$HOME/main.js" run');
  });
});

describe("performing", () => {
  const files = planInstallation(machine).filter((step) => step.kind !== "run");

  test("writes every file with its mode, whatever the umask", () => {
    const before = process.umask(0o077);
    try {
      for (const step of files) perform(step, root);
    } finally {
      process.umask(before);
    }
    const mode = (path: string) => (statSync(join(root, path)).mode & 0o777).toString(8);
    expect(mode("etc/depthwatt/mqtt-password")).toBe("600");
    expect(mode("etc/systemd/system/depthwatt.service")).toBe("644");
    expect(mode("etc/udev/rules.d/60-depthwatt-power.rules")).toBe("644");
    expect(readFileSync(join(root, "etc/udev/rules.d/60-depthwatt-power.rules"), "utf8")).toBe("# rule\n");
  });

  test("a second time keeps settings and password, renews the unit", () => {
    writeFileSync(join(root, "etc/depthwatt/mqtt-password"), "secret\n");
    writeFileSync(join(root, "etc/systemd/system/depthwatt.service"), "old\n");
    for (const step of files) perform(step, root);
    expect(readFileSync(join(root, "etc/depthwatt/mqtt-password"), "utf8")).toBe("secret\n");
    expect(readFileSync(join(root, "etc/systemd/system/depthwatt.service"), "utf8")).toBe(unitFor(machine));
  });

  test("what was there and open to all gets the mode that is printed", () => {
    chmodSync(join(root, "etc/depthwatt/mqtt-password"), 0o666);
    chmodSync(join(root, "etc/depthwatt"), 0o777);
    chmodSync(join(root, "etc/depthwatt/config.yaml"), 0o644);
    for (const step of files) perform(step, root);
    const mode = (path: string) => (statSync(join(root, path)).mode & 0o777).toString(8);
    expect([
      mode("etc/depthwatt/mqtt-password"),
      mode("etc/depthwatt"),
      mode("etc/depthwatt/config.yaml"),
    ]).toEqual(["600", "755", "640"]);
  });

  test("a machine without udev goes on, and is told what that means", () => {
    const words = ["/no/such/udevadm"] as [string];
    const step = { kind: "run" as const, title: "udev", words, unlessMissing: "rails are for root alone" };
    expect(perform(step)).toBe("left out: there is no /no/such/udevadm; rails are for root alone");
  });

  test("the first settings are valid settings", async () => {
    const { loadConfig } = await import("../../../../edge/config/index.js");
    const file = join(root, "etc/depthwatt/config.yaml");
    expect(existsSync(file)).toBe(true);
    expect(loadConfig({ file, environment: {} }).config.outputs.mqtt.broker).toBe("mqtt://localhost:1883");
  });

  test("a step that fails is named with its cause", () => {
    const step = { kind: "run" as const, title: "a step", words: ["false"] as [string] };
    expect(refusal(() => perform(step)).message).toBe("a step: run false: it ended with status 1");
    const none = { kind: "run" as const, title: "a step", words: ["/no/such/program"] as [string] };
    expect(refusal(() => perform(none)).message).toContain("ENOENT");
  });
});
