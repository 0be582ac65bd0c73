// SPDX-License-Identifier: Apache-2.0
// The papers that `depthwatt reproduce` knows, one line each.

import { CHANG } from "./chang.js";
import { HERNANDEZ_2016 } from "./hernandez-2016.js";
import type { Paper } from "./paper.js";
import { PREHN_2007 } from "./prehn-2007.js";
import { YU_2009 } from "./yu-2009.js";
import { YU_2010 } from "./yu-2010.js";

export const PAPERS: readonly Paper[] = [YU_2009, CHANG, YU_2010, PREHN_2007, HERNANDEZ_2016];
