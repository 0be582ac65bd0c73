// SPDX-License-Identifier: Apache-2.0
// The Debian packages of both architectures: judged by lintian, asked what they need of a board, packed twice with the same bytes; and
// amd64's lived with in a clean Debian 11: installed, run, upgraded, removed, purged, on a full disk, with settings of another version,
// with a plugin and with one of another architecture. What takes longer is in test/packages-apart.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cachedDebian } from "../../packaging/debian-compilers.mjs";
import { checkSymbolVersions, elfMachine } from "../../packaging/elf.mjs";
import { needs } from "../doubles/needs.js";
import { cachedCleanRoot } from "../setup/clean-roots.mjs";
import { buildElsewhere, buildPackages, layOut, project, run, sha256, VERSION } from "./build.js";
import { ARCHITECTURES, type Life, lifeTests, live } from "./life.js";
import { tarballTests } from "./tarballs.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-packages-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A hang ends here, a busy machine does not. */
const LIMIT_MS = 1_500_000;
const deb = (build: string, architecture: string) =>
  join(folder, build, `depthwatt_${VERSION}-1_${architecture}.deb`);
const words = ["--arch", "amd64,arm64", "--addons", join(folder, "addons")];

const compilers = cachedDebian("bullseye");
const root = cachedCleanRoot("amd64");
const usable = compilers !== undefined && root !== undefined && process.getuid?.() === 0;
const TITLE = "Debian packages (as root; 'npm run test:setup -- --long' fetches Debian 11)";

needs("binutils", "aarch64", "lintian", "debootstrap").suite(TITLE, () => {
  describe.skipIf(!usable && process.env.CI !== "true")("built here", () => {
    let firstBuild = "";
    let life: Life;

    beforeAll(async () => {
      if (!usable)
        throw new Error("with CI=true this suite must run, as root and after 'npm run test:setup -- --long'");
      firstBuild = await buildPackages(join(folder, "first"), words);
      await layOut("amd64", {
        deb: deb("first", "amd64"),
        compilers: compilers!,
        folder: join(folder, "lived"),
      });
      life = await live("amd64", root!, join(folder, "lived"));
    }, LIMIT_MS);

    describe.each(Object.entries(ARCHITECTURES))("%s", (architecture, machine) => {
      let tree: string;
      beforeAll(() => {
        tree = join(folder, `tree-${architecture}`);
        execFileSync("dpkg-deb", ["-R", deb("first", architecture), tree]);
      });
      const ADDONS = [
        "usr/lib/depthwatt/build/Release/depthwatt.node",
        "usr/lib/depthwatt/node_modules/v4l2-camera/build/Release/v4l2_camera.node",
      ];

      test("addons and Node are for that machine, and ask for no newer glibc and libstdc++ than promised", () => {
        for (const path of ADDONS) {
          expect(elfMachine(join(tree, path))).toBe(machine);
          const asked = checkSymbolVersions(join(tree, path), { GLIBC: "2.17", GLIBCXX: "3.4.22" });
          expect(asked.GLIBC, path).toBeDefined();
        }
        const node = join(tree, "usr/lib/depthwatt/bin/node");
        expect(elfMachine(node)).toBe(machine);
        checkSymbolVersions(node, { GLIBC: "2.28", GLIBCXX: "3.4.22" });
        expect(firstBuild).toMatch(
          new RegExp(`^${architecture}: depthwatt\\.node asks for GLIBC_2\\.\\d+, GLIBCXX_`, "m"),
        );
      });

      test("no addon names the folder in which it was compiled: that is another one each time", () => {
        for (const path of ADDONS)
          expect(readFileSync(join(tree, path), "latin1")).not.toContain("/tmp/depthwatt-");
      });

      test("every native library in it is for that machine", () => {
        const list = execFileSync("find", [tree, "-type", "f"], { encoding: "utf8" });
        const files = list.split("\n").filter((path) => /\.node$|\.so(\.\d+)*$/.test(path));
        expect(files.length).toBeGreaterThanOrEqual(4);
        for (const file of files) expect(elfMachine(file), file).toBe(machine);
      });

      test("units with the package's own Node, the helper's units, a udev rule, pages, completions, one conffile", () => {
        const text = (path: string) => readFileSync(join(tree, path), "utf8");
        const start = "ExecStart=/usr/lib/depthwatt/bin/node /usr/lib/depthwatt/dist/edge/";
        for (const unit of [
          "depthwatt.service",
          "depthwatt@.service",
          "depthwatt-devices.service",
          "depthwatt-power-mode@.service",
        ])
          expect(text(`lib/systemd/system/${unit}`)).toContain(start);
        expect(text("lib/systemd/system/depthwatt-power-mode.socket")).toContain("SocketGroup=depthwatt");
        expect(text("lib/udev/rules.d/60-depthwatt-power.rules")).toContain("powercap");
        expect(text("usr/share/bash-completion/completions/depthwatt")).toContain("complete -F");
        expect(text("usr/share/fish/vendor_completions.d/depthwatt.fish")).toContain("complete -c depthwatt");
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
        const words = ["--allow-root", "--fail-on", "error", join(folder, "lived/cuda.deb")];
        const { said, status } = await run("lintian", words);
        expect(status, said).toBe(0);
      },
      LIMIT_MS,
    );

    test(
      "packed again from the same addons, with another clock's zone, language, mask and folder: the same bytes",
      async () => {
        await buildElsewhere(join(folder, "second"), words);
        for (const architecture of Object.keys(ARCHITECTURES))
          expect(sha256(deb("second", architecture)), architecture).toBe(sha256(deb("first", architecture)));
      },
      LIMIT_MS,
    );

    lifeTests("amd64", () => life);
    tarballTests(folder, root!, LIMIT_MS);

    needs("buildah").suite("in a container whose base is the clean Debian 11", () => {
      const storage = join(folder, "containers");
      const buildah = async (...words: string[]) => {
        const { said, status } = await run(
          "buildah",
          ["--root", join(storage, "root"), "--runroot", join(storage, "run"), ...words],
          { environment: { STORAGE_DRIVER: "vfs", BUILDAH_ISOLATION: "chroot" } },
        );
        expect(status, said).toBe(0);
        return said.trim().split("\n").at(-1)!;
      };
      let container = "";

      beforeAll(async () => {
        const context = join(folder, "image");
        mkdirSync(context);
        copyFileSync(deb("first", "amd64"), join(context, "depthwatt.deb"));
        execFileSync("tar", ["-C", root!, "-cf", join(folder, "base.tar"), "."]);
        const base = await buildah("from", "scratch");
        await buildah("add", "-q", base, join(folder, "base.tar"), "/");
        await buildah("commit", "-q", "--disable-compression", base, "localhost/debian");
        const file = ["-f", join(project, "packaging/container/Containerfile")];
        await buildah(
          "bud",
          "-q",
          ...file,
          "--build-arg",
          "BASE=localhost/debian",
          "-t",
          "depthwatt",
          context,
        );
        container = await buildah("from", "depthwatt");
      }, LIMIT_MS);

      const inside = (...words: string[]) => buildah("run", container, "--", ...words);

      test("the doctor is content, as a user without rights", { timeout: LIMIT_MS }, async () => {
        expect(await inside("id", "-un")).toBe("depthwatt");
        expect(await inside("depthwatt", "doctor")).toContain("Ready: 'depthwatt run' will work.");
      });

      test("frames are computed, with the settings of the package", { timeout: LIMIT_MS }, async () => {
        const words = ["--source", "synthetic", "--broker", "none", "--frames", "2", "--json"];
        expect(JSON.parse(await inside("depthwatt", "run", ...words))).toMatchObject({
          frames: 2,
          backend: "cpu",
        });
      });
    });
  });
});
