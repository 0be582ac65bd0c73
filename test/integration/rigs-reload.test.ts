// SPDX-License-Identifier: Apache-2.0
// SIGHUP and restart with several rigs: a rig whose settings changed follows, the others do not notice, and a configuration
// that cannot be used changes nothing.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { loadRigs } from "../../edge/config/index.js";
import type { RunFigures } from "../../edge/run/figures.js";
import { Rigs } from "../../edge/run/rigs.js";
import { SECRET, TestClient } from "../doubles/control-client.js";
import { until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { PROGRAM } from "../doubles/program.js";
import { TOP } from "../doubles/rigs-configuration.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-rigs-reload-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts the program with the rigs of a file. */
function startRigs(file: string) {
  // Its own session, as a service has it: no terminal that could be closed.
  const child = spawn(process.execPath, [PROGRAM, "run", "--config", file], { detached: true });
  cleanups.push(() => child.kill("SIGKILL"));
  let log = "";
  let out = "";
  child.stderr.on("data", (chunk) => (log += chunk));
  child.stdout.on("data", (chunk) => (out += chunk));
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return {
    runs: (...names: string[]) =>
      until(
        `${names.join(" and ")} run`,
        () => names.every((name) => new RegExp(`^rig +${name}$`, "m").test(out)),
        60_000,
      ),
    /** Waits for `expected` in the log from now on, and returns what was added. @param begin what causes it */
    async logs(begin: () => void, ...expected: RegExp[]): Promise<string> {
      const before = log.length;
      begin();
      const added = () => log.slice(before);
      await until(
        `the log has ${expected.join(" and ")}`,
        () => expected.every((text) => text.test(added())),
        30_000,
      );
      return added();
    },
    hup: () => void child.kill("SIGHUP"),
    /** Returns the exit code and what was printed. */
    async end() {
      child.kill("SIGTERM");
      return { code: await ended, out };
    },
  };
}

test("SIGHUP changes the rigs whose settings changed; a bad file changes none and is reported once", async () => {
  const file = join(temporaryFolder(), "depthwatt.yaml");
  const write = (rigs: object, top: object = {}) =>
    writeFileSync(file, JSON.stringify({ ...TOP, ...top, rigs }));
  write({ front: {}, rear: {} });
  const program = startRigs(file);
  await program.runs("front", "rear");
  const reload = (...expected: RegExp[]) => program.logs(program.hup, ...expected);
  const same = (name: string) => new RegExp(`"${name}: reload: no setting has changed"`);

  const small = { match: { numDisparities: 64 } };
  write({ front: {}, rear: small });
  await reload(same("front"), /"rear: reload: changed match\.numDisparities"/);
  write({ front: {}, rear: small }, { refine: { median: false } });
  await reload(/"front: reload: changed refine\.median"/, /"rear: reload: changed refine\.median"/);

  write({ front: { match: { numDisparities: 48 } }, rear: { match: { numDisparities: 4 } } });
  const refused = await reload(
    /"reload: match\.numDisparities .*expected .* got 4; the running settings stay/,
  );
  expect(refused.match(/the running settings stay/g)).toHaveLength(1);
  write({ front: {}, rear: small }, { refine: { median: false } });
  await reload(same("front"), same("rear"));

  write({ front: small, rear: { ...small, engine: { threads: 1 } } }, { refine: { median: false } });
  await reload(
    /"front: reload: changed match\.numDisparities"/,
    /"rear: reload: engine\.threads .*expected settings that take effect live, .*the running settings stay/,
  );
  write({ front: small, side: {} }, { refine: { median: false } });
  await reload(
    same("front"),
    /"rear: reload: rigs: expected rear, which runs, found none of that name; the running settings stay/,
    /"side: reload: it is new\. Restart depthwatt to run it\."/,
  );
  const { code, out } = await program.end();
  expect(code).toBe(0);
  expect(out).toMatch(/^front: \d+ frames/m);
  expect(out).toMatch(/^rear: \d+ frames/m);
}, 120_000);

test("a rig that opens slowly delays no other, and follows a SIGHUP meanwhile once it runs", async () => {
  const folder = temporaryFolder();
  const [file, go, camera] = ["depthwatt.yaml", "go", "camera.mjs"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  // A camera that sends nothing until a file exists.
  writeFileSync(
    camera,
    `import { existsSync, writeSync } from "node:fs";
    const frame = Buffer.concat([Buffer.from("FRAME\\n"), Buffer.alloc(320 * 96, 80)]);
    while (!existsSync(${JSON.stringify(go)})) await new Promise((done) => setTimeout(done, 20));
    writeSync(1, "YUV4MPEG2 W320 H96 F30:1 Cmono\\n");
    for (;;) { writeSync(1, frame); await new Promise((done) => setTimeout(done, 33)); }\n`,
  );
  const slow = {
    source: { kind: "command", command: { sideBySide: `${process.execPath} ${camera}`, timeoutMs: 60_000 } },
  };
  const write = (match: object) =>
    writeFileSync(file, JSON.stringify({ ...TOP, match, rigs: { slow, front: {} } }));
  write({ numDisparities: 32 });
  const program = startRigs(file);
  await program.runs("front");
  write({ numDisparities: 48 });
  await program.logs(program.hup, /"front: reload: changed match\.numDisparities"/);
  await program.logs(() => writeFileSync(go, ""), /"slow: reload: changed match\.numDisparities"/);
  expect((await program.end()).code).toBe(0);
}, 120_000);

needs("mosquitto").suite("restart", () => {
  test("one rig begins again with its new settings; the other one runs on; a bad file is refused", async () => {
    const mosquitto = await startMosquitto();
    cleanups.push(() => mosquitto.stop());
    const folder = temporaryFolder();
    const file = join(folder, "depthwatt.yaml");
    const secretFile = join(folder, "secret");
    writeFileSync(secretFile, `${SECRET}\n`, { mode: 0o600 });
    const outputs = { mqtt: { broker: mosquitto.url }, viewer: { enabled: false } };
    const write = (rear: object) =>
      writeFileSync(
        file,
        JSON.stringify({
          ...TOP,
          outputs,
          control: { enabled: true, secretFile },
          rigs: { front: {}, rear },
        }),
      );
    write({});
    const load = () => loadRigs({ file, environment: {} })!;
    const rigs = new Rigs(
      {
        configs: new Map([...load()].map(([name, { config }]) => [name, config])),
        load: (name) => load().get(name)!.config,
        waits: true,
      },
      { onNotice: () => {} },
    );
    const ended = rigs.run();
    cleanups.push(() => {
      rigs.stop();
      return ended;
    });
    const [front, rear] = rigs.rigs as [(typeof rigs.rigs)[0], (typeof rigs.rigs)[0]];
    const frames = (rig: typeof front) => {
      const from = rig.frames;
      return until(`frames of ${rig.name}`, () => rig.frames > from + 2, 30_000);
    };
    await Promise.all([frames(front), frames(rear)]);
    const client = await TestClient.connect(mosquitto.url, "cart-rear", 5);
    cleanups.push(() => client.close());
    const [frontRun, rearRun] = [front.runtime, rear.runtime];

    write({ engine: { threads: 0.5 } });
    expect(await client.ask("restart", {})).toMatchObject({ ok: false, code: "CONFIG_INVALID" });
    expect(front.runtime).toBe(frontRun);
    expect(rear.runtime).toBe(rearRun);

    write({ source: { synthetic: { width: 192 } } });
    expect(await client.ask("restart", {})).toMatchObject({ ok: true });
    await until("another run of rear", () => rear.runtime !== undefined && rear.runtime !== rearRun, 30_000);
    await Promise.all([frames(front), frames(rear)]);
    expect(front.runtime).toBe(frontRun);
    rigs.stop();
    const summaries = (await ended) as Record<string, RunFigures>;
    expect([summaries.front!.width, summaries.rear!.width]).toEqual([160, 192]);
  }, 90_000);
});
