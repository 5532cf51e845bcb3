// Prefixes: which a query declares, and how IRIs are written with them.

import { meaningful } from "./tokens.js";

// { prefixes: { name: iri }, end: where the last declaration ends }
export function declared(text) {
  const prefixes = {};
  let end = 0;
  let before = [];
  for (const token of meaningful(text)) {
    before = [...before.slice(-2), token];
    const [word, name, iri] = before;
    if (iri?.kind === "iri" && name.kind === "name" && word.text.toUpperCase() === "PREFIX") {
      prefixes[name.text.slice(0, -1)] = iri.text.slice(1, -1);
      end = iri.end;
    } else if (token.kind === "sign") {
      break; // declarations stand before the query
    }
  }
  return { prefixes, end };
}

// An IRI as prefix and local name, by the prefix that takes most of it; null where none does.
export function shortened(iri, prefixes) {
  let best = null;
  for (const [prefix, space] of Object.entries(prefixes)) {
    if (iri.startsWith(space) && space.length > (best?.space.length ?? 0)) best = { prefix, space };
  }
  const local = best && iri.slice(best.space.length);
  return best && /^(\w[\w-]*(\.[\w-]+)*)?$/.test(local) ? { prefix: best.prefix, local } : null;
}

export function expanded(name, prefixes) {
  if (name.startsWith("<")) return name.slice(1, -1);
  const space = prefixes[name.split(":", 1)[0]];
  return space === undefined ? "" : space + name.slice(name.indexOf(":") + 1);
}

export function written(iri, prefixes) {
  const short = shortened(iri, prefixes);
  return short ? `${short.prefix}:${short.local}` : iri;
}
