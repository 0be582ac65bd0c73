// SPDX-License-Identifier: Apache-2.0
// A virtual machine whose init is systemd and whose kernel has two cameras: Debian from a disk of the cache, depthwatt and Node as
// they are here on a second, read-only disk at /opt. It boots as often as its cases ask for.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { basename, join } from "node:path";
import { CACHE, type GuestKernel, guestKernel, loadOrder, PROJECT, run } from "../capture-vm/kernel.js";
import { type MachineEnd, runQemu } from "../capture-vm/qemu.js";
import { type RamFile, ramDisk } from "../capture-vm/ram-disk.js";
import { cachedSystemdRoot } from "../setup/systemd-root.mjs";

const GUEST = join(PROJECT, "test/systemd-vm/guest");
const VIVID = "n_devs=2 node_types=0x1,0x1 num_inputs=1,1 input_types=0,0";

/** Runs before systemd: modules, disks, the units of the test, and no cameras where the last boot asked for none. */
const initScript = (modules: readonly string[], units: readonly string[]) => `#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
${modules.map((name) => `insmod /modules/${name}${name === "vivid.ko" ? ` ${VIVID}` : ""}`).join("\n")}
tries=0
while [ ! -b /dev/vdb ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
mount -t ext4 -o noatime /dev/vda /root && mount -t ext4 -o ro /dev/vdb /root/opt || poweroff -f
[ -e /root/var/lib/cases/no-cameras ] && echo vivid.0 > /sys/bus/platform/drivers/vivid/unbind
mkdir -p /root/var/lib/cases /root/etc/systemd/system/multi-user.target.wants
for unit in ${units.join(" ")}; do
  cp /units/$unit /root/etc/systemd/system/$unit
  ln -sf ../$unit /root/etc/systemd/system/multi-user.target.wants/$unit
done
# An emulated machine on a busy one takes longer to start than the unit allows. The first boot tries the watchdog; later ones must
# not meet it either. Of volatile units nothing is left for the cases that look at what stays behind.
mount -t tmpfs -o mode=755 tmpfs /root/run
for unit in depthwatt depthwatt@; do
  mkdir -p /root/run/systemd/system/$unit.service.d
  echo "[Service]" > /root/run/systemd/system/$unit.service.d/slow.conf
  echo "TimeoutStartSec=400" >> /root/run/systemd/system/$unit.service.d/slow.conf
  if [ -e /root/var/lib/cases/no-cameras ] || [ -e /root/var/lib/cases/read-only ] || grep -q cases.alone= /proc/cmdline; then
    echo "WatchdogSec=120" >> /root/run/systemd/system/$unit.service.d/slow.conf
  fi
done
if [ -e /root/var/lib/cases/read-only ]; then
  mount -o remount,ro /root
  mount -t tmpfs tmpfs /root/var/log
fi
for folder in proc sys dev; do mount -o move /$folder /root/$folder; done
exec switch_root /root /lib/systemd/systemd
`;

function makeRamDisk(kernel: GuestKernel): Buffer {
  // ext4 asks for its checksums by name, which loadOrder does not see.
  const modules = loadOrder(kernel, [
    "virtio_pci",
    "virtio_blk",
    "crc32c_generic",
    "ext4",
    "autofs4",
    // A misc device, used as /dev/nvmap.
    "fuse",
    "vivid",
  ]);
  const units = readdirSync(GUEST).filter((name) => name.endsWith(".service"));
  const folders = ["bin", "dev", "proc", "sys", "root", "modules", "units"].map(
    (path): RamFile => ({ path }),
  );
  return ramDisk([
    ...folders,
    { path: "bin/busybox", content: readFileSync("/bin/busybox") },
    ...modules.map((path) => ({ path: `modules/${basename(path)}`, content: readFileSync(path) })),
    ...units.map((name) => ({ path: `units/${name}`, content: readFileSync(join(GUEST, name)) })),
    {
      path: "init",
      content: Buffer.from(
        initScript(
          modules.map((path) => basename(path)),
          units,
        ),
      ),
    },
  ]);
}

interface Lockfile {
  packages: Record<string, { dev?: boolean; link?: boolean }>;
}

/** The files of an installation of depthwatt: no sources, no compilers, no packages for development. */
async function copyProgram(to: string): Promise<void> {
  for (const path of ["package.json", "binding.gyp", "dist", "board-configs", "build/Release/depthwatt.node"])
    await cp(join(PROJECT, path), join(to, path), { recursive: true });
  const lock = JSON.parse(readFileSync(join(PROJECT, "package-lock.json"), "utf8")) as Lockfile;
  for (const [path, { dev, link }] of Object.entries(lock.packages)) {
    // Packages of other machines are named and not here.
    if (!path.startsWith("node_modules/") || dev || link || !existsSync(join(PROJECT, path))) continue;
    if (!existsSync(join(to, path))) await cp(join(PROJECT, path), join(to, path), { recursive: true });
  }
  const cameras = "node_modules/v4l2-camera";
  for (const path of ["package.json", "dist", "build/Release/v4l2_camera.node"])
    await cp(join(PROJECT, "camera/v4l2", path), join(to, cameras, path), { recursive: true });
}

/** The disk of /opt: Node, depthwatt or its substitute, the cases, a calibration of the cameras' images. */
async function makeProgramDisk(home: string, files: SystemdMachineOptions["files"]): Promise<string> {
  const tree = join(home, "opt");
  rmSync(tree, { recursive: true, force: true });
  mkdirSync(join(tree, "node/bin"), { recursive: true });
  await cp(process.execPath, join(tree, "node/bin/node"));
  if (files === undefined) await copyProgram(join(tree, "depthwatt"));
  for (const [name, path] of Object.entries(files ?? {})) await cp(path, join(tree, name));
  await cp(GUEST, join(tree, "cases"), { recursive: true });
  const words = ["scene", "--frames", "1", "--width", "320", "--height", "180"];
  const program = join(PROJECT, "dist/edge/cli/main.js");
  await run(process.execPath, [program, ...words, "--out", join(tree, "scene")], PROJECT);
  const disk = join(home, "opt.ext4");
  rmSync(disk, { force: true });
  const settings = ["-q", "-F", "-O", "^has_journal", "-d", tree, disk, "700M"];
  await run("env", [`PATH=${process.env.PATH}:/usr/sbin:/sbin`, "mkfs.ext4", ...settings], PROJECT);
  rmSync(tree, { recursive: true });
  return disk;
}

const drive = (file: string, more: string) => ["-drive", `file=${file},format=raw,if=virtio,${more}`];

export interface SystemdMachineOptions {
  /** Names its log in .vm/ and its folder there. */
  name: string;
  /** Below /opt in the place of depthwatt: name and file. */
  files?: Record<string, string>;
  /** Words for the guest's program. */
  words: readonly string[];
  limitSeconds: number;
  onReport(report: Record<string, unknown>): void;
}

/** Boots with these disks; what the guest writes is forgotten with the machine. */
export async function runSystemdMachine(options: SystemdMachineOptions): Promise<MachineEnd> {
  const home = join(CACHE, options.name);
  mkdirSync(home, { recursive: true });
  const kernel = await guestKernel("amd64");
  if (cachedSystemdRoot() === undefined)
    await run(process.execPath, [join(PROJECT, "test/setup/systemd-root.mjs")], PROJECT);
  const root = cachedSystemdRoot()!;
  const program = await makeProgramDisk(home, options.files);
  const initrd = join(home, "init.cpio");
  writeFileSync(initrd, makeRamDisk(kernel));
  const masked = [
    "getty@tty1.service",
    "serial-getty@ttyS0.service",
    "e2scrub_reap.service",
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
  ];
  const append = [
    "panic=-1",
    "mitigations=off",
    "systemd.show_status=0",
    ...masked.map((unit) => `systemd.mask=${unit}`),
    ...options.words.map((word) => `cases.${word}`),
  ];
  return runQemu({
    name: options.name,
    architecture: "amd64",
    kernel: kernel.image,
    initrd,
    memoryMegabytes: 1536,
    append: append.join(" "),
    words: [...drive(root, "snapshot=on"), ...drive(program, "readonly=on")],
    limitSeconds: options.limitSeconds,
    onReport: options.onReport,
  });
}
