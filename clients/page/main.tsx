// SPDX-License-Identifier: Apache-2.0
// Where the page begins.
import { render } from "preact";
import { App } from "./app.js";
import { connect } from "./live.js";
import "uplot/dist/uPlot.min.css";
import "./style.css";

connect();
render(<App />, document.getElementById("page") as HTMLElement);
