// The text area of the query, with colours, line numbers and marks. What is typed into stays a plain <textarea>, so that
// undo, selection, input methods and screen readers work as everywhere; its letters are transparent, and a copy of the
// text right under it is what is seen. Marks are { start, end, level }, with the level "error" or "warning".

import { element } from "./dom.js";
import { tokens } from "./tokens.js";

export class Surface {
  marks = [];
  #rows = [];
  #text = "";

  constructor(area) {
    this.area = area;
    this.shown = element("pre", { class: "shown", "aria-hidden": "true" });
    this.frame = element("div", { class: "code" });
    area.before(this.frame);
    this.frame.append(this.shown, area);
    area.wrap = "off";
    area.rows = 8;
    area.addEventListener("input", () => this.refresh());
    // the browser has followed the caret to the end of a long line; who has left the text sees where its lines begin
    area.addEventListener("blur", () => (this.frame.scrollLeft = 0));
    addEventListener("pageshow", () => this.refresh()); // the browser may have put an earlier text back
    this.refresh();
  }

  get text() {
    return this.area.value;
  }

  get caret() {
    return this.area.selectionEnd;
  }

  // Replaces a part of the text as typing does, so that it can be undone.
  replace(start, end, text) {
    this.area.focus();
    this.area.setSelectionRange(start, end);
    const done = text ? document.execCommand("insertText", false, text) : document.execCommand("delete");
    if (!done && start + text.length !== end) {
      this.area.setRangeText(text, start, end, "end");
      this.area.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }

  mark(marks) {
    this.marks = marks;
    this.refresh();
  }

  // Shows the text as it is now. Only lines that changed are drawn anew, and marks move with what they stand at.
  refresh() {
    const text = this.text;
    this.marks = moved(this.marks, this.#text, text);
    this.#text = text;
    this.area.setAttribute("aria-invalid", String(this.marks.some(({ level }) => level === "error")));
    const rows = lines(text, this.marks);
    const keys = rows.map((row) => JSON.stringify(row));
    const old = this.#rows;
    let head = 0;
    while (head < keys.length && keys[head] === old[head]) head += 1;
    let tail = 0;
    while (tail < Math.min(keys.length, old.length) - head && keys.at(-1 - tail) === old.at(-1 - tail)) tail += 1;
    for (let count = old.length - tail; count > head; count -= 1) this.shown.children[head].remove();
    const next = this.shown.children[head] ?? null;
    for (const row of rows.slice(head, rows.length - tail)) this.shown.insertBefore(drawn(row), next);
    this.#rows = keys;
  }

  // Where a character stands on the screen.
  box(at) {
    const before = this.text.slice(0, at).split("\n");
    let rest = before.at(-1).length;
    const line = this.shown.children[before.length - 1];
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    range.selectNodeContents(line);
    range.collapse(false);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (rest <= node.length) {
        range.setStart(node, rest);
        break;
      }
      rest -= node.length;
    }
    range.collapse(true);
    const row = line.getBoundingClientRect();
    return { left: range.getBoundingClientRect().left || row.left, top: row.top, bottom: row.bottom };
  }
}

// Lines of [level of the line, ...[kind, level, text]].
export function lines(text, marks) {
  const borders = [...new Set(marks.flatMap(({ start, end }) => [start, end]))].sort((one, other) => one - other);
  const rows = [[""]];
  for (const { kind, start, end } of tokens(text)) {
    let from = start;
    for (const to of [...borders.filter((border) => border > start && border < end), end]) {
      const level = marks.find((mark) => mark.start <= from && from < mark.end)?.level ?? "";
      for (const [at, part] of text.slice(from, to).split("\n").entries()) {
        if (at) rows.push([""]);
        if (part) rows.at(-1).push([kind, level, part]);
      }
      from = to;
    }
  }
  for (const { start, level } of marks) {
    const row = rows[text.slice(0, start).split("\n").length - 1];
    if (row[0] !== "error") row[0] = level;
  }
  return rows;
}

function drawn([level, ...pieces]) {
  const line = element("span", { class: `code-line ${level}`.trim() });
  for (const [kind, wrong, text] of pieces) {
    line.append(kind === "blank" && !wrong ? text : element("span", { class: `${kind} ${wrong}`.trim() }, text));
  }
  return line;
}

// Marks behind a change move with the text; those in it go.
export function moved(marks, before, after) {
  if (!marks.length || before === after) return marks;
  let start = 0;
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start += 1;
  const most = Math.min(before.length, after.length) - start;
  let tail = 0;
  while (tail < most && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const shift = after.length - before.length;
  return marks
    .filter((mark) => mark.end < start || mark.start >= before.length - tail)
    .map((mark) => (mark.end < start ? mark : { ...mark, start: mark.start + shift, end: mark.end + shift }));
}
