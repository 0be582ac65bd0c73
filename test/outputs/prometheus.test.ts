// SPDX-License-Identifier: Apache-2.0
// Metrics scraped by Debian's Prometheus from a run, judged by promtool; every line of the dashboard and every rule evaluated.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FAMILIES } from "../../edge/outputs/prometheus/families.js";
import { freePort } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { lastJson, type Running, startProgram } from "../doubles/program.js";

const RULES = new URL("../../docs/guides/prometheus/alert-rules.yaml", import.meta.url).pathname;

needs("prometheus").suite("Prometheus", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-prometheus-"));
  let run: Running;
  let server: ChildProcess;
  let api: string;
  let page: string;

  async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
    const deadline = Date.now() + 30_000;
    for (;;) {
      const answer = await ask().catch(() => undefined);
      if (answer !== undefined) return answer;
      if (Date.now() > deadline) throw new Error(`${what} did not come; the run said: ${run.stderr()}`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  type Result = { metric: Record<string, string>; value: [number, string] };
  async function query(expr: string): Promise<Result[]> {
    const asked = await fetch(`${api}/query?query=${encodeURIComponent(expr)}`);
    const answer = (await asked.json()) as { status: string; error?: string; data: { result: Result[] } };
    if (answer.status !== "success") throw new Error(`${expr}: ${answer.error}`);
    return answer.data.result;
  }
  const metrics = async (accept = "text/plain") =>
    (await fetch(`${page}/metrics`, { headers: { accept } })).text();

  function startRun(port: number): Running {
    const settings = {
      "source.synthetic.width": 160,
      "source.synthetic.height": 120,
      "match.numDisparities": 16,
      "http.port": port,
      "outputs.prometheus.enabled": true,
    };
    const words = Object.entries(settings).flatMap(([key, value]) => ["--set", `${key}=${value}`]);
    return startProgram(["run", "--broker", "none", "--rate", "20", "--json", ...words]);
  }

  beforeAll(async () => {
    const port = await freePort();
    page = `http://127.0.0.1:${port}`;
    run = startRun(port);
    const own = await freePort();
    api = `http://127.0.0.1:${own}/api/v1`;
    writeFileSync(
      join(folder, "prometheus.yml"),
      JSON.stringify({
        global: { scrape_interval: "1s", evaluation_interval: "1s" },
        rule_files: [RULES],
        scrape_configs: [{ job_name: "depthwatt", static_configs: [{ targets: [`127.0.0.1:${port}`] }] }],
      }),
    );
    await until("the run", async () =>
      (await metrics()).includes("depthwatt_frames_total") ? true : undefined,
    );
    server = spawn(
      "prometheus",
      [
        `--config.file=${join(folder, "prometheus.yml")}`,
        `--storage.tsdb.path=${join(folder, "data")}`,
        `--web.listen-address=127.0.0.1:${own}`,
      ],
      { stdio: "ignore" },
    );
    process.once("exit", () => server.kill("SIGKILL"));
    await until("two scrapes", async () =>
      (await query("rate(depthwatt_frames_total[8s])")).length > 0 ? true : undefined,
    );
  });
  afterAll(async () => {
    run.child.kill("SIGTERM");
    server.kill("SIGKILL");
    await run.ended;
    rmSync(folder, { recursive: true, force: true });
  });

  test("scrapes it, in OpenMetrics, and sees the frames grow at the camera's rate", async () => {
    await until("a rate", async () => {
      const [rate] = await query("rate(depthwatt_frames_total[8s])");
      const perSecond = Number(rate?.value[1]);
      return perSecond > 10 && perSecond < 25 ? true : undefined;
    });
    const targets = (await (await fetch(`${api}/targets`)).json()) as {
      data: { activeTargets: { health: string; lastError: string }[] };
    };
    expect(targets.data.activeTargets).toMatchObject([{ health: "up", lastError: "" }]);
    const [build] = await query("depthwatt_build_info");
    expect(build!.metric).toMatchObject({ job: "depthwatt", backend: "cpu", algorithm: "sgm" });
    expect(await query('depthwatt_state{state="online"} == 1')).toHaveLength(1);
    const [p95] = await query(
      'histogram_quantile(0.95, rate(depthwatt_stage_duration_seconds_bucket{stage="match"}[8s]))',
    );
    expect(Number(p95!.value[1])).toBeGreaterThan(0);
  });

  test("promtool accepts the text, and the rules", async () => {
    const check = spawnSync("promtool", ["check", "metrics"], { input: await metrics(), encoding: "utf8" });
    expect(check.stdout + check.stderr).toBe("");
    expect(check.status).toBe(0);
    const rules = spawnSync("promtool", ["check", "rules", RULES], { encoding: "utf8" });
    expect(rules.stdout).toMatch(/SUCCESS: \d+ rules found/);
    expect(rules.status).toBe(0);
  });

  test("OpenMetrics ends as it must and has units", async () => {
    const text = await metrics("application/openmetrics-text; version=1.0.0");
    expect(text.endsWith("\n# EOF\n")).toBe(true);
    expect(text).toContain("# UNIT depthwatt_compute_latency_seconds seconds");
  });

  test("the server evaluates every line of the dashboard, and its rules without an error", async () => {
    const lines = FAMILIES.flatMap(({ panel }) => panel?.lines ?? []);
    const empty: string[] = [];
    for (const { expr } of lines) {
      const found = await query(expr.replaceAll("$instance", ".*").replaceAll("$__rate_interval", "8s"));
      if (found.length === 0) empty.push(expr);
    }
    // This machine may have no power sensor and no thermal zone; nothing else is empty, but for drops where none was needed and outputs that send no frames.
    expect(empty.filter((expr) => !/watts|joules|celsius|output_latency|drops_total/.test(expr))).toEqual([]);
    const rules = (await (await fetch(`${api}/rules`)).json()) as {
      data: { groups: { rules: { name: string; health: string; lastError?: string }[] }[] };
    };
    const evaluated = rules.data.groups.flatMap((group) => group.rules);
    expect(evaluated.length).toBeGreaterThan(5);
    for (const rule of evaluated) expect(rule).toMatchObject({ health: "ok" });
  });

  test("the alerts fire on what they are for, by promtool's test", () => {
    const series = (name: string, values: string) => ({ series: name, values });
    const file = join(folder, "alerts.yml");
    const at = 'instance="robot",job="depthwatt"';
    const expected = (alertname: string, severity: string, labels: object, summary: string) => ({
      eval_time: "15m",
      alertname,
      exp_alerts: [
        {
          exp_labels: { instance: "robot", job: "depthwatt", severity, ...labels },
          exp_annotations: { summary },
        },
      ],
    });
    writeFileSync(
      file,
      JSON.stringify({
        rule_files: [RULES],
        evaluation_interval: "1m",
        tests: [
          {
            interval: "1m",
            input_series: [
              series(`depthwatt_frames_total{${at}}`, "100+0x20"),
              series(`depthwatt_state{${at},state="degraded"}`, "1+0x20"),
              series(`depthwatt_temperature_celsius{${at},zone="CPU-therm"}`, "95+0x20"),
              series(`up{${at}}`, "0+0x20"),
            ],
            alert_rule_test: [
              expected(
                "DepthwattHot",
                "warning",
                { zone: "CPU-therm" },
                "CPU-therm of robot is hotter than 90 degrees Celsius.",
              ),
              expected("DepthwattDown", "critical", {}, "robot has not answered a scrape for a minute."),
            ],
          },
        ],
      }),
    );
    const tested = spawnSync("promtool", ["test", "rules", file], { encoding: "utf8" });
    expect(tested.stdout + tested.stderr).toContain("SUCCESS");
    expect(tested.status).toBe(0);
  });

  test("forty clients that ask and never read harm no other client", async () => {
    const sockets = Array.from({ length: 40 }, () => {
      const socket = connect(Number(new URL(page).port), "127.0.0.1");
      socket.on("error", () => {});
      socket.pause();
      socket.write("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(200));
      return socket;
    });
    const queryFrames = async () => Number((await query("depthwatt_frames_total"))[0]?.value[1]);
    const before = await queryFrames();
    await until("frames", async () => ((await queryFrames()) > before + 20 ? true : undefined));
    for (const socket of sockets) socket.destroy();
    expect(await metrics()).toContain("depthwatt_frames_total");
  });

  test("the summary of a run counts each answer", async () => {
    const port = await freePort();
    const served = startRun(port);
    let answers = 0;
    await until("six answers", async () => {
      if ((await fetch(`http://127.0.0.1:${port}/metrics`)).ok) answers++;
      return answers === 6 ? true : undefined;
    });
    served.child.kill("SIGTERM");
    const { outputs } = lastJson<{ outputs: { prometheus: object } }>(await served.ended);
    expect(outputs.prometheus).toMatchObject({ sent: 6, problem: null });
  });
});
