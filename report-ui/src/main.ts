// The page of a report: reads its data and lays out its parts, plots last, when they come into view.
import { load } from "./data";
import { details } from "./detail";
import { h } from "./dom";
import { facts } from "./facts";
import { alarms, certificate, foot, head, layers } from "./overview";
import { plots } from "./plot/all";
import "./style.css";
import { table } from "./table";

const page = load();
const { dialog, open } = details(page);
const parts = [alarms(page), layers(page), certificate(page), table(page, open), ...plots(page), facts(page)];
document.getElementById("page")?.append(
  head(page),
  h("main", {}, parts.filter((part) => part !== null)),
  foot(page),
  dialog,
);
