// A result as it comes from the server, of which only a part is kept: some rows of a table (SPARQL 1.1 JSON, which the
// engine writes without blanks), or the first lines of a graph.

const BEGIN = '"bindings":[';
const MOST_CHARACTERS = 2_000_000; // of a graph

export class TableReader {
  #text = "";
  #rows = [];
  #seen = 0;
  #head = null;
  #depth = 0;
  #start = 0;
  #at = 0;
  #string = false;
  more = false;

  // Keeps "count" rows, without the "first" ones.
  constructor(first, count) {
    this.first = first;
    this.count = count;
  }

  // Takes the next piece of the text; returns whether what follows is not needed.
  take(piece) {
    this.#text += piece;
    if (this.#head === null) {
      const place = this.#text.indexOf(BEGIN);
      if (place < 0) return false;
      this.#head = this.#text.slice(0, place + BEGIN.length);
      this.#text = this.#text.slice(this.#head.length);
    }
    const text = this.#text;
    let at = this.#at;
    for (; at < text.length && !this.more; at += 1) {
      const character = text[at];
      if (this.#string) {
        if (character === "\\") at += 1;
        else if (character === '"') this.#string = false;
      } else if (character === '"') this.#string = true;
      else if (character === "{") {
        if (this.#depth === 0) {
          this.#start = at;
          this.more = this.#seen >= this.first + this.count;
        }
        this.#depth += 1;
      } else if (character === "}") {
        this.#depth -= 1;
        if (this.#depth === 0) {
          if (this.#seen >= this.first) this.#rows.push(JSON.parse(text.slice(this.#start, at + 1)));
          this.#seen += 1;
        } else if (this.#depth < 0) break; // the end of the results
      }
    }
    const kept = this.#depth > 0 ? this.#start : Math.min(at, text.length);
    this.#text = text.slice(kept);
    this.#start = 0;
    this.#at = at - kept;
    return this.more;
  }

  // The table with the rows that are kept, or a truth value.
  get result() {
    if (this.#head === null) return JSON.parse(this.#text);
    const { head } = JSON.parse(`${this.#head}]}}`);
    return { head, results: { bindings: this.#rows } };
  }
}

export class GraphReader {
  #text = "";
  more = false;

  take(piece) {
    this.#text += piece;
    this.more = this.#text.length > MOST_CHARACTERS;
    return this.more;
  }

  get result() {
    return this.more ? this.#text.slice(0, this.#text.lastIndexOf("\n", MOST_CHARACTERS) + 1) : this.#text;
  }
}
