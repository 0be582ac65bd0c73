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

export interface L4tFinding {
  /** As the file says it, such as "36.4.3". */
  version: string;
  /** Undefined: no release of this major version is known. */
  jetpack: string | undefined;
  cuda: string | undefined;
  /** Empty where the release line is in the table, else what was assumed. */
  note: string;
}

/** Reads /etc/nv_tegra_release: "# R36 (release), REVISION: 4.3, GCID: ...". */
export function readL4t(text: string): L4tFinding | undefined {
  const match = /R(\d+)\s*\(release\),\s*REVISION:\s*(\d+)(?:\.(\d+))?/.exec(text);
  if (match === null) return undefined;
  const major = Number(match[1]);
  const minor = Number(match[2]);
  const revision = Number(`${minor}.${match[3] ?? 0}`);
  const version = [match[1], match[2], match[3]].filter((part) => part !== undefined).join(".");
  const same = L4T_RELEASES.filter((release) => release.major === major);
  const [first] = same;
  if (first === undefined) {
    const majors = [...new Set(L4T_RELEASES.map((release) => release.major))].join(", ");
    return {
      version,
      jetpack: undefined,
      cuda: undefined,
      note: `L4T ${major} is not known (known: ${majors})`,
    };
  }
  const release = same.filter(({ from }) => from <= revision).at(-1) ?? first;
  const inLine = release.from <= revision && revision <= release.to;
  const assumed = `L4T ${version} is not known; taken for ${major}.${release.from}, the nearest of its major version`;
  return { version, jetpack: release.jetpack, cuda: release.cuda, note: inLine ? "" : assumed };
}
