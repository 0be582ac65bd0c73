// SPDX-License-Identifier: Apache-2.0
// Maps the L4T release to JetPack and CUDA. A release that is not in the table takes the nearest older one of the same
// major version.

interface Release {
  major: number;
  /** First and last minor.patch of the line, as numbers: 7.1 to 7.6 is 32.7.1 to 32.7.6. */
  from: number;
  to: number;
  jetpack: string;
  cuda: string;
}

/** Sources: jetson_stats' jetson_variables.py, jetson-containers' l4t_version.py, NVIDIA/skills (R38). */
export const L4T_RELEASES: readonly Release[] = [
  { major: 32, from: 7.1, to: 7.6, jetpack: "4.6.1 to 4.6.6", cuda: "10.2" },
  { major: 35, from: 1, to: 6.4, jetpack: "5.0.2 to 5.1.6", cuda: "11.4" },
  { major: 36, from: 2, to: 2.9, jetpack: "6.0 DP", cuda: "12.2" },
  { major: 36, from: 3, to: 3.9, jetpack: "6.0", cuda: "12.2" },
  { major: 36, from: 4, to: 4.9, jetpack: "6.1 to 6.2.1", cuda: "12.6" },
  { major: 36, from: 5, to: 5.9, jetpack: "6.2.2 to 6.2.3", cuda: "12.6" },
  { major: 38, from: 2, to: 2.9, jetpack: "7.0", cuda: "13.0" },
  { major: 38, from: 4, to: 4.9, jetpack: "7.1", cuda: "13.0" },
  { major: 39, from: 0, to: 0.9, jetpack: "7.2 EA", cuda: "13.2" },
  { major: 39, from: 2, to: 2.9, jetpack: "7.2", cuda: "13.2" },
];

export interface JetpackFamily {
  /** Majors of L4T. */
  l4t: readonly number[];
  /** Major version of the CUDA toolkit that builds the plugin. */
  cuda: number;
  /** Architectures of all boards of the family: one plugin serves all of them. */
  architectures: readonly string[];
}

/** JetPack majors. 7.2 is one release for Orin and Thor. */
export const JETPACK_FAMILIES: Readonly<Record<string, JetpackFamily>> = {
  jetpack4: { l4t: [32], cuda: 10, architectures: ["53", "62", "72"] },
  jetpack5: { l4t: [35], cuda: 11, architectures: ["72", "87"] },
  jetpack6: { l4t: [36], cuda: 12, architectures: ["87"] },
  jetpack7: { l4t: [38, 39], cuda: 13, architectures: ["87", "110"] },
};

export interface L4tFinding {
  /** As the file says it, such as "36.4.3". */
  version: string;
  /** Undefined: no release of this major version is known. */
  jetpack: string | undefined;
  cuda: string | undefined;
  /** Key of JETPACK_FAMILIES, the end of the name of its plugin's package; undefined: no release of this major is known. */
  family: string | undefined;
  /** Empty where the release line is in the table, else what was assumed. */
  note: string;
}

/** Reads /etc/nv_tegra_release: "# R36 (release), REVISION: 4.3, GCID: ...". */
export function readL4t(text: string): L4tFinding | undefined {
  const match = /R(\d+)\s*\(release\),\s*REVISION:\s*(\d+)(?:\.(\d+))?/.exec(text);
  if (match === null) return undefined;
  const major = Number(match[1]);
  const minor = Number(match[2]);
  // A patch of two digits counts as the last of its line: 4.10 is above 4.9.
  const revision = Number(`${minor}.${Math.min(Number(match[3] ?? 0), 9)}`);
  const version = [match[1], match[2], match[3]].filter((part) => part !== undefined).join(".");
  const same = L4T_RELEASES.filter((release) => release.major === major);
  const [first] = same;
  if (first === undefined) {
    const majors = [...new Set(L4T_RELEASES.map((release) => release.major))].join(", ");
    return {
      version,
      jetpack: undefined,
      cuda: undefined,
      family: undefined,
      note: `L4T ${major} is not known (known: ${majors})`,
    };
  }
  const release = same.filter(({ from }) => from <= revision).at(-1) ?? first;
  const inLine = release.from <= revision && revision <= release.to;
  const assumed = `L4T ${version} is not known; taken for ${major}.${release.from}, the nearest of its major version`;
  const [family] = Object.entries(JETPACK_FAMILIES).find(([, { l4t }]) => l4t.includes(major)) ?? [];
  return { version, jetpack: release.jetpack, cuda: release.cuda, family, note: inLine ? "" : assumed };
}
