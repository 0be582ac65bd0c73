// SPDX-License-Identifier: Apache-2.0
// A small virtual machine with real V4L2 devices: Debian's kernel, the vivid driver, the host's files read-only. It runs
// one program to its end; what the program reports travels as marked lines on the console.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { quoteShellWord } from "../../core/index.js";
import { type Architecture, CACHE, type GuestKernel, guestKernel, loadOrder } from "./kernel.js";
import { MARK, type MachineEnd, runQemu } from "./qemu.js";
import { type RamFile, ramDisk } from "./ram-disk.js";

export type { MachineEnd };

export interface MachineOptions {
  /** Names the log and the ram disk in .vm/. */
  name: string;
  architecture?: Architecture;
  /** Module parameters of vivid. */
  vivid: string;
  /** The program and its words, as paths of the host. */
  program: readonly string[];
  /** A folder of the host that the guest may write to, as /tmp/out; else it writes to its own memory alone. */
  out?: string;
  /** 1536 where it is not said. */
  memoryMegabytes?: number;
  limitSeconds: number;
  /** Called with each report as it comes. */
  onReport(report: Record<string, unknown>): void;
}

/** Where below /tmp this project lies, if it does: the guest's own empty /tmp would hide it. */
const underTmp = dirname(CACHE).match(/^\/tmp\/(.+)$/)?.[1];

/** Runs as process 1: loads modules, takes the host's root as its own, runs the program, switches off. */
const initScript = (
  modules: readonly string[],
  vivid: string,
  program: readonly string[],
  writes: boolean,
) => `#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
${modules.map((name) => `insmod /modules/${name}${name === "vivid.ko" ? ` ${vivid}` : ""}`).join("\n")}
mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288,cache=loose,ro host /host
for folder in dev proc sys; do mount -o bind /$folder /host/$folder; done
mkdir -p /dev/shm /dev/pts
mkdir /below
mount -o bind /host/tmp /below
mount -t tmpfs tmpfs /host/tmp
mount -t tmpfs tmpfs /host/run
${underTmp === undefined ? "" : `mkdir -p ${quoteShellWord(`/host/tmp/${underTmp}`)}\nmount -o bind ${quoteShellWord(`/below/${underTmp}`)} ${quoteShellWord(`/host/tmp/${underTmp}`)}`}
${writes ? "mkdir -p /host/tmp/out\nmount -t 9p -o trans=virtio,version=9p2000.L,msize=524288 out /host/tmp/out" : ""}
ifconfig lo 127.0.0.1 up
cd /
env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8 chroot /host ${program.map(quoteShellWord).join(" ")}
echo "${MARK}{\\"exitCode\\": $?}"
poweroff -f
`;

function makeRamDisk(
  kernel: GuestKernel,
  { architecture = "amd64", vivid, program, out }: MachineOptions,
): Buffer {
  const modules = loadOrder(kernel, ["virtio_pci", "9p", "9pnet_virtio", "vivid"]);
  const folders = ["bin", "dev", "proc", "sys", "host", "modules"].map((path): RamFile => ({ path }));
  const script = initScript(
    modules.map((path) => basename(path)),
    vivid,
    program,
    out !== undefined,
  );
  return ramDisk([
    ...folders,
    { path: "bin/busybox", content: readFileSync(busybox(architecture)) },
    ...modules.map((path) => ({ path: `modules/${basename(path)}`, content: readFileSync(path) })),
    { path: "init", content: Buffer.from(script) },
  ]);
}

/** The machine's own static busybox, or one put next to the other architecture's kernel. */
function busybox(architecture: Architecture): string {
  const foreign = join(CACHE, architecture, "busybox");
  return existsSync(foreign) ? foreign : "/bin/busybox";
}

/** Boots, runs the program, and resolves when the machine is off; it is killed after limitSeconds. */
export async function runMachine(options: MachineOptions): Promise<MachineEnd> {
  const { name, architecture = "amd64", memoryMegabytes = 1536, out, limitSeconds, onReport } = options;
  mkdirSync(CACHE, { recursive: true });
  const initrd = join(CACHE, `${name}.cpio`);
  const kernel = await guestKernel(architecture);
  writeFileSync(initrd, makeRamDisk(kernel, options));
  return runQemu({
    name,
    architecture,
    kernel: kernel.image,
    initrd,
    memoryMegabytes,
    append: "panic=-1",
    words: [
      "-no-reboot",
      "-virtfs",
      "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
      ...(out === undefined ? [] : ["-virtfs", `local,path=${out},mount_tag=out,security_model=none`]),
    ],
    limitSeconds,
    onReport,
  });
}
