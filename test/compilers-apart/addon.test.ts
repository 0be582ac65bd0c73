// SPDX-License-Identifier: Apache-2.0
// The compilers between the oldest and the newest take every source of the addons.
import { isAtAnEnd, testCompilers } from "../compilers/addon-compilers.js";

testCompilers((compiler) => !isAtAnEnd(compiler));
