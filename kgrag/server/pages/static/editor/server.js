// What the editor asks of its server: terms to complete, stored queries, checks, and queries themselves.

const LARGEST = 32 * 1024 * 1024;

export class Refused extends Error {
  // "place" has line and column of what is wrong in a query, and "mend", the change that does away with it; or nothing
  constructor(message, status = 0, place = {}) {
    super(message);
    this.status = status;
    this.place = place;
  }
}

export class Server {
  constructor({ endpoint, check, terms, page }) {
    Object.assign(this, { endpoint, check, terms, page });
  }

  // { prefixes, declared, classes, properties, labels }; null where the server gives none.
  async known() {
    try {
      const reply = await fetch(this.terms, { headers: { Accept: "application/json" } });
      return reply.ok ? await reply.json() : null;
    } catch {
      return null;
    }
  }

  async stored(name) {
    const reply = await fetch(`${this.page}?example=${encodeURIComponent(name)}`, {
      headers: { Accept: "application/sparql-query" },
    });
    if (!reply.ok) throw await problem(reply);
    return reply.text();
  }

  // Where the query departs from the ontologies, or is no SPARQL: [{ start, end, level, rule, message, hint }].
  async findings(text, declared) {
    const before = Object.entries(declared)
      .map(([prefix, iri]) => `PREFIX ${prefix}: <${iri}> `)
      .join("");
    const reply = await fetch(this.check, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ query: before + text }),
    });
    if (!reply.ok) throw await problem(reply);
    const characters = [...text]; // the server counts characters, strings here count units of UTF-16
    const place = (at) => characters.slice(0, Math.max(0, at - [...before].length)).join("").length;
    return (await reply.json()).findings.map(({ start, end, severity, rule, message, hint }) => ({
      start: place(start),
      end: place(end),
      level: severity === "error" || severity === "refused" ? "error" : "warning",
      rule,
      message,
      hint: rule === "syntax" ? "" : (hint ?? ""),
    }));
  }

  // { media, text } of a result; stops where it grows too large for a page.
  async run(text, signal) {
    const reply = await fetch(this.endpoint, {
      method: "POST",
      headers: {
        "Content-Type": "application/sparql-query",
        Accept: "application/sparql-results+json, text/turtle;q=0.9",
      },
      body: text,
      signal,
    });
    if (!reply.ok) throw await problem(reply);
    const parts = [];
    let size = 0;
    for (const reader = reply.body.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      size += value.length;
      if (size > LARGEST) {
        await reader.cancel();
        throw new Refused(
          "The result is larger than 32 MB, more than a page can show. Add a LIMIT, or ask the endpoint with another client.",
        );
      }
    }
    return { media: reply.headers.get("Content-Type").split(";")[0], text: await new Blob(parts).text() };
  }
}

async function problem(reply) {
  const text = await reply.text();
  try {
    const { detail, line, column, mend } = JSON.parse(text);
    const [first] = detail.split("\n"); // what follows repeats the line of the query, for those who do not see it
    return new Refused(first[0].toUpperCase() + first.slice(1), reply.status, { line, column, mend });
  } catch {
    return new Refused(`The server answers with status ${reply.status}.`, reply.status);
  }
}
