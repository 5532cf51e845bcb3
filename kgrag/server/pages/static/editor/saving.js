// The panel that saves a query for everybody: its name, topic and method, and which of its variables are asked for.

import { element } from "./dom.js";
import { meaningful } from "./tokens.js";
import { t } from "../messages.js";

const find = (id) => document.getElementById(id);

// "save" is called with the name and what is to be saved.
export class Saving {
  #panel = find("saving");

  constructor(surface, save) {
    if (!this.#panel) return;
    this.#panel.addEventListener("toggle", () => this.#list(surface.text));
    find("save").addEventListener("click", () => {
      const name = find("save-name");
      if (!name.value || !name.checkValidity()) {
        name.setCustomValidity(name.value ? t("Small letters, digits and hyphens.") : t("A name is needed."));
        name.reportValidity();
        name.setCustomValidity("");
        return;
      }
      save(name.value, {
        sparql: surface.text,
        title: find("save-title").value,
        topic: find("save-topic").value,
        method: find("save-method").value,
        parameters: this.#parameters(),
      });
    });
  }

  #list(text) {
    const variables = new Set();
    for (const { kind, text: word } of meaningful(text)) if (kind === "variable") variables.add(word.slice(1));
    const kinds = find("save-parameters").dataset.kinds.split(" ");
    find("save-parameters").replaceChildren(
      ...[...variables].sort().map((name) =>
        element(
          "label",
          { class: "check-line", "data-variable": name },
          element("input", { type: "checkbox" }),
          `?${name}`,
          element("select", { "aria-label": t("Kind of ?{0}", name) }, ...kinds.map((kind) => element("option", {}, kind))),
          element("input", { type: "text", placeholder: t("default"), "aria-label": t("Default of ?{0}", name) }),
        ),
      ),
    );
  }

  #parameters() {
    return [...find("save-parameters").children]
      .filter((row) => row.querySelector("[type=checkbox]").checked)
      .map((row) => ({
        name: row.dataset.variable,
        kind: row.querySelector("select").value,
        default: row.querySelector("[type=text]").value,
      }));
  }
}
