// SPDX-License-Identifier: Apache-2.0
// Tests the output of life.sh in a clean root of one architecture: the same for the machine's own and for an emulated
// one.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { NEW_VERSION, project, run, VERSION } from "./build.js";

export const ARCHITECTURES = { amd64: "x86-64", arm64: "AArch64" } as const;
export type Architecture = keyof typeof ARCHITECTURES;

/** The step of life.sh after which nothing comes. */
const LAST = "foreign-purged";

export interface Life {
  steps: ReadonlyMap<string, { said: string; status: number }>;
}

/**
 * @param root a clean Debian of that architecture
 * @param packages folder with old.deb, new.deb, cuda.deb and foreign.deb
 * @throws Error with the end of what was said where life.sh did not come to its end
 */
export async function live(architecture: Architecture, root: string, packages: string): Promise<Life> {
  const { said } = await run("packaging/in-a-clean-root.sh", [root, packages], {
    input: join(project, "test/packages/life.sh"),
  });
  // For a person: the console of the virtual machines lies there, too.
  mkdirSync(join(project, ".vm"), { recursive: true });
  writeFileSync(join(project, `.vm/packages-${architecture}.log`), said);
  const steps = new Map<string, { said: string; status: number }>();
  for (const part of said.split(/^@@ /m).slice(1)) {
    const [text, status] = part.split(/^@@status /m);
    const end = text!.indexOf("\n");
    steps.set(text!.slice(0, end), { said: text!.slice(end + 1), status: Number.parseInt(status!, 10) });
  }
  if (!steps.has(LAST)) throw new Error(`life.sh did not come to ${LAST}: ${said.slice(-2000)}`);
  return { steps };
}

/** Registers the tests; call it within a suite whose beforeAll lives that life. */
export function lifeTests(architecture: Architecture, lived: () => Life): void {
  /** The output of a step of life.sh; `ok` if it should succeed. */
  const step = (name: string, ok = true) => {
    const found = lived().steps.get(name);
    if (found === undefined) throw new Error(`life.sh has no step ${name}`);
    expect(found.status === 0, `${name}: ${found.said}`).toBe(ok);
    return found.said;
  };
  const stepJson = (name: string) => JSON.parse(step(name).trim().split("\n").at(-1)!);
  const other = architecture === "amd64" ? "arm64" : "amd64";
  const cudaFinding = (name: string): { text: string } => {
    const doctor = JSON.parse(step(name)) as { findings: { name: string; text: string }[] };
    return doctor.findings.find((finding) => finding.name === "cuda")!;
  };

  describe(`in a clean Debian 11 for ${architecture}`, () => {
    test("is installed without anything else, and says what comes next", () => {
      expect(step("install")).toContain("systemctl enable --now depthwatt");
      const said = step("installed");
      expect(said).toMatch(/config\.yaml root:depthwatt 640$/m);
      expect(said).toMatch(/mqtt-password root:root 600$/m);
      expect(step("user")).toMatch(/\/nonexistent:\/usr\/sbin\/nologin$/m);
      expect(step("units")).toContain("/lib/systemd/system/depthwatt-power-mode.socket");
      expect(Number(step("pages").split("\n")[0])).toBeGreaterThan(20);
    });

    test("runs: version, a pair of pictures, frames as the service's user", () => {
      expect(step("version").trim()).toBe(VERSION);
      step("scene");
      expect(stepJson("match")).toMatchObject({ width: 320, height: 180, backend: "cpu" });
      expect(stepJson("match").validPercent).toBeGreaterThan(50);
      expect(stepJson("run").frames).toBe(3);
    });

    test("an upgrade keeps the settings that were changed, and lays the new ones next to them", () => {
      const before = step("changed").replace("config.yaml\nmqtt-password\n", "");
      expect(step("upgrade")).toContain("Using current old file as you requested");
      const after = step("upgraded");
      expect(after).toContain("config.yaml.dpkg-dist");
      expect(after.replace("config.yaml\nconfig.yaml.dpkg-dist\nmqtt-password\n", "")).toBe(before);
      expect(stepJson("upgraded-run").frames).toBe(2);
    });

    test("settings that do not fit the new version: installed, the key named, the way back named and gone", () => {
      step("earlier-again");
      const said = step("old-settings");
      expect(said).toContain("oldStyle");
      expect(said).toContain("/etc/depthwatt/config.yaml does not fit this version");
      expect(said).toContain("depthwatt config --config FILE && systemctl restart depthwatt");
      expect(said).toContain(`or install version ${VERSION}-1 again`);
      expect(step("old-settings-state")).toContain("install ok installed");
      expect(step("old-settings-told", false)).toContain("no setting has this name");
      step("old-settings-mended");
    });

    test("removal keeps settings and password, a purge leaves nothing behind", () => {
      step("remove");
      const removed = step("removed", false);
      expect(removed).toContain("mqtt-password");
      expect(removed.match(/No such file or directory/g)).toHaveLength(3);
      step("purge");
      expect(step("purged")).toBe("");
    });

    test("a disk that is full is reported, and the same command installs once there is room", () => {
      expect(step("full-install", false)).toContain("No space left on device");
      expect(step("full-install-state")).not.toContain("ok installed");
      step("full-install-again");
      expect(step("full-install-version").trim()).toBe(VERSION);
    });

    test("a disk that is full at an upgrade: the version before stays and runs", () => {
      expect(step("full-upgrade", false)).toContain("No space left on device");
      expect(step("full-upgrade-state").trim()).toBe(`${VERSION}-1`);
      expect(stepJson("full-upgrade-run").frames).toBe(1);
      step("full-upgrade-again");
      expect(step("full-upgrade-done").trim()).toBe(`${NEW_VERSION}-1`);
    });

    test("the plugin's package wants this very version, is found by doctor, and its removal leaves the CPU", () => {
      expect(step("cuda-alone", false)).toContain(`depthwatt (= ${VERSION}-1)`);
      expect(cudaFinding("cuda-before").text).toContain("is not built");
      step("cuda");
      expect(cudaFinding("cuda-doctor").text).toBe("CUDA unavailable: this is a stand-in.");
      expect(step("cuda-forced", false)).toContain("this is a stand-in");
      expect(step("cuda-other-version", false)).toContain(`depthwatt (= ${VERSION}-1)`);
      step("cuda-remove");
      expect(stepJson("cuda-removed")).toMatchObject({ frames: 1, backend: "cpu" });
      expect(stepJson("cuda-removed").backendReason).toContain("is not built");
    });

    test(`the plugin's package for ${other}: refused by dpkg, and what was installed stays`, () => {
      expect(step("foreign", false)).toContain(
        `package architecture (${other}) does not match system (${architecture})`,
      );
      expect(step("foreign-state").trim()).toBe(`install ok installed ${VERSION}-1`);
    });

    test(`a plugin for ${other} that was copied into place: named, the CPU computes, the right package fixes it`, () => {
      const sentence =
        `libdepthwatt_cuda.so is built for ${ARCHITECTURES[other]}, this program for ${ARCHITECTURES[architecture]}. ` +
        "Install or build the one for this machine.";
      expect(cudaFinding("foreign-doctor").text).toContain(sentence);
      expect(step("foreign-forced", false)).toContain(sentence);
      expect(stepJson("foreign-run")).toMatchObject({ frames: 1, backend: "cpu" });
      expect(stepJson("foreign-run").backendReason).toContain(sentence);
      step("foreign-mended");
      expect(cudaFinding("foreign-mended-doctor").text).toBe("CUDA unavailable: this is a stand-in.");
      step("foreign-purge");
      expect(step("foreign-purged")).toBe("");
    });
  });
}
