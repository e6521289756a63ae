// Values of other tools, without a session: the list of their files, and a table of each file.
import type { ImportedFigure, ImportedFile, ImportedPage } from "./data";
import { broken, h } from "./dom";
import { counted } from "./language";
import { figure } from "./number";
import { brand, footer } from "./head";

/** Number of lines after which the tables of further files are folded. */
const MOST_OPEN = 120;

const tool = (file: ImportedFile): string => (file.version === null ? file.tool : `${file.tool} ${file.version}`);

const words = (parameters: Record<string, string>): string =>
  Object.entries(parameters).map(([key, value]) => `${key} ${value}`).join(", ");

/** Builds title, explanation and theme switch. */
export function importedHead({ imported: { files }, started }: ImportedPage): HTMLElement {
  const figures = files.reduce((sum, file) => sum + file.figures.length + file.left_out, 0);
  return h("header", { class: "head" },
    brand(),
    h("h1", {}, "Results of other tools"),
    h("p", { class: "machine" }, `${counted(files.length, "file", "files")} · ${counted(figures, "result", "results")} · imported `,
      h("time", { datetime: started }, started.replace("T", " "))),
    h("p", { class: "alarm" }, h("strong", {}, "Other tools measured these. "),
      "tare only imported them: they are not paired, tare computes no interval for them, and there is no verdict between them."));
}

/** Lists the files. */
export function sources({ imported: { files, left_out } }: ImportedPage): HTMLElement {
  const heads = ["File", "Tool", "Environment, as given at import", "Results", "SHA-256"];
  const cell = (i: number, ...children: (Node | string | null)[]): HTMLElement => h("td", { "data-environment": heads[i] }, h("span", {}, ...children));
  const line = (file: ImportedFile): HTMLElement => h("tr", {},
    h("th", { scope: "row" }, h("span", {}, broken(file.source.name)), h("small", {}, figure(file.source.bytes, "bytes"))),
    cell(1, tool(file)),
    cell(2, file.environment ?? h("span", { class: "none" }, "not given")),
    cell(3, counted(file.figures.length, "result", "results"), file.left_out === 0 ? null : h("small", {}, ` and ${file.left_out} left out`)),
    cell(4, h("code", {}, file.source.sha256)));
  return h("section", { "aria-labelledby": "sources-title" },
    h("h2", { id: "sources-title" }, "What was imported"),
    files.length === 0 ? h("p", { class: "nothing" }, "Nothing was imported.")
      : h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Imported files" },
        h("table", { class: "facts stacking sources" },
          h("thead", {}, h("tr", {}, heads.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, files.map(line)))),
    left_out === 0 ? null : h("p", { class: "advice" }, `${counted(left_out, "further file is", "further files are")} left out of a report of this size; tare report --json has them.`));
}

/** Counts the lines of a figure in its table. */
const linesOf = ({ values }: ImportedFigure): number => Math.max(values.length, 1);

/** Builds a table per file, as `tare report` prints them. */
export function statedTables({ imported: { files } }: ImportedPage): HTMLElement | null {
  let lines = 0;
  const tables = files.map((file) => {
    lines += file.figures.reduce((sum, stated) => sum + linesOf(stated), 0);
    const where = file.environment === null ? "" : ` · in ${file.environment}`;
    return h("details", { class: "file", open: lines <= MOST_OPEN },
      h("summary", {}, h("strong", {}, file.source.name), ` · ${tool(file)}${where} · ${counted(file.figures.length, "result", "results")}`),
      Object.keys(file.parameters).length === 0 ? null : h("p", { class: "advice" }, words(file.parameters)),
      file.figures.length === 0 ? null : h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": `Results of ${file.source.name}` }, table(file)),
      file.left_out === 0 ? null : h("p", { class: "advice" }, `${counted(file.left_out, "further result is", "further results are")} left out of a report of this size; tare report --json has them.`));
  });
  return tables.length === 0 ? null : h("section", { "aria-labelledby": "table" }, h("h2", { id: "table" }, "All results"), tables);
}

const HEADS = ["Result", "Statistic", "Value", "As written", "Metric", "tare's probe"];

function table(file: ImportedFile): HTMLElement {
  return h("table", { class: "facts stated-figures" },
    h("thead", {}, h("tr", {}, HEADS.map((name, i) => h("th", { scope: "col", class: i === 2 || i === 3 ? "stated" : null }, name)))),
    file.figures.map((stated) => h("tbody", {}, rows(stated))));
}

/** Builds the lines of a figure, which share the cells of its name and of tare's probe. */
function rows(stated: ImportedFigure): HTMLElement[] {
  const high = linesOf(stated);
  const said = words(stated.parameters);
  const name = h("th", { scope: "rowgroup", rowspan: high }, h("span", {}, stated.name), said === "" ? null : h("small", {}, said));
  const probe = h("td", { rowspan: high, class: "probe" }, stated.probe === null ? null : broken(stated.probe));
  const values = stated.values.map((value) => [
    h("td", {}, value.statistic),
    h("td", { class: "stated" }, value.unit === null ? value.written : figure(value.value, value.unit)),
    h("td", { class: "stated written" }, value.written),
    h("td", { class: "metric" }, value.metric ?? ""),
  ]);
  if (values.length === 0) values.push([h("td", { colspan: 4, class: "nothing" }, "no value")]);
  return values.map((cells, i) => h("tr", {}, i === 0 ? name : null, ...cells, i === 0 ? probe : null));
}

/** Shows the path of the record. */
export const importedFoot = ({ record, tare }: ImportedPage): HTMLElement =>
  footer([["Record", record], ["Imported by", `tare ${tare}`]]);
