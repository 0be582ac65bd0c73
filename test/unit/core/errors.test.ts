// SPDX-License-Identifier: Apache-2.0
// Error codes as their page lists them, and what an error keeps.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ERROR_CATALOGUE, type ErrorCode } from "../../../core/error-catalogue.js";
import { hasCode, isDepthwattError } from "../../../core/errors.js";
import { DepthwattError } from "../../../core/index.js";

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
