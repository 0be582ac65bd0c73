// SPDX-License-Identifier: Apache-2.0
// Asks a scripted root helper: each request as it leaves, and each answer as nvpmodel would print it.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ask, askHelper } from "../../../../../edge/service/power-mode/client.js";

let folder: string;
let path: string;
let server: Server;
let requests: string[];
/** The pieces of the answer, in the order in which the helper sends them. */
let answer: string[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-helper-"));
  path = join(folder, "socket");
  requests = [];
  server = createServer((socket) => {
    socket.setEncoding("utf8").once("data", (request: string) => {
      requests.push(request);
      for (const piece of answer) socket.write(piece);
      socket.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
});
afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  [["-q"], "query\n"],
  [["-m", "2"], "set 2\n"],
])("%j is the request %j, and the mode comes back in nvpmodel's words", async (words, request) => {
  answer = ["ok MAX", "N\n"];
  expect(await ask(words, path)).toEqual({ status: 0, out: "NV Power Mode: MAXN\n", err: "" });
  expect(requests).toEqual([request]);
});

test.each([
  [["refused user 1000 may not ask\n"], "refused user 1000 may not ask"],
  [[], "the helper for power modes said nothing"],
  [["\n"], "the helper for power modes said nothing"],
  // A line that was cut off, or has a second one, is no answer.
  [["ok MAXN"], "ok MAXN"],
  [["ok \n"], "ok"],
  [["ok MAXN\nok 15W\n"], "ok MAXN\nok 15W"],
  [["not ok MAXN\n"], "not ok MAXN"],
])("the answer %j is the refusal %j, with exit code 1", async (pieces, why) => {
  answer = pieces;
  expect(await ask(["-q"], path)).toEqual({ status: 1, out: "", err: `${why}\n` });
  await expect(askHelper("query\n", path)).rejects.toThrow(why);
});

test("an answer of several words comes back whole", async () => {
  answer = ["ok 612000000 -\n"];
  expect(await askHelper("clocks 5 612000000 -\n", path)).toBe("612000000 -");
  expect(requests).toEqual(["clocks 5 612000000 -\n"]);
});

test.each([[[]], [["-m"]], [["-q", "2"]], [["-p", "2"]], [["-m", "2", "3"]], [["-m2"]], [["2"]]])(
  "%j is refused without a request",
  async (words) => {
    expect(await ask(words, path)).toEqual({
      status: 1,
      out: "",
      err: `expected -q or -m NUMBER, got ${words.join(" ")}\n`,
    });
    expect(requests).toEqual([]);
  },
);

test("without a helper the socket is named", async () => {
  const missing = join(folder, "none");
  expect(await ask(["-q"], missing)).toEqual({
    status: 1,
    out: "",
    err: `${missing}: connect ENOENT ${missing}\n`,
  });
});
