// SPDX-License-Identifier: Apache-2.0
// Work on many items with a limit on how many are under way.

/** Runs `work` on every item, `maxRunning` of them at a time. Rejects with the first rejection, when those under way are done. */
export async function forEachLimited<T>(
  maxRunning: number,
  items: AsyncIterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;
  for await (const item of items) {
    const one: Promise<void> = work(item)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => running.delete(one));
    running.add(one);
    if (running.size >= maxRunning) await Promise.race(running);
    if (failure) break;
  }
  await Promise.all(running);
  if (failure) throw failure.error;
}
