// SPDX-License-Identifier: Apache-2.0
// Constructed trees of every board that has rails: identity strings and rails as reference tables list them, or as the board's
// config does for a board without a table; figures are made up. They prove that depthwatt reads such a board correctly, not that
// a board looks like this.
import { type BoardFile, known, loadBoards } from "../../edge/boards/index.js";
import { ina238Hwmon, ina3221Hwmon, ina3221Iio, SysfsTree } from "./sysfs-tree.js";

export interface ConstructedBoard {
  compatible: string[];
  model: string;
  /** Text of /etc/nv_tegra_release's first line. */
  release: string;
  modes: string[];
  files: Record<string, string | number>;
  /** Rails in milliwatts that the tree shows, NC left out. */
  rails: Record<string, number>;
  totalMilliwatts: number;
}

type Rails = Record<string, [millivolts: number, milliamperes: number]>;

const channels = (rails: Rails) =>
  Object.entries(rails).map(([label, [millivolts, milliamperes]]) => ({ label, millivolts, milliamperes }));

const milliwatts = (...groups: Rails[]): Record<string, number> =>
  Object.fromEntries(
    groups.flatMap((rails) =>
      Object.entries(rails)
        .filter(([label]) => !label.startsWith("NC"))
        .map(([label, [mv, ma]]) => [label, (mv * ma) / 1000]),
    ),
  );

const sum = (rails: Record<string, number>): number => Object.values(rails).reduce((a, b) => a + b, 0);

const R32 = "# R32 (release), REVISION: 7.4, GCID: 33514132, BOARD: t210ref, EABI: aarch64";
const R35 = "# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref, EABI: aarch64";
const R36 = "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64";
const R38 = "# R38 (release), REVISION: 2.0, GCID: 41844464, BOARD: generic, EABI: aarch64";

const smallRails: Rails = {
  VDD_IN: [5000, 1480],
  VDD_CPU_GPU_CV: [5000, 520],
  VDD_SOC: [5000, 300],
};

/** Orin Nano and NX have their monitor at 1-0040, Xavier NX at 7-0040. */
function small(
  compatible: string[],
  model: string,
  release: string,
  modes: string[],
  device = "1-0040",
): ConstructedBoard {
  const rails = milliwatts(smallRails);
  const files = ina3221Hwmon(device, 4, channels(smallRails));
  return { compatible, model, release, modes, files, rails, totalMilliwatts: rails.VDD_IN! };
}

function orin(module: string, model: string, modes: string[], suffix = ""): ConstructedBoard {
  const compatible = [`nvidia,p3768-0000+${module}${suffix}`, `nvidia,${module}`, "nvidia,tegra234"];
  return small(compatible, model, R36, modes);
}

function agxOrin(module: string, modes: string[]): ConstructedBoard {
  const first: Rails = { VDD_GPU_SOC: [19_000, 210], VDD_CPU_CV: [19_000, 60], VIN_SYS_5V0: [5000, 900] };
  const rails = milliwatts(first, { VDDQ_VDD2_1V8AO: [5000, 120] });
  const second = [
    { label: "NC" },
    { label: "VDDQ_VDD2_1V8AO", millivolts: 5000, milliamperes: 120 },
    { label: "NC" },
  ];
  return {
    compatible: [`nvidia,p3737-0000+${module}`, `nvidia,${module}`, "nvidia,tegra234"],
    model: "NVIDIA Jetson AGX Orin Developer Kit",
    release: R36,
    modes,
    files: {
      ...ina3221Hwmon("1-0040", 3, channels(first), 2000),
      ...ina3221Hwmon("1-0041", 1, second, 2000),
    },
    rails,
    totalMilliwatts: sum(rails),
  };
}

function thor(module: string): ConstructedBoard {
  const inner: Rails = { VDD_GPU: [12_000, 160], VDD_CPU_SOC_MSS: [12_000, 490], VIN_SYS_5V0: [5000, 1120] };
  return {
    compatible: [`nvidia,p4071-0000+${module}`, `nvidia,${module}`, "nvidia,tegra264"],
    model: "NVIDIA Jetson AGX Thor Developer Kit",
    release: R38,
    modes: ["MAXN", "120W", "90W", "70W"],
    files: { ...ina3221Hwmon("2-0040", 2, channels(inner)), ...ina238Hwmon("2-0044", 5, 24_000, 825) },
    rails: { ...milliwatts(inner), VIN: 19_800 },
    totalMilliwatts: 19_800,
  };
}

const nanoRails: Rails = { POM_5V_IN: [5040, 720], POM_5V_GPU: [5040, 40], POM_5V_CPU: [5040, 160] };
const tx1Rails: Rails = { VDD_IN: [19_000, 180], VDD_GPU: [19_000, 20], VDD_CPU: [19_000, 40] };
const tx2First: Rails = { VDD_SYS_GPU: [19_000, 16], VDD_SYS_SOC: [19_000, 32], VDD_4V0_WIFI: [4800, 4] };
const tx2Second: Rails = { VDD_IN: [19_000, 200], VDD_SYS_CPU: [19_000, 24], VDD_SYS_DDR: [4800, 220] };
const agxFirst: Rails = { GPU: [19_000, 20], CPU: [19_000, 50], SOC: [19_000, 90] };
const agxSecond: Rails = { CV: [19_000, 4], VDDRQ: [19_000, 30], SYS5V: [5000, 520] };
const agxRails = milliwatts(agxFirst, agxSecond);

export const REFERENCE_BOARDS: Record<string, ConstructedBoard> = {
  nano: {
    compatible: ["nvidia,p3450-0000", "nvidia,jetson-nano", "nvidia,tegra210"],
    model: "NVIDIA Jetson Nano Developer Kit",
    release: R32,
    modes: ["MAXN", "5W"],
    files: ina3221Iio("6-0040", 0, channels(nanoRails)),
    rails: milliwatts(nanoRails),
    totalMilliwatts: 5040 * 0.72,
  },
  tx1: {
    compatible: ["nvidia,p2371-2180", "nvidia,jetson-cv", "nvidia,tegra210"],
    model: "jetson_tx1",
    release: R32,
    modes: [],
    files: ina3221Iio("1-0040", 0, channels(tx1Rails)),
    rails: milliwatts(tx1Rails),
    totalMilliwatts: 19_000 * 0.18,
  },
  tx2: {
    compatible: ["nvidia,p2771-0000", "nvidia,quill", "nvidia,tegra186"],
    model: "quill",
    release: R32,
    modes: ["MAXN", "MAXQ", "MAXP_CORE_ALL", "MAXP_CORE_ARM"],
    files: {
      ...ina3221Iio("0-0040", 0, channels(tx2First)),
      ...ina3221Iio("0-0041", 1, channels(tx2Second)),
    },
    rails: milliwatts(tx2First, tx2Second),
    totalMilliwatts: 19_000 * 0.2,
  },
  "xavier-nx": small(
    ["nvidia,p3509-0000+p3668-0001", "nvidia,tegra194"],
    "NVIDIA Jetson Xavier NX Developer Kit",
    R35,
    ["MODE_15W_2CORE", "MODE_15W_4CORE", "MODE_15W_6CORE"],
    "7-0040",
  ),
  "agx-xavier": {
    compatible: ["nvidia,p2972-0000", "nvidia,tegra194"],
    model: "Jetson-AGX",
    release: R35,
    modes: ["MAXN", "MODE_10W", "MODE_15W"],
    files: {
      ...ina3221Hwmon("1-0040", 3, channels(agxFirst)),
      ...ina3221Hwmon("1-0041", 4, channels(agxSecond)),
    },
    rails: agxRails,
    totalMilliwatts: sum(agxRails),
  },
  "orin-nano-4gb": orin("p3767-0004", "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit", ["10W"]),
  "orin-nano-8gb": orin("p3767-0005", "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit", [
    "15W",
    "7W",
  ]),
  "orin-nano-super": orin(
    "p3767-0005",
    "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super",
    ["15W", "25W", "MAXN_SUPER"],
    "-super",
  ),
  "orin-nx-8gb": orin("p3767-0001", "NVIDIA Jetson Orin NX Engineering Reference Developer Kit", [
    "MAXN",
    "20W",
  ]),
  "orin-nx-16gb": orin("p3767-0000", "NVIDIA Jetson Orin NX Engineering Reference Developer Kit", [
    "MAXN",
    "10W",
    "15W",
    "25W",
  ]),
  "agx-orin-32gb": agxOrin("p3701-0004", ["MAXN", "MODE_15W", "MODE_30W", "MODE_40W"]),
  "agx-orin-64gb": agxOrin("p3701-0005", ["MAXN", "MODE_15W", "MODE_30W", "MODE_50W"]),
  "agx-thor-t5000": thor("p3834-0008"),
  "agx-thor-t4000": thor("p3834-0000"),
};

/** The files of one power monitor, by the words of the config: "ina3221 1-0040", "ina3221x 6-0040 (iio)", "ina238". */
function monitorFiles(device: string, at: number, rails: Rails): Record<string, string | number> {
  const address = device.match(/\b\d+-\d{4}\b/)?.[0] ?? `2-00${40 + at}`;
  if (device.endsWith("(iio)")) return ina3221Iio(address, at, channels(rails));
  if (!device.startsWith("ina238")) return ina3221Hwmon(address, at, channels(rails));
  const [[millivolts, milliamperes]] = Object.values(rails) as [Rails[string]];
  return ina238Hwmon(address, at, millivolts, milliamperes);
}

/** @returns undefined if the config names no rails */
export function boardFromConfig({
  compatible,
  identity,
  power,
  modes,
}: BoardFile): ConstructedBoard | undefined {
  const rails = known(power.rails);
  const total = known(power.total);
  if (rails === undefined || total === undefined) return undefined;
  const monitors = new Map<string, Rails>();
  for (const [at, { label, device }] of rails.entries())
    monitors.set(device, { ...monitors.get(device), [label]: [5000, 100 * (at + 1)] });
  const shown = milliwatts(...monitors.values());
  return {
    compatible: [compatible[0]!, ...identity.soc],
    model: identity.models[0] ?? "a board",
    release: R36,
    modes: (known(modes) ?? []).map(({ name }) => name),
    files: Object.assign({}, ...[...monitors].map(([device, own], at) => monitorFiles(device, at, own))),
    rails: shown,
    totalMilliwatts: total.rails.reduce((watts, label) => watts + shown[label]!, 0),
  };
}

export const CONSTRUCTED_BOARDS: Record<string, ConstructedBoard> = Object.fromEntries(
  loadBoards().flatMap((board) => {
    const constructed = REFERENCE_BOARDS[board.name] ?? boardFromConfig(board);
    return constructed === undefined ? [] : [[board.name, constructed]];
  }),
);

export function buildBoardTree(board: ConstructedBoard): SysfsTree {
  const conf = board.modes
    .map((name, id) => `< POWER_MODEL ID=${id} NAME=${name} >\nCPU_ONLINE CORE_0 1\n`)
    .join("");
  return new SysfsTree().write(board.files).write({
    "proc/device-tree/compatible": `${board.compatible.join("\0")}\0`,
    "proc/device-tree/model": `${board.model}\0`,
    "etc/nv_tegra_release": `${board.release}\n`,
    "etc/nvpmodel.conf": conf,
    "var/lib/nvpmodel/status": "pmode:0000 fmode:quiet\n",
  });
}
