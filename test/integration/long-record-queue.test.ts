// SPDX-License-Identifier: Apache-2.0
// A batch over a JetStream work queue: three workers, one killed twice; every result is there once, and is that of a batch without
// a queue.
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { connect } from "nats";
import { afterAll, beforeAll, expect, test } from "vitest";
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

const GOOD = { name: "000000", left: "left/000000.png", right: "right/000000.png" };

interface Summary {
  pairs: number;
  written: number;
  kept: number;
  doubled: number;
  skipped: Record<string, number>;
}

needs("nats").suite("a JetStream work queue", () => {
  let url: string;
  let server: { start(): Promise<void>; stop(): Promise<void> };
  const cleanups: (() => unknown)[] = [];
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
    rmSync(folder, { recursive: true, force: true });
  });

  beforeAll(async () => {
    const port = await freePort();
    let running: ReturnType<typeof spawn> | undefined;
    server = {
      start: async () => {
        running = spawn(
          "nats-server",
          ["-js", "-a", "127.0.0.1", "-p", String(port), "-sd", place("store")],
          {
            env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
            stdio: "ignore",
          },
        );
      },
      stop: async () => {
        const ended = new Promise((resolve) => running!.once("exit", resolve));
        running!.kill("SIGKILL");
        await ended;
      },
    };
    await server.start();
    cleanups.push(() => server.stop());
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
  const pairName = (result: string) => result.replace(/-[0-9a-f]{16}\.pfm$/, "");

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
    expect(names.map(pairName)).toEqual(results("plain").map((name) => name.replace(/\.pfm$/, "")));
    expect(new Set(names).size).toBe(PAIRS);
    for (const name of names)
      expect(
        readFileSync(place("out", name)).equals(readFileSync(place("plain", `${pairName(name)}.pfm`))),
        name,
      ).toBe(true);
    // The killed worker's message came again, and no file was left behind.
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
      JSON.stringify({ ...GOOD, name: "n".repeat(300) }),
      JSON.stringify({ ...GOOD, name: "a\0b" }),
      JSON.stringify({ ...GOOD, name: "batch.json/x" }),
      JSON.stringify({ ...GOOD, left: `${"n".repeat(300)}.png` }),
      JSON.stringify({ ...GOOD, left: "left/000000.png/x" }),
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

  test("a worker that cannot see the archive ends, and the others get its pairs", {
    timeout: 120_000,
  }, async () => {
    const few = place("few");
    for (const side of ["left", "right"]) {
      mkdirSync(join(few, side), { recursive: true });
      for (const name of ["000000", "000001", "000002", "000003"])
        copyFileSync(place("archive", side, `${name}.png`), join(few, side, `${name}.png`));
    }
    mkdirSync(place("unmounted"));
    const at = (archive: string, ...more: string[]) => {
      const [command, , ...rest] = words("mount-out", "MOUNT", ...more);
      return [command!, archive, ...rest];
    };
    expect(lastJson(await runProgram(at(few, "--enqueue")))).toMatchObject({ enqueued: 4 });
    const blind = await runProgram(at(place("unmounted")));
    expect(blind.code).toBe(3);
    expect(blind.stderr).toMatch(
      /expected the pairs of the queue at .*unmounted, found 3 in a row that cannot be read/,
    );
    expect(blind.stderr).toMatch(/hint: Check that the archive is mounted/);
    const healthy = await runProgram(at(few));
    expect(healthy.code, healthy.stderr).toBe(0);
    expect(lastJson(healthy)).toMatchObject({ written: 4, returned: 0, skipped: {} });
    expect(results("mount-out")).toHaveLength(4);
    // A pair whose result is lost is not new to the queue, unless it is asked for again.
    rmSync(place("mount-out", results("mount-out")[0]!));
    expect(lastJson(await runProgram(at(few, "--enqueue")))).toMatchObject({ pairs: 4, enqueued: 0 });
    expect(lastJson(await runProgram(at(few, "--enqueue", "--again")))).toMatchObject({ enqueued: 1 });
    expect(lastJson(await runProgram(at(few)))).toMatchObject({ pairs: 1, written: 1 });
  });

  test("a server that is away for two seconds ends no worker", { timeout: 120_000 }, async () => {
    expect(lastJson(await runProgram(words("restart", "RESTART", "--enqueue")))).toMatchObject({
      enqueued: PAIRS,
    });
    const worker = startProgram(words("restart", "RESTART", "--ahead", "2"));
    await until("some results are there", () => results("restart").length >= 2, 60_000);
    await server.stop();
    await setTimeout(2000);
    await server.start();
    const ran = await worker.ended;
    expect(ran.code, ran.stderr).toBe(0);
    expect(results("restart")).toHaveLength(PAIRS);
  });

  test("a queue that does not answer is reported", { timeout: 60_000 }, async () => {
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
