// Cuts SPARQL into tokens, by the expressions of kgrag/stages/sparql_reader/tokens.py. Turtle is made of the same tokens.
// What no token begins with is of the kind "other", and a string without its end is "unclosed" up to the end of its line.

const BASE =
  "A-Za-z\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u02ff\\u0370-\\u037d\\u037f-\\u1fff\\u200c\\u200d" +
  "\\u2070-\\u218f\\u2c00-\\u2fef\\u3001-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\ufffd";
const MORE = "\\u00b7\\u0300-\\u036f\\u203f\\u2040";
const CHARS = `[-0-9_${BASE}${MORE}]`;
const ESCAPED = "%[0-9A-Fa-f]{2}|\\\\[-_~.!$&'()*+,;=/?#@%]";
const LOCAL =
  `(?:[_:0-9${BASE}]|${ESCAPED})(?:[-0-9_:${BASE}${MORE}]|${ESCAPED})*` +
  `(?:\\.+(?:[-0-9_:${BASE}${MORE}]|${ESCAPED})+)*`;

const KINDS = {
  blank: "[ \\t\\r\\n]+",
  comment: "#[^\\r\\n]*",
  variable: `[?$][0-9_${BASE}][0-9_${BASE}${MORE}]*`,
  label: `_:[0-9_${BASE}]${CHARS}*(?:\\.+${CHARS}+)*`,
  name: `(?:[${BASE}]${CHARS}{0,99}(?:\\.+${CHARS}+){0,9})?:(?:${LOCAL})?`, // bounded, so that cutting takes linear time,
  word: "[A-Za-z][A-Za-z0-9_]*",
  iri: '<[^<>"{}|^`\\\\\\x00-\\x20]*>',
  string:
    '"""(?:[^"\\\\]|\\\\.|"{1,2}(?!"))*"""|' +
    "'''(?:[^'\\\\]|\\\\.|'{1,2}(?!'))*'''|" +
    '"(?:[^"\\\\\\r\\n]|\\\\.)*"|' +
    "'(?:[^'\\\\\\r\\n]|\\\\.)*'",
  number: "(?:[0-9]+\\.[0-9]*|\\.[0-9]+|[0-9]+)[eE][-+]?[0-9]+|[0-9]*\\.[0-9]+|[0-9]+",
  language: "@[A-Za-z]+(?:-[A-Za-z0-9]+)*(?:--[A-Za-z]+)?",
  sign: "\\{\\||\\|\\}|\\|\\||&&|!=|<<\\(|\\)>>|<<|>>|[<>]=|\\^\\^|[-{}()[\\];,.|<>^=*/+!?~]",
  unclosed: "[\"'][^\\r\\n]*",
  other: ".",
};
const NAMES = Object.keys(KINDS);
const TOKEN = new RegExp(
  Object.values(KINDS)
    .map((kind) => `(${kind})`)
    .join("|"),
  "gsu",
);

// Every character belongs to one of the { kind, start, end }; offsets count as in strings, in units of UTF-16.
export function* tokens(text) {
  for (const match of text.matchAll(TOKEN)) {
    const kind = NAMES[match.findIndex((group, at) => at > 0 && group !== undefined) - 1];
    yield { kind, start: match.index, end: match.index + match[0].length };
  }
}

export function* meaningful(text) {
  for (const token of tokens(text)) {
    if (token.kind !== "blank" && token.kind !== "comment")
      yield { ...token, text: text.slice(token.start, token.end) };
  }
}
