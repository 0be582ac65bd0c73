// SPDX-License-Identifier: Apache-2.0
// Tests kernels without a GPU: each gives its reference's bits on the CPU, with every thread a fiber
// (test/doubles/native/warp).
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { buildEmulatedTwins, buildStagesOnCuda, withoutCudaSyntax } from "../doubles/emulated-kernels.js";
import { needs } from "../doubles/needs.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-kernels-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("kernels as C++", () => {
  test("launches and dynamic shared memory are rewritten, nothing else", () => {
    const text =
      "  extern __shared__ __align__(16) uint32_t tiles[];\n  a.k[b == 8]<<<n(1), 64, 0, on>>>(x, y);\n";
    expect(withoutCudaSyntax(text)).toBe(
      "  uint32_t* const tiles = reinterpret_cast<uint32_t*>(::warp::dynamicShared());\n" +
        "  ::warp::launcher(n(1), 64, 0, on, a.k[b == 8])(x, y);\n",
    );
    expect(withoutCudaSyntax("a << 3 >> (b)")).toBe("a << 3 >> (b)");
  });
});

/**
 * One warp fills memory of the block, another reads it behind a named barrier; 1: the first never arrives; 2: the
 * second does not wait.
 */
const NAMED_BARRIER = `#include <cstdio>
#include "cuda_runtime.h"
int main(int argc, char** argv) {
  const int wrong = std::atoi(argv[1]);
  int kept[32] = {}, seen[32] = {};
  warp::run(dim3(3), dim3(64), 0, [&] {
    const int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
      if (wrong != 2) warp::joinAt(1, 64);
      seen[lane] += kept[31 - lane];
    } else {
      kept[lane] = 100 * blockIdx.x + lane;
      __syncwarp();
      if (wrong != 1) warp::arriveAt(1, 64);
    }
    __syncthreads();
  });
  for (int lane = 0; lane < 32; ++lane) {
    if (seen[lane] != 300 + 3 * (31 - lane)) return std::printf("lane %d has %d\\n", lane, seen[lane]), 2;
  }
  std::printf("all seen\\n");
}
`;

needs("toolchain").suite("named barriers of the stand-in", () => {
  const program = join(folder, "named-barrier");
  test("a thread that joins waits for all; a missing or an extra thread is an error", () => {
    writeFileSync(`${program}.cc`, NAMED_BARRIER);
    const here = "test/doubles/native/warp";
    const sources = [`${program}.cc`, `${here}/warp.cc`, `${here}/host_api.cc`];
    const built = spawnSync("g++", ["-std=c++17", "-O1", "-w", `-I${here}`, "-o", program, ...sources], {
      encoding: "utf8",
    });
    expect(built.stderr).toBe("");
    const said = ["0", "1", "2"].map((mode) => spawnSync(program, [mode], { encoding: "utf8" }).stdout);
    expect(said[0]).toBe("all seen\n");
    expect(said[1]).toContain("some threads wait at a named barrier where too few arrive");
    expect(said[2]).toContain("threads have arrived at a named barrier that no thread waits at");
  }, 120_000);
});

needs("toolchain").suite("every kernel against its reference, on the CPU", () => {
  test.each([
    ["U16", 900],
    ["HALF2", 620],
    ["HALF2", 870],
  ])(
    "cells in %s as architecture %i computes them",
    async (cell, architecture) => {
      const program = await buildEmulatedTwins(cell, architecture);
      const seed = process.env.DEPTHWATT_SEED ?? String(Date.now() % 1_000_000_007);
      const ran = spawnSync(program, ["24", seed, "--small"], { encoding: "utf8", timeout: 250_000 });
      expect(ran.stdout, `seed ${seed}`).toContain("24 cases equal bit for bit");
      expect(ran.status).toBe(0);
    },
    300_000,
  );
});

needs("toolchain").suite("vectors worked out by hand", () => {
  test("every kernel gives what test/stages/ expects of the reference", async () => {
    const report = join(folder, "by-hand.json");
    const words = [
      "run",
      "test/stages",
      "-t",
      "reference.*by hand",
      "--reporter=json",
      `--outputFile=${report}`,
    ];
    const ran = spawnSync("node_modules/.bin/vitest", words, {
      encoding: "utf8",
      env: { ...process.env, DEPTHWATT_STAGES_ADDON: await buildStagesOnCuda() },
    });
    expect(existsSync(report), `${ran.stdout}${ran.stderr}`).toBe(true);
    const { testResults } = JSON.parse(readFileSync(report, "utf8")) as {
      testResults: {
        name: string;
        message: string;
        assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
      }[];
    };
    const failed = testResults.flatMap(({ message, assertionResults }) => [
      ...assertionResults
        .filter(({ status }) => status === "failed")
        .map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages[0]}`),
      ...(message === "" ? [] : [message]),
    ]);
    expect(failed).toEqual([]);
    expect(ran.status, ran.stderr).toBe(0);
    const stageOf = (path: string) => basename(path, ".test.ts");
    const tested = testResults
      .filter(({ assertionResults }) => assertionResults.some(({ status }) => status === "passed"))
      .map(({ name }) => stageOf(name));
    const byHand = readdirSync("test/stages").filter((name) =>
      /^ *(describe\.each|test)\(.*by hand/m.test(readFileSync(join("test/stages", name), "utf8")),
    );
    expect(tested.sort()).toEqual(byHand.map(stageOf).sort());
  }, 300_000);
});
