// What the editor asks of its server: terms to complete, stored queries, checks, and queries themselves.

import { GraphReader, TableReader } from "./rows.js";
import { t } from "../messages.js";

export class Refused extends Error {
  // "place" has line and column of what is wrong in a query, and "mend", the change that does away with it; or nothing
  constructor(message, status = 0, place = {}) {
    super(message);
    this.status = status;
    this.place = place;
  }
}

export class Server {
  constructor({ endpoint, check, terms, page, update, effect, saved }) {
    Object.assign(this, { endpoint, check, terms, page, updates: update, effects: effect, saved });
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
    return (await this.counts(text, declared, false)).findings;
  }

  // The findings, and what each pattern matches by itself: [{ text, line, start, end, within, expected, matches, counted, why }].
  async counts(text, declared, explain = true) {
    const before = Object.entries(declared)
      .map(([prefix, iri]) => `PREFIX ${prefix}: <${iri}> `)
      .join("");
    const reply = await fetch(this.check, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ query: before + text, explain }),
    });
    if (!reply.ok) throw await problem(reply);
    const characters = [...text]; // the server counts characters, strings here count units of UTF-16
    const place = (at) => characters.slice(0, Math.max(0, at - [...before].length)).join("").length;
    const { findings, patterns } = await reply.json();
    const placed = (patterns ?? []).map((each) => ({ ...each, start: place(each.start), end: place(each.end) }));
    const marked = findings.map(({ start, end, severity, rule, message, hint }) => ({
      start: place(start),
      end: place(end),
      level: severity === "error" || severity === "refused" ? "error" : "warning",
      rule,
      message,
      hint: rule === "syntax" ? "" : (hint ?? ""),
    }));
    return { findings: marked, patterns: placed };
  }

  // What an update would do, with the "etag" that holds while nobody else writes.
  async effect(text, key, signal) {
    const reply = await fetch(this.effects, { method: "POST", headers: writing(key), body: text, signal });
    if (!reply.ok) throw await problem(reply);
    return { ...(await reply.json()), etag: reply.headers.get("ETag") };
  }

  async apply(text, key, etag) {
    const headers = { ...writing(key), "If-Match": etag };
    const reply = await fetch(this.updates, { method: "POST", headers, body: text });
    if (!reply.ok) throw await problem(reply);
  }

  async save(name, query, key) {
    const headers = { ...writing(key), "Content-Type": "application/json" };
    const address = `${this.saved}/${encodeURIComponent(name)}`;
    const reply = await fetch(address, { method: "PUT", headers, body: JSON.stringify(query) });
    if (!reply.ok) throw await problem(reply);
  }

  // { media, result, first, more }: "count" rows of a table without the "first" ones, or the beginning of a graph. The
  // server is not asked for what comes behind them.
  async run(text, signal, { first, count }) {
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
    const media = reply.headers.get("Content-Type").split(";")[0];
    const kept = media.endsWith("json") ? new TableReader(first, count) : new GraphReader();
    const decoder = new TextDecoder();
    for (const reader = reply.body.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (kept.take(decoder.decode(value, { stream: true }))) {
        await reader.cancel();
        break;
      }
    }
    return { media, result: kept.result, first, more: kept.more };
  }
}

function writing(key) {
  const own = { "Content-Type": "application/sparql-update" };
  return key ? { ...own, Authorization: `Bearer ${key}` } : own;
}

async function problem(reply) {
  const text = await reply.text();
  try {
    const { detail, line, column, mend } = JSON.parse(text);
    const [first] = detail.split("\n"); // what follows repeats the line of the query, for those who do not see it
    return new Refused(first[0].toUpperCase() + first.slice(1), reply.status, { line, column, mend });
  } catch {
    return new Refused(t("The server answers with status {0}.", reply.status), reply.status);
  }
}
