// SPDX-License-Identifier: Apache-2.0
// Small parts of the core: limited work, closing servers, percentiles at the ends, formats with colours, error codes.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { trackConnections } from "../../../core/connections.js";
import { ERROR_CATALOGUE, type ErrorCode } from "../../../core/error-catalogue.js";
import { hasCode, isDepthwattError } from "../../../core/errors.js";
import { forEachLimited } from "../../../core/for-each-limited.js";
import { DepthwattError, Histogram } from "../../../core/index.js";
import { hasColours, type PixelFormat } from "../../../core/pixel-format.js";

describe("work with a limit", () => {
  const ended = () => new Promise<void>((resolve) => setImmediate(resolve));

  async function* items(count: number, taken: number[] = []) {
    for (let i = 0; i < count; i++) {
      taken.push(i);
      yield i;
    }
  }

  test.each([1, 2, 3])("has %i items under way, never more, and leaves none out", async (limit) => {
    const [done, running] = [[] as number[], { now: 0, max: 0 }];
    await forEachLimited(limit, items(7), async (item) => {
      running.max = Math.max(running.max, ++running.now);
      await ended();
      running.now--;
      done.push(item);
    });
    expect(done.sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(running).toEqual({ now: 0, max: limit });
  });

  test("begins nothing after the first failure, waits for the rest and reports the first", async () => {
    const [taken, done] = [[] as number[], [] as number[]];
    let finish = () => {};
    const slow = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const all = forEachLimited(3, items(9, taken), async (item) => {
      if (item === 0) await slow;
      else if (item === 1) throw new Error("first");
      else await ended();
      if (item === 2) throw new Error("second");
      done.push(item);
    });
    const outcome = all.catch((error: Error) => error.message);
    await ended();
    await ended();
    expect(done).toEqual([]);
    finish();
    expect(await outcome).toBe("first");
    expect(done).toEqual([0]);
    expect(taken).toEqual([0, 1, 2]);
  });
});

test("a server closes without waiting for its clients, and closing it again does nothing", async () => {
  const server = createServer();
  const close = trackConnections(server);
  await close();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const clients = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")];
  const closed = clients.map((client) =>
    once(
      client.on("error", () => {}),
      "close",
    ),
  );
  for (let open = 0; open < 2; open++) await once(server, "connection");
  await close();
  expect(server.listening).toBe(false);
  await Promise.all(closed);
  await close();
});

test.each<[values: number[], p50: number, p95: number, p99: number]>([
  [[0, 0, 0], 0, 0, 0],
  [[-5, -5], -5, -5, -5],
  [[0, 1e-9, 1e-7, 8], 0, 8, 8],
  [[2e9, 5e12], 2e9, 2e9, 2e9],
  // Nearest rank: the 10th, the 19th and the 20th of 20.
  [Array.from({ length: 20 }, (_, i) => 1000 * 2 ** i), 1000 * 2 ** 9, 1000 * 2 ** 18, 1000 * 2 ** 19],
])("percentiles of %j are at most half a per cent off", (values, p50, p95, p99) => {
  const histogram = new Histogram();
  for (const value of values) histogram.add(value);
  expect(histogram.count).toBe(values.length);
  const found = histogram.percentiles()!;
  for (const [got, expected] of [
    [found.p50, p50],
    [found.p95, p95],
    [found.p99, p99],
  ] as const)
    expect(Math.abs(got - expected)).toBeLessThanOrEqual(0.0051 * Math.abs(expected) + 2e-6);
});

test.each<[PixelFormat, boolean]>([
  ["GREY", false],
  ["GREY_DISPARITY", false],
  ["Y10", false],
  ["Y12I_LEFT", false],
  ["Y8I_RIGHT", false],
  ["YUYV", true],
  ["UYVY", true],
  ["NV12", true],
  ["RGB8", true],
  ["BAYER_GRBG10P", true],
])("%s has colours: %s", (format, expected) => expect(hasColours(format)).toBe(expected));

describe("errors", () => {
  test("each code exits, is retried and is explained as the page says", () => {
    const page = readFileSync(new URL("../../../docs/reference/errors.md", import.meta.url), "utf8");
    const rows = [...page.matchAll(/^\| `(\w+)` \| (\d+) \| (yes|no) \| (.*?) \| (.*) \|$/gm)].map((row) =>
      row.slice(1),
    );
    const found = (Object.keys(ERROR_CATALOGUE) as ErrorCode[]).map((code) => {
      const { exitCode, retryable, hint } = new DepthwattError(code, "");
      return [code, `${exitCode}`, retryable ? "yes" : "no", ERROR_CATALOGUE[code].meaning, hint];
    });
    expect(found).toEqual(rows);
  });

  test("an error keeps what it was given", () => {
    const cause = new Error("why");
    const error = new DepthwattError("USAGE", "text", { hint: "advice", cause, context: { key: 1 } });
    expect(error).toMatchObject({
      name: "DepthwattError",
      message: "text",
      hint: "advice",
      context: { key: 1 },
    });
    expect(error.cause).toBe(cause);
    const plain = new DepthwattError("USAGE", "text");
    expect("cause" in plain).toBe(false);
    expect(plain.context).toEqual({});
    expect([error, cause, undefined].map(isDepthwattError)).toEqual([true, false, false]);
    const values = [
      error,
      { code: "USAGE" },
      { code: "ENOENT" },
      null,
      undefined,
      "USAGE",
      new Error("USAGE"),
    ];
    expect(values.map((value) => hasCode(value, "USAGE"))).toEqual([true, true, ...Array(5).fill(false)]);
  });
});
