// SPDX-License-Identifier: Apache-2.0
// CPU time of this process, for tests that bound the work of a call. Unlike the time on a clock, it hardly depends on what else
// the machine does.

/** Returns the milliseconds of CPU time, of all threads, since an earlier process.cpuUsage(). */
export function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
