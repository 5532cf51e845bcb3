// Updates: whether a text is one, what it would do, and the button that does it.

import { keepKey, keptKey } from "../key.js";
import { element } from "./dom.js";
import { written } from "./prefixes.js";
import { meaningful, tokens } from "./tokens.js";
import { language, t } from "../messages.js";

const OPERATIONS = new Set(["INSERT", "DELETE", "WITH", "CLEAR", "DROP", "CREATE", "COPY", "MOVE", "ADD", "LOAD"]);
const find = (id) => document.getElementById(id);

// Whether the first word behind the declarations is that of an update.
export function isUpdate(text) {
  for (const { kind, text: word } of meaningful(text)) {
    if (kind !== "word") {
      if (kind === "sign") return false;
      continue; // what PREFIX and BASE declare
    }
    const upper = word.toUpperCase();
    if (upper !== "PREFIX" && upper !== "BASE") return OPERATIONS.has(upper);
  }
  return false;
}

// The key, kept for this tab; its field is made when something is to be written.
export class Key {
  #line = find("key-line");
  #field = null;
  #forget = null;

  constructor(needed) {
    this.needed = needed;
  }

  get value() {
    return this.#field ? this.#field.value.trim() : keptKey();
  }

  get isMissing() {
    return this.needed && !this.value;
  }

  // Shows the field, and puts the caret into it while it is empty.
  ask() {
    if (!this.needed) return;
    if (!this.#field) this.#make();
    this.#line.hidden = false;
    this.#forget.hidden = !this.value;
    if (!this.value) this.#field.focus();
  }

  #make() {
    const kept = keptKey();
    const keep = () => keepKey(this.#field.value.trim());
    this.#field = element("input", { id: "key", type: "password", autocomplete: "off", maxlength: "1000", change: keep });
    this.#field.value = kept;
    const forget = () => {
      keepKey("");
      this.#field.value = "";
      this.ask();
    };
    this.#forget = element("button", { type: "button", class: "quiet", click: forget }, t("Forget the key"));
    this.#line.append(element("label", {}, `${t("Key")} `, this.#field), this.#forget);
  }
}

// What an update would do, and a button that applies it; "apply" and "leave" are called for the buttons.
export function drawEffect(effect, look, { apply, leave }) {
  const count = (number, word) => element("li", {}, element("b", {}, number.toLocaleString(language)), ` ${word}`);
  const refused = effect.refused.map((each) =>
    element(
      "div",
      { class: "notice" },
      element("p", {}, t("The gate ({0}) would refuse it: {1} new violations in {2}.", effect.profile, each.new, each.graph)),
      element(
        "ul",
        {},
        ...each.findings.map(({ check, focus, message }) =>
          element("li", {}, element("b", {}, check), " ", element("code", {}, focus), ` ${message}`),
        ),
      ),
    ),
  );
  const changing = effect.changing.length
    ? [element("p", { class: "notice" }, t("{0}: the values will be others when it is run.", effect.changing.join(", ")))]
    : [];
  const nothing = effect.changed ? [] : [element("p", {}, t("It would change nothing."))];
  return [
    element(
      "ul",
      { class: "tiles" },
      count(effect.added, t("added")),
      count(effect.removed, t("removed")),
      count(effect.changed, effect.changed === 1 ? t("graph changed") : t("graphs changed")),
    ),
    ...refused,
    ...changing,
    ...nothing,
    element(
      "p",
      { class: "actions" },
      element("button", { type: "button", id: "apply", disabled: refused.length > 0, click: apply }, t("Apply")),
      element("button", { type: "button", class: "quiet", click: leave }, t("Leave it")),
    ),
    ...effect.graphs.map((graph, place) => difference(graph, place < 5, look)),
  ];
}

// A triple as N-Triples with its IRIs shortened; those within texts stay.
function short(triple, prefixes) {
  const parts = [...tokens(triple)].map(({ kind, start, end }) => {
    const piece = triple.slice(start, end);
    if (kind !== "iri") return piece;
    const iri = piece.slice(1, -1);
    const name = written(iri, prefixes);
    return name === iri ? piece : name;
  });
  return parts.join("");
}

function difference(graph, open, { pageOf, prefixes }) {
  const lines = (sign, name) => {
    const shown = graph[`${name}_triples`];
    const left = graph[name] - shown.length;
    const tag = sign === "+" ? "ins" : "del";
    return [
      ...shown.flatMap((triple) => [element(tag, {}, `${sign} ${short(triple, prefixes)}`), "\n"]),
      ...(left > 0 ? [`${sign} ${left.toLocaleString(language)} ${t("more")}\n`] : []),
    ];
  };
  return element(
    "details",
    { open },
    element(
      "summary",
      {},
      element("code", { class: "iri" }, graph.graph),
      " ",
      element("span", { class: "tag" }, `+${graph.added.toLocaleString(language)} −${graph.removed.toLocaleString(language)}`),
    ),
    element("p", { class: "small" }, element("a", { href: pageOf(graph.graph) }, t("The graph as it is"))),
    element(
      "pre",
      { class: "difference", tabindex: "0", "aria-label": t("Triples of {0}", graph.graph) },
      ...lines("+", "added"),
      ...lines("-", "removed"),
    ),
  );
}
