// SPDX-License-Identifier: Apache-2.0
// Tests the device rules with the nodes of JetPack 4 to 7: the unit's own, the drop-in's, and what the doctor says.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { gatherEvidence } from "../../../../edge/boards/index.js";
import { sandboxProperties } from "../../../../edge/commands/doctor/in-service.js";
import { lookAtGpuNodes } from "../../../../edge/commands/doctor/look-at-gpu-nodes.js";
import { DROP_INS, renewDropIns } from "../../../../edge/service/devices/drop-ins.js";
import { gpuNodes, readDrivers } from "../../../../edge/service/devices/nodes.js";
import {
  type DeviceNode,
  dropInFor,
  isAllowed,
  isCudaNode,
  isGpuNode,
  missingRules,
  parseDrivers,
  ruleFor,
  unitRules,
} from "../../../../edge/service/devices/rules.js";

const data = resolve(import.meta.dirname, "../../../data/devices");
const unit = readFileSync(resolve(import.meta.dirname, "../../../../edge/service/depthwatt.service"), "utf8");
/** Rules by driver name alone, as they are often written. */
const NAMES_ALONE = `DeviceAllow=char-drm rw
DeviceAllow=char-nvidia* rw
DeviceAllow=char-nvhost* rw
DeviceAllow=char-nvmap rw
DeviceAllow=char-nvgpu* rw
`;

const releases = readdirSync(data).filter((name) => name.startsWith("jetpack-"));
function release(name: string) {
  const nodes = readFileSync(join(data, name, "nodes"), "utf8")
    .trim()
    .split("\n")
    .map((line): DeviceNode => {
      const [path = "", numbers = ""] = line.split(" ");
      const [major = Number.NaN, minor = Number.NaN] = numbers.split(":").map(Number);
      return { path, major, minor };
    });
  const drivers = parseDrivers(readFileSync(join(data, name, "proc-devices"), "utf8"));
  const gpu = nodes.filter(({ path }) => isGpuNode(path));
  return { nodes, drivers, gpu, cuda: gpu.filter(({ path }) => isCudaNode(path)) };
}

describe.each(releases)("%s", (name) => {
  const { nodes, drivers, gpu, cuda } = release(name);

  test("rules by driver name leave CUDA without nvmap and without the GPU", () => {
    const missing = missingRules(cuda, unitRules(NAMES_ALONE), drivers).map(({ path }) => path);
    expect(missing).toContain("/dev/nvmap");
    expect(missing.filter((path) => /^\/dev\/nv(gpu\/.*\/ctrl|host-ctrl-gpu)$/.test(path))).not.toEqual([]);
  });

  test("the shipped unit allows every node that CUDA opens", () => {
    expect(cuda.length).toBeGreaterThan(4);
    expect(missingRules(cuda, unitRules(unit), drivers)).toEqual([]);
  });

  test("the drop-in allows every GPU node, and no foreign device", () => {
    const rules = unitRules(dropInFor(gpu, drivers)!);
    expect(missingRules(gpu, rules, drivers)).toEqual([]);
    const foreign = nodes.filter(({ path }) => ["/dev/fuse", "/dev/video0"].includes(path));
    expect(foreign.map((node) => isAllowed(node, rules, drivers))).toEqual([false, false]);
  });

  test("the doctor opens each node, and names the rule that is missing", () => {
    const jetson = { ...gatherEvidence(), compatible: ["nvidia,tegra234"] };
    const examine = (rules: string, backend = "auto") => {
      const opened: string[] = [];
      const open = (path: string) => {
        opened.push(path);
        const node = gpu.find((one) => one.path === path)!;
        return isAllowed(node, unitRules(rules), drivers) ? undefined : "EPERM";
      };
      return {
        finding: lookAtGpuNodes(backend, jetson, { nodes: gpu, drivers, unit: rules, open })!,
        opened,
      };
    };
    const good = examine(unit);
    expect(good.finding.state).toBe("ok");
    expect(good.opened).toEqual(cuda.map(({ path }) => path));
    const { finding } = examine(NAMES_ALONE);
    expect(finding.state).toBe("absent");
    expect(finding.details).toContain(
      "/dev/nvmap: the device rules forbid it: DeviceAllow=/dev/nvmap rw is missing",
    );
    expect(finding.details).toContain("/dev/nvmap: the service needs DeviceAllow=/dev/nvmap rw");
    expect(finding.commands).toEqual(["sudo systemctl restart depthwatt-devices depthwatt"]);
    expect(examine(NAMES_ALONE, "cuda").finding).toMatchObject({ state: "bad", exitCode: 4 });
  });
});

test("a node of another group asks for the groups, a dead driver for a look at dmesg", () => {
  const { gpu, drivers } = release("jetpack-6");
  const finding = (code: string) =>
    lookAtGpuNodes("auto", gatherEvidence(), { nodes: gpu, drivers, unit: undefined, open: () => code })!;
  expect(finding("EACCES").commands).toEqual(['sudo usermod -aG video,render "$USER"']);
  expect(finding("ENODEV").hint).toContain("dmesg");
  expect(finding("ENODEV").details?.[0]).toContain("the driver refuses it (ENODEV)");
});

test("no node: nothing to say on a PC, a driver that is not loaded on a Jetson", () => {
  const none = { nodes: [], drivers: new Map(), unit: undefined, open: () => undefined };
  expect(lookAtGpuNodes("auto", { ...gatherEvidence(), compatible: undefined }, none)).toBeUndefined();
  const jetson = { ...gatherEvidence(), compatible: ["nvidia,tegra234"] };
  expect(lookAtGpuNodes("auto", jetson, none)?.hint).toContain("not loaded");
});

test("a driver is allowed by its name, a node of a shared major number by its path", () => {
  const { drivers } = release("jetpack-5");
  expect(ruleFor({ path: "/dev/nvhost-gpu", major: 240, minor: 0 }, drivers)).toBe("char-17000000.ga10b");
  expect(ruleFor({ path: "/dev/nvmap", major: 10, minor: 120 }, drivers)).toBe("/dev/nvmap");
  expect(ruleFor({ path: "/dev/nvgpu/igpu0/ctrl", major: 99, minor: 0 }, drivers)).toBe(
    "/dev/nvgpu/igpu0/ctrl",
  );
});

test("an empty assignment forgets the rules above it; read-only rules do not count", () => {
  const rules = ["/dev/a rw", "", "/dev/b r", "/dev/c", "\t/dev/d  w", " /dev/e rm", "/dev/f mwr"];
  expect(unitRules(rules.map((rule) => `DeviceAllow=${rule}\n`).join(""))).toEqual(["/dev/c", "/dev/f"]);
});

describe("the drop-ins", () => {
  const root = mkdtempSync(join(tmpdir(), "depthwatt-devices-"));
  afterAll(() => rmSync(root, { recursive: true }));

  test("are written for one and for several pairs, renewed when nodes change, and removed without nodes", () => {
    const four = release("jetpack-4");
    const six = release("jetpack-6");
    const before = dropInFor(four.gpu, four.drivers);
    const after = dropInFor(six.gpu, six.drivers);
    expect(renewDropIns(before, root)).toBe(true);
    expect(renewDropIns(before, root)).toBe(false);
    expect(renewDropIns(after, root)).toBe(true);
    for (const path of DROP_INS) expect(readFileSync(join(root, path), "utf8")).toBe(after);
    expect(renewDropIns(dropInFor([], six.drivers), root)).toBe(true);
    expect(DROP_INS.some((path) => existsSync(join(root, path)))).toBe(false);
  });
});

describe("the nodes of a machine", () => {
  const root = mkdtempSync(join(tmpdir(), "depthwatt-nodes-"));
  afterAll(() => rmSync(root, { recursive: true }));

  test("are its GPU's character devices by path, with the kernel's numbers", () => {
    for (const folder of ["dev/nvgpu/igpu0", "dev/dri", "dev/nvidia-caps", "proc"])
      mkdirSync(join(root, folder), { recursive: true });
    for (const [name, target] of [
      ["dev/nvmap", "/dev/null"],
      ["dev/nvgpu/igpu0/ctrl", "/dev/zero"],
      ["dev/dri/renderD128", "/dev/tty"],
      ["dev/nvidia-caps/nvidia-cap1", "/dev/full"],
      ["dev/fuse", "/dev/full"],
    ] as const)
      symlinkSync(target, join(root, name));
    writeFileSync(join(root, "dev/nvidia0"), "a file");
    expect(gpuNodes(root)).toEqual([
      { path: "/dev/dri/renderD128", major: 5, minor: 0 },
      { path: "/dev/nvgpu/igpu0/ctrl", major: 1, minor: 5 },
      { path: "/dev/nvidia-caps/nvidia-cap1", major: 1, minor: 7 },
      { path: "/dev/nvmap", major: 1, minor: 3 },
    ]);
    expect(readDrivers(root)).toEqual(new Map());
    writeFileSync(
      join(root, "proc/devices"),
      "Character devices:\n  1 mem\n226 drm\n226 nvidia-drm\n\nBlock devices:\n  7 loop\n",
    );
    expect(readDrivers(root)).toEqual(
      new Map([
        [1, ["mem"]],
        [226, ["drm", "nvidia-drm"]],
      ]),
    );
  });

  test.each([
    ["char-nvidia*", true],
    ["char-nvidia?drm", true],
    ["char-drm", true],
    ["char-nvidia.drm", false],
    ["char-nvid", false],
    ["char-idia-drm", false],
    ["/dev/dri/renderD128", true],
    ["/dev/dri/renderD12?", false],
  ])("are allowed by %s: %s", (rule, allowed) => {
    const node = { path: "/dev/dri/renderD128", major: 226, minor: 128 };
    const drivers = new Map([[226, ["drm", "nvidia-drm"]]]);
    expect(isAllowed(node, [rule], drivers)).toBe(allowed);
    expect(missingRules([node], [rule], drivers)).toEqual(
      allowed ? [] : [{ path: node.path, rule: "DeviceAllow=char-drm rw" }],
    );
  });

  test("share a rule where they share a driver", () => {
    const node = (path: string, major: number) => ({ path, major, minor: 0 });
    const drivers = new Map([
      [10, ["misc"]],
      [240, ["nvhost"]],
    ]);
    const text = dropInFor(
      [node("/dev/nvhost-gpu", 240), node("/dev/nvmap", 10), node("/dev/nvhost-ctrl", 240)],
      drivers,
    );
    const rules = ["/dev/nvmap rw", "char-nvhost rw"].map((rule) => `DeviceAllow=${rule}`);
    expect(text!.split("\n").slice(1)).toEqual(["[Service]", ...rules, ""]);
  });
});

test("this machine's nodes and drivers can be read", () => {
  expect(readDrivers().get(1)).toContain("mem");
  expect(gpuNodes().every(({ path }) => isGpuNode(path))).toBe(true);
  expect(gpuNodes("/no/such/root")).toEqual([]);
});

test("the sandbox is the unit's hardening, without what a second unit would take from the first", () => {
  const dropIn = "# /run/x.conf\n[Service]\nDeviceAllow=/dev/extra rw\n";
  const lines = sandboxProperties(unit + dropIn);
  expect(lines).toContain("User=depthwatt");
  expect(lines).toContain("DevicePolicy=closed");
  expect(lines).toContain("PrivateTmp=yes");
  expect(lines).toContain("BindPaths=-/tmp/argus_socket");
  expect(lines.at(-1)).toBe("DeviceAllow=/dev/extra rw");
  expect(
    lines.filter((line) => /^(Exec|Type|Restart=|Watchdog|StateDir|RuntimeDir|RemoveIPC)/.test(line)),
  ).toEqual([]);
});
