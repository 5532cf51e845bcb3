// What could be meant at a place of a query: variables, prefixes, terms of the store, words of SPARQL, stored queries.
// An item is { text, note, insert }, or has "prefix", to be declared where it is not yet, or "query", a stored query's name.

import { declared, shortened } from "./prefixes.js";
import { meaningful, tokens } from "./tokens.js";

const MOST = 60;
const WORDS = (
  "ABS ASC ASK AVG BASE BIND BNODE BOUND CEIL COALESCE CONCAT CONSTRUCT CONTAINS COUNT DATATYPE DAY DESC DESCRIBE " +
  "DISTINCT ENCODE_FOR_URI EXISTS FILTER FLOOR FROM GRAPH GROUP GROUP_CONCAT HAVING HOURS IF IN IRI LANG " +
  "LANGMATCHES LCASE LIMIT MAX MD5 MIN MINUS MINUTES MONTH NAMED NOT NOW OFFSET OPTIONAL ORDER BY PREFIX RAND " +
  "REDUCED REGEX REPLACE ROUND SAMETERM SAMPLE SECONDS SELECT SEPARATOR SHA1 SHA256 SHA384 SHA512 STR STRAFTER " +
  "STRBEFORE STRDT STRENDS STRLANG STRLEN STRSTARTS STRUUID SUBSTR SUM TIMEZONE TZ UCASE UNDEF UNION URI UUID " +
  "VALUES WHERE YEAR isBLANK isIRI isLITERAL isNUMERIC"
).split(" ");

// { start, end, items } for a place; null inside of strings and comments. "known" is what /editor/terms lists, with "queries".
export function suggestions(text, at, known) {
  const here = tokenAt(text, at);
  if (["comment", "string", "unclosed", "number", "language", "label"].includes(here?.kind)) return null;
  const typed = here ? text.slice(here.start, at) : "";
  const start = here ? here.start : at;
  const before = [...meaningful(text.slice(0, start))].at(-1)?.text.toUpperCase() ?? "";
  const prefixes = { ...known.prefixes, ...declared(text).prefixes };
  let items;
  if (before === "PREFIX") items = declarations(typed, known.prefixes);
  else if (here?.kind === "variable" || typed === "?" || typed === "$") items = variables(text, typed, here);
  else if (here?.kind === "iri" || typed.startsWith("<")) items = iris(typed.slice(1), known);
  else if (here?.kind === "name") items = names(typed, before, prefixes, known);
  else items = [...stored(text, at, known), ...words(text, typed, before, prefixes, known)];
  return { start, end: here?.end ?? at, items: items.filter((item) => item.text !== typed).slice(0, MOST) };
}

// The token that ends at a place or reaches over it; a "<" up to the place counts as the beginning of an IRI.
function tokenAt(text, at) {
  const opened = /<[^<>"{}|^`\\\s]*$/.exec(text.slice(0, at));
  for (const token of tokens(text)) {
    if (token.start < at && at <= token.end) {
      if (token.kind === "blank") return null;
      if (token.kind !== "sign" || text.slice(token.start, token.end).match(/^[?<]$/)) {
        return token.kind !== "iri" && opened && !["comment", "string", "unclosed"].includes(token.kind)
          ? { kind: "iri", start: opened.index, end: at }
          : token;
      }
      return null;
    }
  }
  return null;
}

function declarations(typed, prefixes) {
  const names = Object.keys(prefixes).sort();
  return names
    .filter((name) => `${name}:`.startsWith(typed))
    .map((name) => ({ text: `${name}:`, note: prefixes[name], insert: `${name}: <${prefixes[name]}>` }));
}

function variables(text, typed, here) {
  const found = new Set();
  for (const token of meaningful(text)) {
    if (token.kind === "variable" && token.start !== here?.start) found.add(`?${token.text.slice(1)}`);
  }
  return [...found]
    .sort()
    .filter((name) => name.startsWith(`?${typed.slice(1)}`))
    .map((name) => ({ text: name, note: "", insert: name }));
}

function iris(typed, known) {
  return [...known.classes, ...known.properties]
    .filter((iri) => iri.startsWith(typed))
    .map((iri) => ({ text: `<${iri}>`, note: known.labels[iri] ?? "", insert: `<${iri}>` }));
}

// Terms for "prefix:beginning": those of the prefix's namespace, by local name or label.
function names(typed, before, prefixes, known) {
  const colon = typed.indexOf(":");
  const space = prefixes[typed.slice(0, colon)];
  if (space === undefined) return [];
  const wanted = typed.slice(colon + 1);
  const within = candidates(before, known).filter((iri) => iri.startsWith(space));
  return terms(within, wanted, { [typed.slice(0, colon)]: space }, known);
}

function words(text, typed, before, prefixes, known) {
  if (!typed) {
    const found = before === "A" ? [] : variables(text, "?", null);
    return [...found, ...terms(candidates(before, known), "", prefixes, known)];
  }
  const upper = typed.toUpperCase();
  const spoken = WORDS.filter((word) => word.toUpperCase().startsWith(upper));
  const begun = Object.keys(prefixes)
    .filter((name) => name.startsWith(typed))
    .sort();
  return [
    ...spoken.map((word) => ({ text: word, note: "", insert: word })),
    ...begun.map((name) => ({
      text: `${name}:`,
      note: prefixes[name],
      insert: `${name}:`,
      prefix: [name, prefixes[name]],
    })),
    ...(typed.length > 1 ? terms(candidates(before, known), typed, prefixes, known) : []),
  ];
}

// After "a" only a class can stand; elsewhere a property is likelier.
function candidates(before, known) {
  return before === "A" ? known.classes : [...new Set([...known.properties, ...known.classes])];
}

// Terms whose local name begins with what is wanted, then those that have it anywhere in local name or label.
function terms(iris, wanted, prefixes, known) {
  const lower = wanted.toLowerCase();
  const ranked = [[], []];
  for (const iri of iris) {
    const short = shortened(iri, prefixes);
    const local = (short ? short.local : iri.split(/[#/:]/).at(-1)).toLowerCase();
    const label = known.labels[iri] ?? "";
    if (local.startsWith(lower)) ranked[0].push([iri, short, label]);
    else if (local.includes(lower) || label.toLowerCase().includes(lower)) ranked[1].push([iri, short, label]);
  }
  return ranked.flat().map(([iri, short, note]) => {
    const text = short ? `${short.prefix}:${short.local}` : `<${iri}>`;
    return { text, note, insert: text, prefix: short && [short.prefix, prefixes[short.prefix]] };
  });
}

// Stored queries, where nothing but the beginning of a name or word is written yet.
function stored(text, at, known) {
  const alone = /^(?:\s|#.*\n)*([\w/-]*)$/.exec(text.trimEnd());
  if (!alone || at < text.trimEnd().length) return [];
  const lower = alone[1].toLowerCase();
  return known.queries
    .filter(({ name, title }) => name.includes(lower) || title.toLowerCase().includes(lower))
    .map(({ name, title }) => ({ text: name, note: title, query: name }));
}
