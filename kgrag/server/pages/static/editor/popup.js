// The list of completions at the caret. Focus stays in the text; the list is told of by aria-activedescendant.

import { element } from "./dom.js";
import { t } from "../messages.js";

const ROWS = 10;

export class Popup {
  #items = [];
  #active = -1;
  #top = 0;

  constructor(surface, { find, choose }) {
    this.surface = surface;
    this.find = find;
    this.choose = choose;
    this.list = element("ul", {
      class: "completions",
      id: "completions",
      role: "listbox",
      "aria-label": t("Completions"),
      hidden: true,
    });
    surface.frame.after(this.list);
    const area = surface.area;
    area.setAttribute("aria-autocomplete", "list");
    area.setAttribute("aria-haspopup", "listbox");
    area.addEventListener("keydown", (event) => this.#key(event));
    area.addEventListener("input", (event) => this.#typed(event));
    area.addEventListener("blur", () => this.close());
    area.addEventListener("pointerdown", () => this.close());
  }

  get open() {
    return !this.list.hidden;
  }

  close() {
    this.list.hidden = true;
    this.list.replaceChildren();
    this.surface.area.removeAttribute("aria-activedescendant");
    this.surface.area.removeAttribute("aria-controls");
  }

  // Shows what fits at the caret; the first is chosen beforehand where somebody asked for the list.
  async show(asked) {
    const at = this.surface.caret;
    const found = await this.find(this.surface.text, at);
    if (at !== this.surface.caret) return;
    if (!found?.items.length) {
      this.close();
      return;
    }
    this.#items = found.items.map((item) => ({ start: found.start, end: found.end, ...item }));
    this.list.hidden = false;
    this.surface.area.setAttribute("aria-controls", "completions");
    this.#top = 0;
    this.#activate(asked ? 0 : -1);
    this.#place(found.start);
  }

  #typed(event) {
    if (event.isComposing || event.inputType?.startsWith("history")) return;
    const { text, caret } = this.surface;
    const word = /[?$]\w+$|[\w.-]*:[\w.-]*$/.test(text.slice(Math.max(0, caret - 100), caret));
    if (this.open || word) this.show(this.open && this.#active >= 0);
  }

  #key(event) {
    if (event.isComposing) return;
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.show(true);
    } else if (!this.open) {
      return;
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const count = this.#items.length;
      const from = this.#active < 0 && event.key === "ArrowUp" ? 0 : this.#active;
      this.#activate((from + (event.key === "ArrowDown" ? 1 : count - 1)) % count);
    } else if (
      (event.key === "Enter" || event.key === "Tab") &&
      this.#active >= 0 &&
      !event.ctrlKey &&
      !event.shiftKey
    ) {
      this.#take(event, this.#active);
    } else if (event.key === "Escape") {
      event.preventDefault();
      this.close();
    } else if (["ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown", "Enter"].includes(event.key)) {
      this.close();
    }
  }

  #take(event, index) {
    event.preventDefault();
    event.stopImmediatePropagation();
    this.close();
    this.choose(this.#items[index]);
  }

  // Draws the part of the list that holds the chosen item; the list itself never scrolls.
  #activate(index) {
    this.#active = index;
    this.#top = Math.max(Math.min(this.#top, Math.max(index, 0)), index - ROWS + 1);
    this.list.replaceChildren(
      ...this.#items.slice(this.#top, this.#top + ROWS).map((item, row) => this.#option(item, this.#top + row)),
    );
    if (index >= 0) this.surface.area.setAttribute("aria-activedescendant", `completion-${index}`);
    else this.surface.area.removeAttribute("aria-activedescendant");
  }

  #option(item, index) {
    return element(
      "li",
      {
        role: "option",
        id: `completion-${index}`,
        "aria-selected": String(index === this.#active),
        "aria-posinset": index + 1,
        "aria-setsize": this.#items.length,
        pointerdown: (event) => this.#take(event, index),
      },
      element("span", { class: "completion" }, item.text),
      element("span", { class: "note" }, item.note),
    );
  }

  #place(at) {
    const box = this.surface.box(at);
    const around = this.list.offsetParent.getBoundingClientRect();
    const widest = Math.max(0, around.width - this.list.offsetWidth);
    this.list.style.left = `${Math.min(Math.max(0, box.left - around.left), widest)}px`;
    this.list.style.top = `${box.bottom - around.top}px`;
  }
}
