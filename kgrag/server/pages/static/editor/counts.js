// How many statements each pattern of a query matches by itself: a table whose rows lead to the patterns.

import { element } from "./dom.js";
import { language, t } from "../messages.js";

// "go" is called with the beginning and the end of a pattern's property in the text of the query.
export function drawCounts(patterns, go) {
  const head = [t("Line"), t("Matches"), t("Expected"), t("Pattern")].map((name) => element("th", { scope: "col" }, name));
  return [
    element("h2", {}, t("What each pattern matches by itself")),
    element(
      "div",
      { class: "wide", tabindex: "0", role: "region", "aria-label": t("Counts of the patterns") },
      element(
        "table",
        { class: "list rows counts" },
        element("thead", {}, element("tr", {}, ...head)),
        element("tbody", {}, ...patterns.map((each) => row(each, go))),
      ),
    ),
    element("p", { class: "small muted" }, t("In the order in which they are written: the engine does not tell in which order it takes them. What is expected comes from the data profile, where one is kept.")),
  ];
}

function row(each, go) {
  const text = element("button", { type: "button", class: "place", click: () => go(each.start, each.end) }, element("code", {}, each.text));
  const notes = [...each.within, each.why].filter(Boolean).join(", ");
  const { counted, matches, expected } = each;
  return element(
    "tr",
    { class: counted === "whole" && matches === 0 ? "none" : counted === "time" || counted === "limit" ? "many" : "" },
    element("td", { class: "figure" }, String(each.line)),
    element("td", { class: "figure" }, figure(counted, matches)),
    element("td", { class: "figure" }, expected === null ? "" : expected.toLocaleString(language)),
    element("td", {}, text, ...(notes ? [" ", element("span", { class: "note" }, notes)] : [])),
  );
}

function figure(counted, matches) {
  if (counted === "time") return t("too slow to count");
  if (counted === "not") return "–";
  if (counted === "limit") return t("more than {0}", matches.toLocaleString(language));
  return matches === 0 ? t("0, none") : matches.toLocaleString(language);
}
