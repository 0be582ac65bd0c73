// SPDX-License-Identifier: Apache-2.0
// The Debian packages: built twice with the same bytes, judged by lintian, asked what they need of a board, and lived with in a clean
// Debian 11: installed, run, upgraded, removed, purged, on a full disk, with settings of another version, with a plugin.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cachedCleanRoot } from "../../scripts/clean-roots.mjs";
import { cachedDebian } from "../../scripts/debian-compilers.mjs";
import { checkSymbolVersions, machineOf } from "../../scripts/packaging/elf.mjs";
import { needs } from "../doubles/needs.js";
import { buildPackages, makeNewer, makeStandInPackage, NEW_VERSION, project, run, VERSION } from "./build.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-packages-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A hang ends here, a busy machine does not. */
const LIMIT_MS = 1_500_000;
const ARCHITECTURES = { amd64: "x86-64", arm64: "AArch64" } as const;
const deb = (build: string, architecture: string) =>
  join(folder, build, `depthwatt_${VERSION}-1_${architecture}.deb`);

const compilers = cachedDebian("bullseye");
const root = cachedCleanRoot("amd64");
const usable = compilers !== undefined && root !== undefined && process.getuid?.() === 0;
const TITLE = "Debian packages (as root; 'npm run test:setup -- --long' fetches Debian 11)";

needs("binutils", "lintian", "debootstrap").suite(TITLE, () => {
  describe.skipIf(!usable && process.env.CI !== "true")("built here", () => {
    let firstBuild = "";
    const life = new Map<string, { said: string; status: number }>();
    /** What a step of life.sh said; `ok` where it is meant to succeed. */
    const step = (name: string, ok = true) => {
      const found = life.get(name);
      if (found === undefined)
        throw new Error(`life.sh did not come to ${name}: ${[...life.keys()].join(", ")}`);
      expect(found.status === 0, `${name}: ${found.said}`).toBe(ok);
      return found.said;
    };
    const jsonOf = (name: string) => JSON.parse(step(name).trim().split("\n").at(-1)!);

    beforeAll(async () => {
      if (!usable)
        throw new Error("with CI=true this suite must run, as root and after 'npm run test:setup -- --long'");
      firstBuild = await buildPackages(join(folder, "first"), ["--arch", "amd64,arm64"]);
      makeNewer(deb("first", "amd64"), join(folder, "first/new.deb"));
      copyFileSync(deb("first", "amd64"), join(folder, "first/old.deb"));
      await makeStandInPackage(compilers!, join(folder, "cuda"), join(folder, "first/cuda.deb"));
      const { said } = await run("packaging/in-a-clean-root.sh", [root!, join(folder, "first")], {
        input: join(project, "test/packages/life.sh"),
      });
      for (const part of said.split(/^@@ /m).slice(1)) {
        const [text, status] = part.split(/^@@status /m);
        const end = text!.indexOf("\n");
        life.set(text!.slice(0, end), { said: text!.slice(end + 1), status: Number.parseInt(status!, 10) });
      }
      expect(life.has("cuda-removed"), said.slice(-2000)).toBe(true);
    }, LIMIT_MS);

    describe.each(Object.entries(ARCHITECTURES))("%s", (architecture, machine) => {
      let tree: string;
      beforeAll(() => {
        tree = join(folder, `tree-${architecture}`);
        execFileSync("dpkg-deb", ["-R", deb("first", architecture), tree]);
      });

      test("addons and Node are for that machine, and ask for no newer glibc and libstdc++ than promised", () => {
        const home = join(tree, "usr/lib/depthwatt");
        const addons = [
          "build/Release/depthwatt.node",
          "node_modules/v4l2-camera/build/Release/v4l2_camera.node",
        ];
        for (const path of addons) {
          expect(machineOf(join(home, path))).toBe(machine);
          const asked = checkSymbolVersions(join(home, path), { GLIBC: "2.17", GLIBCXX: "3.4.22" });
          expect(asked.GLIBC, path).toBeDefined();
        }
        expect(machineOf(join(home, "bin/node"))).toBe(machine);
        checkSymbolVersions(join(home, "bin/node"), { GLIBC: "2.28", GLIBCXX: "3.4.22" });
        expect(firstBuild).toMatch(
          new RegExp(`^${architecture}: depthwatt\\.node asks for GLIBC_2\\.\\d+, GLIBCXX_`, "m"),
        );
      });

      test("every native library in it is for that machine", () => {
        const list = execFileSync("find", [tree, "-type", "f"], { encoding: "utf8" });
        const files = list.split("\n").filter((path) => /\.node$|\.so(\.\d+)*$/.test(path));
        expect(files.length).toBeGreaterThanOrEqual(4);
        for (const file of files) expect(machineOf(file), file).toBe(machine);
      });

      test("units with the package's own Node, the helper's units, a udev rule, pages, completions, one conffile", () => {
        const text = (path: string) => readFileSync(join(tree, path), "utf8");
        const start = "ExecStart=/usr/lib/depthwatt/bin/node /usr/lib/depthwatt/dist/edge/";
        for (const unit of ["depthwatt.service", "depthwatt@.service", "depthwatt-power-mode@.service"])
          expect(text(`lib/systemd/system/${unit}`)).toContain(start);
        expect(text("lib/systemd/system/depthwatt-power-mode.socket")).toContain("SocketGroup=depthwatt");
        expect(text("lib/udev/rules.d/60-depthwatt-power.rules")).toContain("powercap");
        expect(text("usr/share/bash-completion/completions/depthwatt")).toContain("complete -F");
        expect(text("usr/share/zsh/vendor-completions/_depthwatt")).toContain("#compdef depthwatt");
        expect(text("DEBIAN/conffiles")).toBe("/etc/depthwatt/config.yaml\n");
        expect(text("DEBIAN/control")).toMatch(new RegExp(`^Architecture: ${architecture}$`, "m"));
      });

      test(
        "lintian finds no error",
        async () => {
          const words = ["--allow-root", "--no-tag-display-limit", "--fail-on", "error"];
          const { said, status } = await run("lintian", [...words, deb("first", architecture)]);
          expect(said.split("\n").filter((line) => line.startsWith("E:"))).toEqual([]);
          expect(status, said).toBe(0);
        },
        LIMIT_MS,
      );
    });

    test(
      "lintian finds no error in the plugin's package",
      async () => {
        const words = ["--allow-root", "--fail-on", "error", join(folder, "first/cuda.deb")];
        const { said, status } = await run("lintian", words);
        expect(status, said).toBe(0);
      },
      LIMIT_MS,
    );

    test(
      "a second build, with another clock's zone, language, mask and folder, has the same bytes",
      async () => {
        const other = mkdtempSync(join(tmpdir(), "depthwatt-elsewhere-"));
        try {
          await buildPackages(join(folder, "second"), ["--arch", "amd64"], {
            TZ: "Pacific/Auckland",
            LC_ALL: "C",
            UMASK: "077",
            TMPDIR: other,
          });
        } finally {
          rmSync(other, { recursive: true });
        }
        const hash = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");
        expect(hash(deb("second", "amd64"))).toBe(hash(deb("first", "amd64")));
      },
      LIMIT_MS,
    );

    describe("in a clean Debian 11", () => {
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
        expect(jsonOf("match")).toMatchObject({ width: 320, height: 180, backend: "cpu" });
        expect(jsonOf("match").validPercent).toBeGreaterThan(50);
        expect(jsonOf("run").frames).toBe(3);
      });

      test("an upgrade keeps the settings that were changed, and lays the new ones beside them", () => {
        const before = step("changed").replace("config.yaml\nmqtt-password\n", "");
        expect(step("upgrade")).toContain("Using current old file as you requested");
        const after = step("upgraded");
        expect(after).toContain("config.yaml.dpkg-dist");
        expect(after.replace("config.yaml\nconfig.yaml.dpkg-dist\nmqtt-password\n", "")).toBe(before);
        expect(jsonOf("upgraded-run").frames).toBe(2);
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

      test("a disk that is full: told, and the same command installs once there is room", () => {
        expect(step("full-install", false)).toContain("No space left on device");
        expect(step("full-install-state")).not.toContain("ok installed");
        step("full-install-again");
        expect(step("full-install-version").trim()).toBe(VERSION);
      });

      test("a disk that is full at an upgrade: the version before stays and runs", () => {
        expect(step("full-upgrade", false)).toContain("No space left on device");
        expect(step("full-upgrade-state").trim()).toBe(`${VERSION}-1`);
        expect(jsonOf("full-upgrade-run").frames).toBe(1);
        step("full-upgrade-again");
        expect(step("full-upgrade-done").trim()).toBe(`${NEW_VERSION}-1`);
      });

      test("the plugin's package wants this very version, is found by doctor, and its removal leaves the CPU", () => {
        const cudaOf = (name: string): { text: string } => {
          const doctor = JSON.parse(step(name)) as { findings: { name: string; text: string }[] };
          return doctor.findings.find((finding) => finding.name === "cuda")!;
        };
        expect(step("cuda-alone", false)).toContain(`depthwatt (= ${VERSION}-1)`);
        expect(cudaOf("cuda-before").text).toContain("is not built");
        step("cuda");
        expect(cudaOf("cuda-doctor").text).toBe("CUDA unavailable: a stand-in says so.");
        expect(step("cuda-forced", false)).toContain("a stand-in says so");
        expect(step("cuda-other-version", false)).toContain(`depthwatt (= ${VERSION}-1)`);
        step("cuda-remove");
        expect(jsonOf("cuda-removed")).toMatchObject({ frames: 1, backend: "cpu" });
        expect(jsonOf("cuda-removed").backendReason).toContain("is not built");
      });
    });
  });
});
