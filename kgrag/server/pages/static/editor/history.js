// The queries that were run in this browser, last first, in localStorage; nowhere, where the browser keeps none.

const MOST = 50;

export class History {
  constructor(key) {
    this.key = key;
  }

  get queries() {
    try {
      const kept = JSON.parse(localStorage.getItem(this.key) ?? "[]");
      return Array.isArray(kept) ? kept.filter((each) => typeof each?.text === "string") : [];
    } catch {
      return [];
    }
  }

  add(text) {
    const others = this.queries.filter((each) => each.text !== text);
    this.#keep([{ text, at: Date.now() }, ...others].slice(0, MOST));
  }

  clear() {
    this.#keep([]);
  }

  // Where the browser has no room for all of them, the older half goes.
  #keep(queries) {
    try {
      localStorage.setItem(this.key, JSON.stringify(queries));
    } catch {
      if (queries.length > 1) this.#keep(queries.slice(0, queries.length / 2));
    }
  }
}
