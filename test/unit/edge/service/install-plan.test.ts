// SPDX-License-Identifier: Apache-2.0
// Tests the plans of install-service and uninstall-service, step by step, and their refusals.
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DepthwattError } from "../../../../core/index.js";
import { DROP_INS } from "../../../../edge/service/devices/drop-ins.js";
import { type Machine, planInstallation, planRemoval } from "../../../../edge/service/install-plan.js";
import { planAllowing } from "../../../../edge/service/power-mode/install.js";
import { describeStep, perform } from "../../../../edge/service/steps.js";
import { devicesUnitFor, templateFor, unitFor } from "../../../../edge/service/unit-text.js";

const unit = readFileSync(resolve(import.meta.dirname, "../../../../edge/service/depthwatt.service"), "utf8");
const machine: Machine = {
  node: "/usr/bin/node",
  mainScript: "/opt/depthwatt/dist/edge/cli/main.js",
  unit,
  udevRule: "# rule\n",
  hasUser: () => false,
  hostName: "orin",
  packaged: false,
  devicesUnit: "# devices\n",
};
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "depthwatt-install-"));
});
afterEach(() => rmSync(root, { recursive: true }));

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

  test("is this, step by step, for one pair and for a named one", () => {
    const write = (path: string, rights: string) => `write ${path} (${rights})`;
    const all = (instance?: string) =>
      planInstallation(machine, instance).map((step) => describeStep(step).replace(/\d+ bytes/, "text"));
    const enabled = (file: string, unit: string) => [
      "make /etc/depthwatt (mode 0755)",
      write(file, "mode 0640, group depthwatt, text, unless it is there"),
      write("/etc/depthwatt/mqtt-password", "mode 0600, text, unless it is there"),
      `run systemctl enable ${unit}.service`,
    ];
    const program = [
      "run groupadd --system --force video",
      "run groupadd --system --force render",
      "run groupadd --system --force depthwatt",
      "run useradd --system --gid depthwatt --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin depthwatt",
      write("/etc/udev/rules.d/60-depthwatt-power.rules", "mode 0644, text"),
      "run udevadm control --reload",
      "run udevadm trigger",
      write("/etc/systemd/system/depthwatt.service", "mode 0644, text"),
      write("/etc/systemd/system/depthwatt@.service", "mode 0644, text"),
      write("/etc/systemd/system/depthwatt-devices.service", "mode 0644, text"),
      "run systemctl daemon-reload",
      "run systemctl start depthwatt-devices.service",
    ];
    expect(all()).toEqual([...program, ...enabled("/etc/depthwatt/config.yaml", "depthwatt")]);
    expect(all("front")).toEqual([...program, ...enabled("/etc/depthwatt/front.yaml", "depthwatt@front")]);
    const texts = planInstallation(machine).flatMap((step) => (step.kind === "write" ? [step.text] : []));
    expect(texts.slice(0, 4)).toEqual(["# rule\n", unitFor(machine), templateFor(machine), "# devices\n"]);
    expect(texts[5]).toBe("");
    // Without a name the service is called like the host.
    expect(texts[4]).not.toMatch(/^device:/m);
  });

  test("writes the device rules of this board's GPU, unless others may write what root would run", () => {
    const steps = words();
    expect(steps.indexOf("run systemctl start depthwatt-devices.service")).toBe(
      steps.indexOf("run systemctl daemon-reload") + 1,
    );
    expect(words({ devicesUnit: undefined }).join("\n")).not.toContain("devices");
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

const RESTORE =
  'ExecStopPost=-/bin/sh -c "[ ! -e /run/depthwatt-clocks/limits.json ] || exec /usr/bin/node /opt/depthwatt/dist/edge/service/power-mode/client.js clocks"';

describe("the unit", () => {
  test("gets this machine's paths and nothing else", () => {
    const changed = unitFor(machine).split("\n");
    const differing = unit
      .split("\n")
      .flatMap((line, index) => (line === changed[index] ? [] : [changed[index]]));
    expect(differing).toEqual([
      "ExecStart=/usr/bin/node /opt/depthwatt/dist/edge/cli/main.js run --config /etc/depthwatt/config.yaml",
      RESTORE,
    ]);
  });

  test("of the device rules runs this machine's Node", () => {
    const text = devicesUnitFor("[Service]\nExecStart=/old\n", "/opt/node", "/opt/my app/renew.js");
    expect(text).toBe('[Service]\nExecStart=/opt/node "/opt/my app/renew.js"\n');
  });

  test("quotes what systemd would read as its own", () => {
    const odd = unitFor({ ...machine, mainScript: "/opt/100 % $HOME/cli/main.js" });
    expect(odd).toContain('ExecStart=/usr/bin/node "/opt/100 %% $$HOME/cli/main.js" run');
    expect(odd).toContain(`exec /usr/bin/node '/opt/100 %% $$HOME/service/power-mode/client.js' clocks"`);
  });
});

describe("the unit of several pairs", () => {
  test("has separate settings and folders by its name, and all the hardening", () => {
    const changed = templateFor(machine).split("\n");
    const differing = unit
      .split("\n")
      .flatMap((line, index) => (line === changed[index] ? [] : [changed[index]]));
    expect(differing).toEqual([
      "# ExecStart; the settings are in /etc/depthwatt/%i.yaml.",
      "Description=depthwatt: stereo depth over MQTT, with its cost in joules per frame (%i)",
      "ExecStart=/usr/bin/node /opt/depthwatt/dist/edge/cli/main.js run --config /etc/depthwatt/%i.yaml",
      RESTORE,
      "StateDirectory=depthwatt/%i",
      "RuntimeDirectory=depthwatt/%i",
      "WorkingDirectory=/var/lib/depthwatt/%i",
    ]);
  });

  test("one pair gets settings with its own device name, and its unit is enabled", () => {
    const steps = planInstallation(machine, "front");
    const settings = steps.find((step) => step.kind === "write" && step.path === "/etc/depthwatt/front.yaml");
    expect(settings?.kind === "write" && settings.text).toContain("device: orin-front");
    expect(describeStep(steps.at(-1)!)).toBe("run systemctl enable depthwatt@front.service");
  });

  test.each(["", "a/b", "..", "a b", "-x", "config", "%i", "a".repeat(33)])("refuses the name %j", (name) => {
    expect(refusal(() => planInstallation(machine, name)).code).toBe("USAGE");
    expect(
      refusal(() => planRemoval({ packaged: false, exists: () => true, instances: [] }, { instance: name }))
        .code,
    ).toBe("USAGE");
  });

  test("next to the Debian package only the pair's settings are made", () => {
    const packaged = { ...machine, packaged: true, mainScript: "/usr/lib/depthwatt/dist/edge/cli/main.js" };
    expect(refusal(() => planInstallation(packaged)).hint).toContain("systemctl enable --now depthwatt");
    const steps = planInstallation(packaged, "rear").map(describeStep).join("\n");
    expect(steps).toContain("/etc/depthwatt/rear.yaml");
    expect(steps).not.toMatch(/useradd|groupadd|\/etc\/systemd|udev/);
  });
});

describe("removal", () => {
  const all = { packaged: false, exists: () => true, instances: ["depthwatt@front.service"] };
  const words = (purge: boolean) => planRemoval(all, { purge }).map(describeStep);

  test("ends every unit before its file goes, and keeps settings, password and recordings", () => {
    expect(words(false)).toEqual([
      "run systemctl disable --now depthwatt.service",
      "run systemctl disable --now depthwatt@front.service",
      "run systemctl disable --now depthwatt-power-mode.socket",
      "remove /etc/systemd/system/depthwatt-power-mode.socket",
      "remove /etc/systemd/system/depthwatt-power-mode@.service",
      "remove /etc/systemd/system/depthwatt.service",
      "remove /etc/systemd/system/depthwatt@.service",
      "remove /etc/systemd/system/depthwatt-devices.service",
      ...DROP_INS.map((path) => `remove ${path}`),
      "remove /etc/udev/rules.d/60-depthwatt-power.rules",
      "run systemctl daemon-reload",
      "run udevadm control --reload",
      "run udevadm trigger",
    ]);
  });

  test("takes those away when asked", () => {
    expect(words(true).slice(-2)).toEqual(["remove /etc/depthwatt", "remove /var/lib/depthwatt"]);
  });

  test("of one pair leaves the others and the program's files", () => {
    expect(planRemoval(all, { instance: "front" }).map(describeStep)).toEqual([
      "run systemctl disable --now depthwatt@front.service",
    ]);
    expect(planRemoval(all, { instance: "front", purge: true }).map(describeStep).slice(1)).toEqual([
      "remove /etc/depthwatt/front.yaml",
      "remove /var/lib/depthwatt/front",
    ]);
  });

  test("where nothing was installed nothing is ended, and that is no error", () => {
    const none = { packaged: false, exists: () => false, instances: [] };
    expect(planRemoval(none, { purge: true }).map(describeStep)).toEqual([
      "run systemctl daemon-reload",
      "run udevadm control --reload",
      "run udevadm trigger",
    ]);
  });

  test("of the Debian package's service is dpkg's", () => {
    expect(refusal(() => planRemoval({ ...all, packaged: true }, {})).hint).toContain(
      "apt-get remove depthwatt",
    );
  });

  test("takes away each file that installing wrote", () => {
    const written = [...planInstallation(machine), ...planAllowing("/usr/bin/node", "/opt/helper.js", false)]
      .flatMap((step) => (step.kind === "write" ? [step.path] : []))
      .filter((path) => !path.startsWith("/etc/depthwatt/"));
    const removed = planRemoval(all, {}).flatMap((step) => (step.kind === "remove" ? [step.path] : []));
    // depthwatt-devices.service has written these.
    written.push(...DROP_INS);
    expect(removed.sort()).toEqual(written.sort());
  });
});

describe("performing", () => {
  const files = planInstallation(machine).filter((step) => step.kind !== "run");
  const performAll = () => {
    for (const step of files) perform(step, root);
  };

  test("writes every file with its mode, under every umask", () => {
    const before = process.umask(0o077);
    try {
      performAll();
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
    performAll();
    writeFileSync(join(root, "etc/depthwatt/mqtt-password"), "secret\n");
    writeFileSync(join(root, "etc/systemd/system/depthwatt.service"), "old\n");
    performAll();
    expect(readFileSync(join(root, "etc/depthwatt/mqtt-password"), "utf8")).toBe("secret\n");
    expect(readFileSync(join(root, "etc/systemd/system/depthwatt.service"), "utf8")).toBe(unitFor(machine));
  });

  test("what was there and open to all gets the mode that is printed", () => {
    performAll();
    chmodSync(join(root, "etc/depthwatt/mqtt-password"), 0o666);
    chmodSync(join(root, "etc/depthwatt"), 0o777);
    chmodSync(join(root, "etc/depthwatt/config.yaml"), 0o644);
    performAll();
    const mode = (path: string) => (statSync(join(root, path)).mode & 0o777).toString(8);
    expect([
      mode("etc/depthwatt/mqtt-password"),
      mode("etc/depthwatt"),
      mode("etc/depthwatt/config.yaml"),
    ]).toEqual(["600", "755", "640"]);
  });

  test("a machine without udev continues, and the consequence is reported", () => {
    const words = ["/no/such/udevadm"] as [string];
    const step = { kind: "run" as const, title: "udev", words, unlessMissing: "rails are for root alone" };
    expect(perform(step)).toBe("left out: there is no /no/such/udevadm; rails are for root alone");
  });

  test("the first settings are valid settings", async () => {
    performAll();
    const { loadConfig } = await import("../../../../edge/config/index.js");
    const file = join(root, "etc/depthwatt/config.yaml");
    expect(existsSync(file)).toBe(true);
    expect(loadConfig({ file, environment: {} }).config.outputs.mqtt.broker).toBe("mqtt://localhost:1883");
  });

  test("a file goes to its group where the machine has it, and a removal needs no file", () => {
    const gid = process.getuid!() === 0 ? 4321 : process.getgid!();
    const step = files.find((one) => "group" in one)!;
    perform({ kind: "folder", title: "etc", path: "/etc", mode: 0o755 }, root);
    writeFileSync(join(root, "etc/group"), `depthwatts:x:1:\ndepthwatt:x:${gid}:anna\n`);
    perform(step, root);
    expect(statSync(join(root, step.path)).gid).toBe(gid);
    writeFileSync(join(root, "etc/group"), "other:x:1:\n");
    perform(step, root);
    const removal = { kind: "remove" as const, title: "settings", path: "/etc" };
    for (let times = 0; times < 2; times++) expect(perform(removal, root)).toBeUndefined();
    expect(existsSync(join(root, "etc"))).toBe(false);
  });

  test("a program that ends well is done; its last words name a failure", () => {
    const run = (...words: [string, ...string[]]) => perform({ kind: "run", title: "a step", words });
    expect(run("true")).toBeUndefined();
    const failed = refusal(() => run("sh", "-c", "echo broken >&2; exit 3"));
    expect(failed.message).toBe("a step: run sh -c echo broken >&2; exit 3: broken");
    expect(failed.hint).toContain("do this one by hand");
    writeFileSync(join(root, "file"), "", { mode: 0o600 });
    expect(refusal(() => run(join(root, "file"))).hint).toContain("Run it as root");
  });

  test("a step that fails is named with its cause", () => {
    const step = { kind: "run" as const, title: "a step", words: ["false"] as [string] };
    expect(refusal(() => perform(step)).message).toBe("a step: run false: it ended with status 1");
    const none = { kind: "run" as const, title: "a step", words: ["/no/such/program"] as [string] };
    expect(refusal(() => perform(none)).message).toContain("ENOENT");
  });
});
