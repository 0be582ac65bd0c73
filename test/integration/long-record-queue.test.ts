// SPDX-License-Identifier: Apache-2.0
// A batch over a JetStream work queue: three workers, one killed twice; every result is there once, and is that of a batch without
// a queue.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "nats";
import { writeScene } from "../../camera/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { until } from "../doubles/frames.js";
import { needs } from "../doubles/needs.js";
import { lastJson, runProgram, startProgram } from "../doubles/program.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-queue-"));
const place = (...names: string[]) => join(folder, ...names);
const PAIRS = 120;
const QUICK = ["--num-disparities", "16", "--set", "board=none", "--set", "engine.threads=1"];

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

interface Summary {
  pairs: number;
  written: number;
  kept: number;
  doubled: number;
  skipped: Record<string, number>;
}

needs("nats").suite("a JetStream work queue", () => {
  let url: string;
  const cleanups: (() => unknown)[] = [];
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
    rmSync(folder, { recursive: true, force: true });
  });

  beforeAll(async () => {
    const port = await freePort();
    const server = spawn(
      "nats-server",
      ["-js", "-a", "127.0.0.1", "-p", String(port), "-sd", place("store")],
      {
        env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
        stdio: "ignore",
      },
    );
    const ended = new Promise((resolve) => server.once("exit", resolve));
    cleanups.push(() => {
      server.kill("SIGKILL");
      return ended;
    });
    url = `nats://127.0.0.1:${port}`;
    const options = { frames: PAIRS, width: 160, height: 120, truth: "none", view: "ideal" } as const;
    await writeScene(loadNative(), { ...options, folder: place("archive") });
  }, 60_000);

  const words = (out: string, stream: string, ...more: string[]) => [
    "batch",
    place("archive"),
    place(out),
    "--json",
    "--queue",
    `${url}/${stream}`,
    "--ack-wait",
    "2",
    ...QUICK,
    ...more,
  ];
  const results = (out: string) => {
    mkdirSync(place(out), { recursive: true });
    return (readdirSync(place(out), { recursive: true }) as string[])
      .filter((name) => name.endsWith(".pfm"))
      .sort();
  };
  /** The name of a pair from the name of its result. */
  const pairOf = (result: string) => result.replace(/-[0-9a-f]{16}\.pfm$/, "");

  test("three workers, one of them killed twice: every pair once", { timeout: 240_000 }, async () => {
    const plain = await runProgram(["batch", place("archive"), place("plain"), "--json", ...QUICK]);
    expect(plain.code, plain.stderr).toBe(0);
    const filled = await runProgram(words("out", "NIGHT", "--enqueue"));
    expect(filled.code, filled.stderr).toBe(0);
    expect(lastJson(filled)).toMatchObject({ pairs: PAIRS, enqueued: PAIRS });
    // A second time nothing is new.
    expect(lastJson(await runProgram(words("out", "NIGHT", "--enqueue")))).toMatchObject({ enqueued: 0 });

    const start = (ahead: number) => startProgram(words("out", "NIGHT", "--ahead", String(ahead)));
    /** Ends it with nothing said, when `more` results have come. */
    const kill = async ({ child, ended }: ReturnType<typeof start>, more: number) => {
      const there = results("out").length;
      await until(`${more} more results have come`, () => results("out").length >= there + more, 60_000);
      expect(results("out").length).toBeLessThan(PAIRS - 10);
      child.kill("SIGKILL");
      expect(await ended).toMatchObject({ code: null });
    };
    // Alone, so that it has pairs in work when it dies; then among others; then to the end.
    await kill(start(4), 2);
    const steady = [start(2), start(2)];
    await kill(start(4), 30);
    const third = start(2);
    const summaries = (await Promise.all([...steady, third].map(({ ended }) => ended))).map((ran) => {
      expect(ran.code, ran.stderr).toBe(0);
      return lastJson<Summary>(ran);
    });

    const names = results("out");
    expect(names.map(pairOf)).toEqual(results("plain").map((name) => name.replace(/\.pfm$/, "")));
    expect(new Set(names).size).toBe(PAIRS);
    for (const name of names)
      expect(
        readFileSync(place("out", name)).equals(readFileSync(place("plain", `${pairOf(name)}.pfm`))),
        name,
      ).toBe(true);
    // What the killed one had came again, and nothing was left behind.
    expect(summaries.reduce((sum, { written }) => sum + written, 0)).toBeLessThanOrEqual(PAIRS - 2);
    const connection = await connect({ servers: url });
    const manager = await connection.jetstreamManager();
    const { state } = await manager.streams.info("NIGHT");
    expect(state.messages).toBe(0);
    const consumer = await manager.consumers.info("NIGHT", "depthwatt-workers");
    expect(consumer).toMatchObject({ num_redelivered: 0, num_ack_pending: 0, num_pending: 0 });
    expect(consumer.delivered.consumer_seq).toBeGreaterThan(PAIRS);
    await connection.close();
  });

  test("messages that are no pair, or point elsewhere, are given up and counted", {
    timeout: 60_000,
  }, async () => {
    const filled = await runProgram(words("bad", "BAD", "--enqueue"));
    expect(filled.code).toBe(0);
    const connection = await connect({ servers: url });
    const jetstream = connection.jetstream();
    const manager = await connection.jetstreamManager();
    await manager.streams.purge("BAD");
    const bad = [
      "garbage",
      "{}",
      '{"name":"x","left":"/etc/passwd","right":"a"}',
      '{"name":"../x","left":"a","right":"b"}',
    ];
    for (const text of bad) await jetstream.publish("BAD.pairs", new TextEncoder().encode(text));
    const worker = await runProgram(words("bad", "BAD"));
    expect(worker.code).toBe(6);
    expect(lastJson(worker)).toMatchObject({
      pairs: bad.length,
      written: 0,
      skipped: { SOURCE_UNREADABLE: bad.length },
    });
    expect((await manager.streams.info("BAD")).state.messages).toBe(0);
    await connection.close();
  });

  test("a queue that does not answer is told", { timeout: 60_000 }, async () => {
    const port = await freePort();
    const ran = await runProgram([
      "batch",
      place("archive"),
      place("none"),
      "--queue",
      `nats://127.0.0.1:${port}`,
      ...QUICK,
    ]);
    expect(ran.code).toBe(5);
    expect(ran.stderr).toMatch(/the queue at nats:\/\/127\.0\.0\.1:\d+ does not answer/);
  });
});
