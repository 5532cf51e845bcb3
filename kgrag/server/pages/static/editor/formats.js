// A table of results (SPARQL 1.1 JSON) as CSV and TSV, as the server writes them itself.

const XSD = "http://www.w3.org/2001/XMLSchema#";
const PLAIN = {
  [`${XSD}boolean`]: /^(true|false)$/,
  [`${XSD}integer`]: /^[+-]?[0-9]+$/,
  [`${XSD}decimal`]: /^[+-]?[0-9]*\.[0-9]+$/,
  [`${XSD}double`]: /^[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)[eE][+-]?[0-9]+$/,
};
const ESCAPES = { "\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\" };

export const TYPES = {
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  json: "application/sparql-results+json",
  ttl: "text/turtle",
};

export function csv({ head, results }) {
  const rows = results.bindings.map((row) => head.vars.map((name) => (row[name] ? field(plain(row[name])) : "")));
  return [head.vars, ...rows].map((row) => `${row.join(",")}\r\n`).join("");
}

export function tsv({ head, results }) {
  const rows = results.bindings.map((row) => head.vars.map((name) => (row[name] ? turtle(row[name]) : "")));
  return [head.vars.map((name) => `?${name}`), ...rows].map((row) => `${row.join("\t")}\n`).join("");
}

function field(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function plain(term) {
  if (term.type === "triple") return turtle(term);
  return term.type === "bnode" ? `_:${term.value}` : term.value;
}

function turtle(term) {
  if (term.type === "uri") return `<${term.value}>`;
  if (term.type === "bnode") return `_:${term.value}`;
  if (term.type === "triple") {
    const { subject, predicate, object } = term.value;
    return `<<( ${[subject, predicate, object].map(turtle).join(" ")} )>>`;
  }
  if (PLAIN[term.datatype]?.test(term.value)) return term.value;
  const quoted = `"${term.value.replace(/[\t\n\r"\\]/g, (character) => ESCAPES[character])}"`;
  if (term["xml:lang"]) return `${quoted}@${term["xml:lang"]}`;
  return term.datatype ? `${quoted}^^<${term.datatype}>` : quoted;
}
