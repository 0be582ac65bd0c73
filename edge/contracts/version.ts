// SPDX-License-Identifier: Apache-2.0
// The version and where the documentation is, from the one place that states them: package.json, of which the build leaves an extract in dist.
import { readFileSync } from "node:fs";

const { version, homepage = "" }: { version: string; homepage?: string } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
);

export const VERSION: string = version;

/** Returns the address of a page of the documentation, such as "guides/live-page.md"; undefined without a home page. */
export const documentationUrl = (page: string): string | undefined =>
  homepage === "" ? undefined : `${homepage.replace(/#.*$/, "")}/blob/main/docs/${page}`;
