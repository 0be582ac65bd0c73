// SPDX-License-Identifier: Apache-2.0
// A hundred recordings whose program is killed without warning: each can be read, and none has lost more than its last second.
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openRecording } from "../../edge/mcap/recording.js";
import { sleep, until } from "../doubles/frames.js";
import { needs } from "../doubles/needs.js";
import { startProgram } from "../doubles/program.js";
import { readIndependently } from "../doubles/recordings.js";
import { seededRandom } from "../doubles/rvl-pictures.js";

const KILLS = 100;
const AT_A_TIME = 4;

const folder = mkdtempSync(join(tmpdir(), "depthwatt-kill-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Records, is killed after a while, and @returns milliseconds between the newest frame in the file and the kill. */
async function recordAndKill(number: number, aliveMs: number): Promise<number> {
  const file = join(folder, `${number}.mcap`);
  const settings = [
    "source.synthetic.width=96",
    "source.synthetic.height=64",
    "board=none",
    "match.numDisparities=16",
  ];
  const more = ["outputs.viewer.enabled=false", "engine.threads=1"];
  const { child, ended, stderr } = startProgram([
    "record",
    file,
    "--json",
    ...[...settings, ...more].flatMap((setting) => ["--set", setting]),
  ]);
  await until(
    `recording ${number} has begun: ${stderr()}`,
    () => existsSync(file) && statSync(file).size > 1000,
    60_000,
  );
  await sleep(aliveMs);
  const killedMs = Date.now();
  child.kill("SIGKILL");
  await ended;
  const read = readIndependently(file, true);
  // Before the first chunk with a frame is written, what came since the file was begun, or since the last document, is lost.
  const topics = Object.entries(read.topics);
  const frames = topics.filter(([name]) => name.endsWith("left/image_rect"));
  const newest = (frames.length > 0 ? frames : topics).map(([, { last }]) =>
    Number(BigInt(last) / 1_000_000n),
  );
  const kept = Math.max(statSync(file).birthtimeMs, ...newest);
  // Our own reader finds the same frames.
  const recording = await openRecording(file);
  try {
    let messages = 0;
    for await (const _ of recording.messages()) messages++;
    expect(recording.loss.chunks).toBe(0);
    expect(messages).toBe(Object.values(read.topics).reduce((sum, { count }) => sum + count, 0));
  } finally {
    await recording.close();
  }
  rmSync(file);
  return killedMs - kept;
}

needs("zstandard").suite("kill -9", () => {
  test(`${KILLS} times: never an unreadable file, never more than one second lost`, {
    timeout: 600_000,
  }, async () => {
    const random = seededRandom(9);
    const delays = Array.from({ length: KILLS }, () => 100 + 1500 * random());
    const lost: number[] = [];
    let next = 0;
    await Promise.all(
      Array.from({ length: AT_A_TIME }, async () => {
        for (let number = next++; number < KILLS; number = next++)
          lost.push(await recordAndKill(number, delays[number]!));
      }),
    );
    expect(lost).toHaveLength(KILLS);
    expect(Math.max(...lost)).toBeLessThanOrEqual(1000);
    const sorted = lost.sort((a, b) => a - b);
    console.info(`lost of ${KILLS}: median ${sorted[KILLS / 2]} ms, most ${sorted.at(-1)} ms`);
  });
});
