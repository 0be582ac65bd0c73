// SPDX-License-Identifier: Apache-2.0
// `npm run docs`: writes the reference pages that are made from the code; `npm run check` says when one is stale.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";
import { table, withResultTables } from "../bench/shared/result-tables.mjs";
import { bundledTree, productionTree, reasons } from "../packaging/dependency-tree.mjs";
import { withCameraTable } from "./camera-table.mjs";

const NOTICE = "<!-- Made from the code by `npm run docs`; edits here are lost. -->";

const code = (text) => `\`${text}\``;

function describeDefault(key, facts) {
  if (typeof facts.default === "function")
    return key === "device" ? "the host name" : "depends on the machine";
  return facts.default === undefined ? "none" : code(facts.default);
}

function configPage({ SETTINGS, OTHER_VARIABLES, configSchema, expectedWords, variableName }) {
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
      describeDefault(setting.key, setting.facts),
      setting.takesEffect,
      setting.facts.description,
    ]);
    const title = group === "" ? "Device, topics and board" : group;
    return `## ${title}\n\n${group === "" ? "" : `${schema.meta().description}\n\n`}${table(["key", "accepts", "default", "takes effect", "meaning"], rows)}\n`;
  });
  const variables = Object.entries(OTHER_VARIABLES).map(([name, meaning]) => [code(name), meaning]);
  return `${NOTICE}
# Settings

This page lists every setting. A setting can be given in five places; later ones override earlier ones:

1. the default below;
2. the board config (${code("board-configs/")}), chosen by the setting ${code("board")};
3. a configuration file, YAML or JSON: ${code("--config FILE")} or the variable ${code("DEPTHWATT_CONFIG")};
4. an environment variable: ${code("match.numDisparities")} is ${code(variableName("match.numDisparities"))};
5. a flag: a command's own, such as ${code("--algorithm")}, or ${code("--set match.numDisparities=128")} for any setting.

Unknown keys and values outside their range are errors. All problems are reported together, with a suggestion for each
misspelt key. Paths in a file are relative to that file. An empty value (${code("--set outputs.mqtt.username=")}) unsets a
setting without a default. ${code("depthwatt config --print")} shows every value and its origin.

In a file, the parts of a key are nested; ${code("rigs")} has [several pairs](../guides/several-rigs.md):

    match: { numDisparities: 128, sgm: { paths: 8 } }
    outputs:
      mqtt:
        broker: mqtts://broker.example:8883
        depth: { encoding: png }

A **live** setting takes effect in the running program, without losing a frame. Others need a **restart**.
${code("systemctl reload depthwatt")} applies changes of the file. If one of them needs a restart, nothing changes and the log
names it.

${sections.join("\n")}
## Other environment variables

${table(["variable", "meaning"], variables)}
`;
}

/** A TypeScript type for values of this JSON Schema. */
function valueType({ type, enum: choices, const: only, anyOf }) {
  if (choices !== undefined) return choices.map((choice) => JSON.stringify(choice)).join(" | ");
  if (only !== undefined) return JSON.stringify(only);
  if (anyOf !== undefined) return [...new Set(anyOf.map(valueType))].join(" | ");
  return type === "integer" ? "number" : type;
}

function settingValues({ settingDescriptions }) {
  const members = settingDescriptions().flatMap(({ key, description, unit, schema, default: value }) => {
    const facts = [unit, value === undefined || key === "device" ? undefined : `default ${value}`];
    const words = facts.filter((fact) => fact !== undefined).join(", ");
    return [
      `  /** ${description}${words === "" ? "" : ` (${words})`} */`,
      `  ${JSON.stringify(key)}?: ${valueType(schema)} | undefined;`,
    ];
  });
  return `// SPDX-License-Identifier: Apache-2.0
// Made from the code by npm run docs; edits here are lost.
// biome-ignore-all format: one line per setting

/** Every setting by its key. */
export interface SettingValues {
${members.join("\n")}
}
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

This page lists every error code. A deliberate error is a ${code("DepthwattError")} with one of these codes; programs should use
the code, not the message. The command line prints ${code("error:")} with what was expected and found, ${code("hint:")} with what to
do, and exits with the number below. An invalid command line exits with 2. An error that is not in this table is a bug:
it prints its stack and exits with 70.

${table(["code", "exit", "retrying can help", "cause", "what to do"], rows)}
`;
}

function renderHelp(command) {
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
    const indented = renderHelp(command).replace(/^(?=.)/gm, "    ");
    sections.push(`${prefix === "" ? "" : `## ${name}\n\n`}${indented}\n`);
    for (const child of command.commands) visit(child, `${name} `);
  };
  visit(await buildProgram(), "");
  return `${NOTICE}
# Commands

This page has the help text of every command. Results go to stdout, everything else to stderr. With ${code("--json")} the last line of stdout is one JSON document.
In a clone, ${code("npm start")} is ${code("depthwatt run")} (${code("npm start -- --frames 60")} passes flags), and other commands are ${code("npx depthwatt COMMAND")}.

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

This page lists the presets: named groups of settings. Use ${code("--preset NAME")} with any command that reads settings;
${code("depthwatt presets")} lists them. Values from a configuration file, the environment or flags override the preset's, and the
command reports which. ${code("depthwatt set preset=NAME --device DEVICE")} applies a preset to a running program; there only
values of the same request override it. Settings that a preset does not name keep their values. Presets of papers
also set \`match.denoise\` to \`off\` and \`rectify.verticalOffset\` to 0 when a program starts; a running program keeps its own.

## By use

${list(PRESET_GROUPS.use)}

## With the settings of papers

${list(PRESET_GROUPS.paper)}

## Results

Measured with depthwatt, next to the paper's number. "-" means not measured, or not in the paper. Accuracy is measured on
development sets: the same scenes on which settings were chosen ([held-out numbers](../guides/accuracy.md)).

${table(["preset", "of", "unit", "measured", "published", "measured in", "published in"], figures)}

## Settings

${settings.join("\n")}`;
}

function boardsPage({ loadBoards, PREDICTED_SPEED }) {
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
  const predicted = boards.flatMap(({ name, title }) =>
    (PREDICTED_SPEED[name] ?? []).map(({ width, height, numDisparities, full, coarseToFine }) => [
      title,
      `${width} x ${height}, ${numDisparities}`,
      full,
      coarseToFine,
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
- **published**: another program with a simpler pipeline ran there. Do not expect the same of depthwatt.

The watts of a power mode are its name, not a measurement. [Send in measurements](../guides/contribute.md) of your board.

${table(["board", "power mode", "matcher", "size, disparities", "frames per second", "kind"], rows)}

Predicted frames per second of sgm with 4 paths, for each ${code("match.sgm.search")} ([joules](../guides/measuring.md#energy-of-a-frame-elsewhere)):

${table(["board", "size, disparities", "full", "coarseToFine"], predicted)}

Without a recommendation:

${without.join("\n")}
`;
}

function metricsPage({ FAMILIES }) {
  const endings = { counter: "_total", info: "_info", gauge: "", histogram: "" };
  const rows = FAMILIES.map(({ name, type, help }) => [code(name + endings[type]), type, help]);
  return `${NOTICE}
# Metrics for Prometheus

This page lists the metrics that ${code("outputs.prometheus")} serves ([how to scrape them](../guides/prometheus.md)). A value that
the machine cannot measure is absent, never 0; ${code("depthwatt_unavailable")} has the reason.

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
  const heads = ["package", "version", "licence", "reason"];
  return `${NOTICE}
# Dependencies

This page lists every installed package with its version, licence and reason. ${code("package-lock.json")} pins versions and hashes.
${code("npm run sbom")} prints a CycloneDX bill of materials. ${code("npm run check")} refuses a dependency without a reason, an unlisted
licence, an install script other than ours (which compile the addons), and committed binary files except images of pages
and fuzzing data.

## Direct

${table(heads, direct(tree, installed))}

## Inside the live page

Development packages whose code is part of the page.

${table(heads, direct(bundledTree(root), insideThePage))}

## Indirect

${table(["package", "version", "licence", "required by"], brought)}
`;
}

/** The exports of the package as TypeScript declares them, without their private parts. */
function libraryPage(root) {
  const entry = join(root, "dist/edge/index.d.ts");
  // Names and texts need no library's types, which take most of the time.
  const options = { module: ts.ModuleKind.NodeNext, skipLibCheck: true, noLib: true, types: [] };
  const host = ts.createCompilerHost(options);
  host.resolveModuleNameLiterals = (literals, from, redirected, settings) =>
    literals.map(({ text }) =>
      text.startsWith(".")
        ? ts.resolveModuleName(text, from, settings, host, undefined, redirected, ts.ModuleKind.ESNext)
        : { resolvedModule: undefined },
    );
  const program = ts.createProgram([entry], options, host);
  const checker = program.getTypeChecker();
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(entry)));
  const declared = exported.map((symbol) => {
    const real = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    const [declaration] = real.declarations;
    const statement = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
    const text = statement
      .getFullText()
      .trim()
      .replace(/^\/\/ SPDX.*\n/, "");
    return { name: symbol.name, text, isLong: real.name === "SettingValues" || real.name === "RunFigures" };
  });
  const sections = declared.map(({ name, text, isLong }) => {
    const body = isLong
      ? `\`${name}\` has a member for every ${name === "SettingValues" ? "[setting](config.md)" : "figure of `depthwatt run --json`"}.`
      : `\`\`\`ts\n${text}\n\`\`\``;
    return `## ${name}\n\n${body}\n`;
  });
  return `${NOTICE}
# The library's exports

This page lists what ${code('import { ... } from "depthwatt"')} gives. [The guide](../start/library.md) has examples.

${sections.join("\n")}`;
}

/** The pages by their path. They are made from dist, which must be built. */
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
    "docs/internals/cpu-limits.md": withResultTables(root, "docs/internals/cpu-limits.md"),
    "docs/guides/cameras.md": withCameraTable(root, "docs/guides/cameras.md"),
    "docs/guides/accuracy.md": withResultTables(root, "docs/guides/accuracy.md"),
    "docs/internals/evaluation.md": withResultTables(root, "docs/internals/evaluation.md"),
    "docs/reference/config.md": configPage(config),
    "docs/reference/library.md": libraryPage(root),
    "edge/library/setting-values.ts": settingValues(config),
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
