// SPDX-License-Identifier: Apache-2.0
// Defines a vitest reporter that writes every error of a run to the file that SANITIZE_RESULTS names: of tests, of
// hooks of a file or of a suite in it, of files that do not load, and uncaught ones. Vitest's own JSON lacks errors of
// a suite's hooks.
import { writeFileSync } from "node:fs";
import { relative } from "node:path";

const firstLine = ({ message, stack } = {}) =>
  String(message ?? stack ?? "")
    .split("\n")[0]
    .slice(0, 200);

export default class Failures {
  onTestRunEnd(modules, unhandled) {
    const failed = [];
    const counts = { testFiles: modules.length, passed: 0, skipped: 0 };
    for (const module of modules) {
      const file = relative(process.cwd(), module.moduleId);
      const add = (test, error) => failed.push({ file, test, says: firstLine(error) });
      for (const error of module.errors()) add("(the file, or a hook of it)", error);
      for (const suite of module.children.allSuites())
        for (const error of suite.errors()) add(`(a hook of "${suite.fullName}")`, error);
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result();
        if (state === "failed") add(test.fullName, errors[0]);
        else counts[state] = (counts[state] ?? 0) + 1;
      }
      // Such a file is always reported, for any reason.
      if (module.state() === "failed" && !failed.some((one) => one.file === file)) add("(the file)");
    }
    for (const error of unhandled)
      failed.push({ file: "", test: "(an uncaught error)", says: firstLine(error) });
    writeFileSync(process.env.SANITIZE_RESULTS, JSON.stringify({ ...counts, failed }));
  }
}
