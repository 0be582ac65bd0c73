// SPDX-License-Identifier: Apache-2.0
// The tests' own configuration, with a setup file that has the programs they start counted too.
import own from "../../vitest.config.js";

export default { ...own, test: { ...own.test, setupFiles: ["test/coverage/count-programs.ts"] } };
