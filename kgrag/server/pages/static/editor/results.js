// What a query gave: a table to sort, filter and turn over, yes or no, or a graph as Turtle. IRIs lead to their pages.

import { element } from "./dom.js";
import { plain } from "./formats.js";
import { written } from "./prefixes.js";
import { tokens } from "./tokens.js";
import { language, t } from "../messages.js";

const ROWS = 100;
const LONG = 600;
const COLOURED = 200_000;
const XSD = "http://www.w3.org/2001/XMLSchema#";
const NUMBERS = new Set(["integer", "decimal", "double", "float", "int", "long"].map((name) => XSD + name));

// "look" has { pageOf, prefixes }: the address of an IRI's page, and the prefixes that shorten IRIs.
export function truth(value) {
  return element("p", { class: "truth" }, value ? t("yes") : t("no"));
}

export function turtle(text, look) {
  const shown = element("pre", { class: "turtle", tabindex: "0", "aria-label": t("Result as Turtle") });
  for (const { kind, start, end } of tokens(text.slice(0, COLOURED))) {
    const piece = text.slice(start, end);
    if (kind === "blank") shown.append(piece);
    else if (kind === "iri") shown.append("<", link(piece.slice(1, -1), piece.slice(1, -1), look), ">");
    else shown.append(element("span", { class: kind }, piece));
  }
  shown.append(text.slice(COLOURED));
  return shown;
}

export class Table {
  #first = 0;
  #order = null;

  constructor({ head, results }, look) {
    this.names = head.vars;
    this.look = { ...look, prefixes: { xsd: XSD, ...look.prefixes } };
    this.all = results.bindings.map((row, index) => ({ number: (look.first ?? 0) + index + 1, row }));
    this.rows = this.all;
    this.filter = element("input", { type: "search", placeholder: t("Filter rows …"), input: () => this.#sift() });
    this.count = element("span", { class: "count", role: "status" });
    this.pager = element("nav", { class: "pager", "aria-label": t("Pages of the result") });
    this.heads = this.names.map((name, index) =>
      element(
        "th",
        { scope: "col" },
        element("button", { type: "button", class: "sort", click: () => this.#sort(index) }, name),
      ),
    );
    this.body = element("tbody");
    this.sifting = element(
      "label",
      {},
      element("span", { class: "visually-hidden" }, t("Filter rows")),
      this.filter,
      this.count,
    );
    this.element = element(
      "div",
      {},
      element(
        "div",
        { class: "wide", tabindex: "0", role: "region", "aria-label": t("Result") },
        element(
          "table",
          { class: "list rows" },
          element("thead", {}, element("tr", {}, element("td"), ...this.heads)),
          this.body,
        ),
      ),
      this.pager,
    );
    this.#draw();
  }

  #sift() {
    const wanted = this.filter.value.toLowerCase();
    const has = (term) =>
      plain(term).toLowerCase().includes(wanted) ||
      written(plain(term), this.look.prefixes).toLowerCase().includes(wanted);
    this.rows = wanted ? this.all.filter(({ row }) => Object.values(row).some(has)) : this.all;
    this.#first = 0;
    this.#draw();
  }

  // By a column upwards, then downwards, then as they came.
  #sort(index) {
    const [column, down] = this.#order ?? [];
    this.#order = column !== index ? [index, false] : down ? null : [index, true];
    const name = this.names[index];
    const sign = this.#order?.[1] ? -1 : 1;
    this.all.sort(
      (one, other) => (this.#order ? sign * compared(one.row[name], other.row[name]) : 0) || one.number - other.number,
    );
    for (const [at, head] of this.heads.entries()) {
      if (this.#order?.[0] === at) head.setAttribute("aria-sort", sign < 0 ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    this.#sift();
  }

  #draw() {
    const total = this.rows.length;
    const shown = this.rows.slice(this.#first, this.#first + ROWS);
    this.body.replaceChildren(
      ...shown.map(({ number, row }) =>
        element(
          "tr",
          {},
          element("td", { class: "number" }, String(number)),
          ...this.names.map((name) => this.#cell(row[name])),
        ),
      ),
    );
    this.count.textContent =
      total === this.all.length
        ? ""
        : t("{0} of {1} rows", total.toLocaleString(language), this.all.length.toLocaleString(language));
    const turn = (label, first, possible) =>
      element(
        "button",
        {
          type: "button",
          class: "quiet",
          disabled: !possible,
          click: () => {
            this.#first = first;
            this.#draw();
          },
        },
        label,
      );
    this.pager.hidden = total <= ROWS;
    this.pager.replaceChildren(
      turn(t("Previous"), this.#first - ROWS, this.#first > 0),
      t(
        "rows {0} to {1} of {2}",
        ...[this.#first + 1, this.#first + shown.length, total].map((number) => number.toLocaleString(language)),
      ),
      turn(t("Next"), this.#first + ROWS, this.#first + ROWS < total),
    );
  }

  #cell(term) {
    if (!term) return element("td");
    if (term.type === "uri")
      return element("td", {}, link(term.value, written(term.value, this.look.prefixes), this.look));
    const note = term["xml:lang"] ?? (term.datatype ? written(term.datatype, this.look.prefixes) : "");
    const text = plain(term);
    const cell = element("td", { class: NUMBERS.has(term.datatype) ? "figure" : "literal" });
    if (text.length > LONG)
      cell.append(element("details", {}, element("summary", {}, `${text.slice(0, LONG / 2)} …`), text));
    else cell.append(text);
    if (note) cell.append(" ", element("span", { class: "note" }, note));
    return cell;
  }
}

function link(iri, text, look) {
  return element("a", { class: "iri", href: look.pageOf(iri), title: iri }, text);
}

function compared(one, other) {
  if (!one || !other) return Number(Boolean(one)) - Number(Boolean(other));
  if (NUMBERS.has(one.datatype) && NUMBERS.has(other.datatype)) return Number(one.value) - Number(other.value);
  return plain(one).localeCompare(plain(other), "en", { numeric: true });
}
