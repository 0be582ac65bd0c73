// SPDX-License-Identifier: Apache-2.0
// The oldest and the newest g++ and clang that the addons promise take all their sources; test/compilers-apart has those between.
import { isAtAnEnd, testCompilers } from "./addon-compilers.js";

testCompilers(isAtAnEnd);
