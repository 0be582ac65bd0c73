// SPDX-License-Identifier: Apache-2.0
// `npm run docs`: writes the reference pages that are made from the code; `npm run check` says when one is stale.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { table, withResultTables } from "../bench/shared/result-tables.mjs";
import { bundledTree, productionTree, reasons } from "./dependency-tree.mjs";

const NOTICE = "<!-- Made from the code by `npm run docs`; edits here are lost. -->";

const code = (text) => `\`${text}\``;

function defaultOf(key, facts) {
  if (typeof facts.default === "function")
    return key === "device" ? "the host name" : "depends on the machine";
  return facts.default === undefined ? "none" : code(facts.default);
}

function configPage({ SETTINGS, OTHER_VARIABLES, configSchema, expectedWords, variableOf }) {
  const groups = new Map();
  for (const setting of SETTINGS) {
    const group = setting.key.includes(".") ? setting.key.slice(0, setting.key.lastIndexOf(".")) : "";
    groups.set(group, [...(groups.get(group) ?? []), setting]);
  }
  const sections = [...groups].map(([group, settings]) => {
    const schema = group
      .split(".")
      .reduce((node, part) => (part === "" ? node : node.shape[part]), configSchema);
    const rows = settings.map((setting) => [
      code(setting.key),
      expectedWords(setting),
      defaultOf(setting.key, setting.facts),
      setting.takesEffect,
      setting.facts.description,
    ]);
    const title = group === "" ? "Device, topics and board" : group;
    return `## ${title}\n\n${group === "" ? "" : `${schema.meta().description}\n\n`}${table(["key", "accepts", "default", "takes effect", "meaning"], rows)}\n`;
  });
  const variables = Object.entries(OTHER_VARIABLES).map(([name, meaning]) => [code(name), meaning]);
  return `${NOTICE}
# Settings

Each setting can be given in five places; a later one overrides an earlier one:

1. the default below,
2. the board config (${code("board-configs/")}), chosen by the setting ${code("board")},
3. a configuration file, YAML or JSON: ${code("--config FILE")} or the variable ${code("DEPTHWATT_CONFIG")},
4. a variable of the environment: ${code("match.numDisparities")} is ${code(variableOf("match.numDisparities"))},
5. a flag: a command's own, such as ${code("--algorithm")}, or ${code("--set match.numDisparities=128")} for any setting.

A key that is not in these tables is refused, with the nearest one that is; so is a value outside its range, and all
problems are told at once. Paths in a file are relative to that file. An empty value (${code("--set outputs.mqtt.username=")})
unsets a setting that has no default. ${code("depthwatt config --print")} shows every value and where it came from.

A file holds groups as the keys say:

    match: { numDisparities: 128, sgm: { paths: 8 } }
    outputs:
      mqtt:
        broker: mqtts://broker.example:8883
        depth: { encoding: png }

A setting takes effect either **live**, on the running program and without losing a frame, or at the next start
(**restart**): the tables say which. ${code("systemctl reload depthwatt")} applies what has changed in the file; where a
changed setting needs a restart, nothing changes and the log names it.

${sections.join("\n")}
## Variables that are no settings

${table(["variable", "meaning"], variables)}
`;
}

function errorsPage({ ERROR_CATALOGUE }) {
  const rows = Object.entries(ERROR_CATALOGUE).map(([name, { exitCode, retryable, meaning, hint }]) => [
    code(name),
    exitCode,
    retryable ? "yes" : "no",
    meaning,
    hint,
  ]);
  return `${NOTICE}
# Errors

Every error that depthwatt raises on purpose is a ${code("DepthwattError")} with one of these codes. Programs decide by the
code, never by the message. The command line prints ${code("error:")} with what was expected and what came, ${code("hint:")} with
what to do, and exits with the number below. A command line that is not understood exits with 2 as well. An error that is
not in this table is a bug: it prints its stack and exits with 70.

${table(["code", "exit", "trying again can help", "what led to it", "what to do"], rows)}
`;
}

function helpOf(command) {
  let text = "";
  command.configureOutput({
    writeOut: (piece) => (text += piece),
    getOutHelpWidth: () => 100,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return text.trimEnd();
}

async function commandsPage({ buildProgram }) {
  const sections = [];
  const visit = (command, prefix) => {
    const name = `${prefix}${command.name()}`;
    const indented = helpOf(command).replace(/^(?=.)/gm, "    ");
    sections.push(`${prefix === "" ? "" : `## ${name}\n\n`}${indented}\n`);
    for (const child of command.commands) visit(child, `${name} `);
  };
  visit(await buildProgram(), "");
  return `${NOTICE}
# Commands

Results go to stdout, everything else to stderr. With ${code("--json")} the last line of stdout is one JSON document.
In a clone, ${code("npm start")} is ${code("depthwatt run")} (${code("npm start -- --frames 60")} passes flags on), and every other
command is ${code("npx depthwatt COMMAND")}.

${sections.join("\n")}`;
}

function presetsPage({ PRESETS, PRESET_GROUPS }) {
  const all = Object.entries(PRESETS);
  const list = (presets) =>
    table(
      ["preset", "what it is", "source of its values"],
      Object.entries(presets).map(([name, { summary, source }]) => [code(name), summary, source]),
    );
  const figures = all.flatMap(([name, preset]) =>
    preset.figures.map(({ of, unit, measured, published }) => [
      code(name),
      of,
      unit,
      measured?.value ?? "-",
      published?.value ?? "-",
      measured === undefined ? "-" : `[${measured.from.split("/").pop()}](../../${measured.from})`,
      published?.from ?? "-",
    ]),
  );
  const settings = all.map(([name, preset]) => {
    const lines = Object.entries(preset.settings).map(([key, value]) => `    ${key}: ${value}`);
    return `### ${name}\n\n${lines.join("\n")}\n`;
  });
  return `${NOTICE}
# Presets

A preset is settings under one name. ${code("--preset NAME")} of every command that reads settings takes one, and ${code("depthwatt presets")}
lists them. Settings of a configuration file, of the environment and of flags win over the preset's, and the command says
which. A running program takes one too: ${code("depthwatt set preset=NAME --device DEVICE")} changes all its settings between two
frames; there only settings of the same request win. A setting that the preset does not name keeps its value.

## By use

${list(PRESET_GROUPS.use)}

## With the settings of papers

${list(PRESET_GROUPS.paper)}

## Figures

Measured with depthwatt, beside what the paper prints. A figure without the other one was not measured here, or is not in
the paper.

${table(["preset", "of", "unit", "measured", "published", "measured in", "published in"], figures)}

## Settings

${settings.join("\n")}`;
}

function boardsPage({ loadBoards }) {
  const boards = loadBoards();
  const rows = boards.flatMap(({ title, recommended }) =>
    (Array.isArray(recommended) ? recommended : []).map((item) => [
      title,
      `${item.mode}${typeof item.budgetWatts === "number" ? `, ${item.budgetWatts} W by its name` : ""}`,
      `${item.algorithm}, ${item.paths} paths`,
      `${item.width} x ${item.height}, ${item.numDisparities}`,
      item.framesPerSecond,
      `**${item.kind}**`,
    ]),
  );
  const without = boards
    .filter(({ recommended }) => !Array.isArray(recommended))
    .map(({ title, recommended }) => `- ${title}: ${recommended.unknown}`);
  return `${NOTICE}
# Boards

This page lists the speed to expect of each board and power mode, from ${code("board-configs/")}. A row is one of:

- **measured**: depthwatt ran there;
- **predicted**: computed by [a model](../../board-configs/README.md#how-predictions-are-made), because depthwatt has not run there;
- **published**: another program ran there, with a simpler pipeline. depthwatt with its default settings is slower.

The watts of a power mode are its name, not a measurement. [Send in measurements](../guides/contribute.md) of your board.

${table(["board", "power mode", "matcher", "size, disparities", "frames per second", "kind"], rows)}

Without a recommendation:

${without.join("\n")}
`;
}

/** The pages by their path. They are made from dist, which must be built. */
function metricsPage({ FAMILIES }) {
  const endings = { counter: "_total", info: "_info", gauge: "", histogram: "" };
  const rows = FAMILIES.map(({ name, type, help }) => [code(name + endings[type]), type, help]);
  return `${NOTICE}
# Metrics for Prometheus

What ${code("outputs.prometheus")} serves ([how to scrape it](../guides/prometheus.md)). A figure that this machine cannot
tell is absent, and ${code("depthwatt_unavailable")} says why; it is never 0.

${table(["metric", "type", "meaning"], rows)}
`;
}

function dependenciesPage(root) {
  const { installed, insideThePage } = reasons(root);
  const of = (tree, name) => tree.find((entry) => entry.name === name);
  const direct = (tree, why) =>
    Object.entries(why).map(([name, reason]) => {
      const { version, licence } = of(tree, name);
      return [code(name), version, licence, reason];
    });
  const tree = productionTree(root);
  const brought = tree
    .filter(({ name }) => installed[name] === undefined)
    .map(({ name, version, licence, from }) => [code(name), version, licence, from.map(code).join(", ")]);
  const heads = ["package", "version", "licence", "what for"];
  return `${NOTICE}
# Dependencies

What an installation on a Jetson or a PC consists of. Versions are pinned by ${code("package-lock.json")} with a hash each.
${code("npm run sbom")} prints the same as a CycloneDX bill of materials. ${code("npm run check")} refuses a dependency without a
reason, a licence that is not in its list, a package with an install script (ours, which compile the addons, are the only
ones) and a committed file that is neither text, a picture of a page, nor data of a fuzz target.

## Direct

${table(heads, direct(tree, installed))}

## Inside the live page

Packages of development whose code is built into the page.

${table(heads, direct(bundledTree(root), insideThePage))}

## Brought along

${table(["package", "version", "licence", "by"], brought)}
`;
}

export async function generatePages(root) {
  const load = (path) => import(pathToFileURL(join(root, "dist", path)).href);
  const [config, base, program, boards, presets, families, dashboard] = await Promise.all([
    load("edge/config/index.js"),
    load("core/index.js"),
    load("edge/cli/program.js"),
    load("edge/boards/index.js"),
    load("edge/presets/index.js"),
    load("edge/outputs/prometheus/families.js"),
    load("edge/outputs/prometheus/dashboard.js"),
  ]);
  return {
    "docs/internals/notebook/sgm-on-the-cpu.md": withResultTables(
      root,
      "docs/internals/notebook/sgm-on-the-cpu.md",
    ),
    "docs/guides/accuracy.md": withResultTables(root, "docs/guides/accuracy.md"),
    "docs/internals/evaluation.md": withResultTables(root, "docs/internals/evaluation.md"),
    "docs/reference/config.md": configPage(config),
    "docs/reference/errors.md": errorsPage(base),
    "docs/reference/commands.md": await commandsPage(program),
    "docs/reference/presets.md": presetsPage(presets),
    "docs/reference/boards.md": boardsPage(boards),
    "docs/reference/metrics.md": metricsPage(families),
    "docs/reference/dependencies.md": dependenciesPage(root),
    "docs/guides/prometheus/grafana-dashboard.json": `${JSON.stringify(dashboard.grafanaDashboard(), null, 2)}\n`,
    "docs/guides/prometheus/alert-rules.yaml": dashboard.alertRules(),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  for (const [path, text] of Object.entries(await generatePages(root))) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    console.log(path);
  }
}
