// The SPARQL editor: makes the plain form of the page into one that colours, completes, checks, runs and shows.
// Nothing is loaded from elsewhere, nothing is evaluated, and no style is written into markup.

import { suggestions } from "./completion.js";
import { drawCounts } from "./counts.js";
import { element } from "./dom.js";
import { csv, TYPES, tsv } from "./formats.js";
import { History } from "./history.js";
import { Popup } from "./popup.js";
import { declared, expanded } from "./prefixes.js";
import { Table, truth, turtle } from "./results.js";
import { Saving } from "./saving.js";
import { Refused, Server } from "./server.js";
import { Surface } from "./surface.js";
import { drawEffect, isUpdate, Key } from "./update.js";
import { language, t } from "../messages.js";

const LONGEST_ADDRESS = 8000;
const ROWS = 5000; // of a result that are shown at once
const UNREADABLE = new Set(["syntax", "undeclared-prefix", "service", "update"]); // rules that tell why a query is refused
const UNDEFINED = new Set(["undefined-class", "incorrect-property"]);
const FORMS = { csv: "CSV", tsv: "TSV", json: "JSON", ttl: "Turtle" };
const find = (id) => document.getElementById(id);
const form = find("plain");
const paths = { endpoint: form.getAttribute("action"), ...form.dataset };
const server = new Server(paths);
const history = new History(`kgrag history ${new URL(paths.endpoint, location).href}`);
const surface = new Surface(find("query"));
const queries = [...find("example").querySelectorAll("option[value]:not([value=''], [data-form])")].map(({ value, text }) => ({
  name: value,
  title: text,
}));
const nothing = { prefixes: {}, declared: {}, classes: [], properties: [], labels: {} };
let terms = nothing;
const known = server.known().then((found) => {
  terms = found ?? nothing;
  if (!found) say(t("The terms of this store could not be read, so they are not completed."));
  return { ...terms, queries };
});
const key = new Key("needsKey" in form.dataset);
const pageOf = (iri) => `${paths.resource}?iri=${encodeURIComponent(iri)}`;
new Saving(surface, save);
let running = null;
let result = null;
let opened = new URLSearchParams(location.search).has("example") ? surface.text : null;

for (const hidden of document.querySelectorAll(".scripted")) hidden.hidden = false;
new Popup(surface, {
  find: async (text, at) => suggestions(text, at, await known),
  choose: (item) => (item.query ? open(item.query) : put(item)),
});

// Puts a completion in, and declares its prefix where the query does not.
function put({ start, end, insert, prefix }) {
  surface.replace(start, end, insert);
  if (!prefix || prefix[0] in declared(surface.text).prefixes) return;
  const caret = surface.caret;
  const at = declared(surface.text).end;
  const line = `${at ? "\n" : ""}PREFIX ${prefix[0]}: <${prefix[1]}>${at ? "" : "\n"}`;
  surface.replace(at, at, line);
  surface.area.setSelectionRange(caret + line.length, caret + line.length);
}

async function open(name) {
  try {
    opened = await server.stored(name);
    surface.replace(0, surface.text.length, opened);
    surface.area.setSelectionRange(0, 0);
    window.history.replaceState(null, "", `?example=${encodeURIComponent(name)}`);
    find("example").value = name;
    say(t("Opened {0}.", name));
  } catch (error) {
    tell(error.message);
  }
}

// Runs a query; of an update, shows what it would do.
async function run(first = 0) {
  if (running) return;
  const text = surface.text;
  const updates = isUpdate(text);
  if (updates) {
    key.ask();
    if (key.isMissing) {
      say(t("An update needs a key."));
      return;
    }
  }
  const begun = performance.now();
  running = new AbortController();
  clear();
  say(t("Running …"));
  find("run").hidden = true;
  find("stop").hidden = false;
  try {
    if (updates) await showEffect(text, running.signal);
    else show(await server.run(text, running.signal, { first, count: ROWS }), text);
    const seconds = ((performance.now() - begun) / 1000).toFixed(2);
    say(updates ? t("Nothing is written yet.") : t("{0} in {1} s", size(), seconds));
    history.add(text);
    remember(text);
  } catch (error) {
    if (error.name === "AbortError") say(t("Stopped."));
    else await explain(error, text);
  } finally {
    running = null;
    find("run").hidden = false;
    find("stop").hidden = true;
  }
}

async function showEffect(text, signal) {
  const effect = await server.effect(text, key.value, signal);
  const leave = () => {
    clear();
    say(t("Left as it is."));
    surface.area.focus();
  };
  const apply = async () => {
    find("apply").disabled = true;
    try {
      await server.apply(text, key.value, effect.etag);
      clear();
      say(`Applied: ${effect.added.toLocaleString(language)} added, ${effect.removed.toLocaleString(language)} removed.`);
    } catch (error) {
      clear();
      tell(error.message);
    }
    surface.area.focus();
  };
  find("effect").replaceChildren(...drawEffect(effect, { pageOf, prefixes: { ...terms.prefixes, ...declared(text).prefixes } }, { apply, leave }));
  find("effect").hidden = false;
}

async function save(name, query) {
  find("problem").hidden = true;
  key.ask();
  if (key.isMissing) {
    say(t("Saving needs a key."));
    return;
  }
  try {
    await server.save(name, query, key.value);
    say(t("Saved as {0}.", name));
    find("saving").open = false;
  } catch (error) {
    tell(error.message);
  }
}

// Shows a result that came, and offers it in its formats; one that is not whole comes from the server as a file.
function show({ media, result: found, first, more }, query) {
  const look = {
    pageOf,
    prefixes: { ...terms.prefixes, ...declared(query).prefixes },
  };
  const json = () => JSON.stringify(found);
  if (media === TYPES.ttl) {
    result = { forms: { ttl: () => found } };
    find("result").replaceChildren(turtle(found, look));
  } else if (found.results === undefined) {
    result = { table: found, forms: { json } };
    find("result").replaceChildren(truth(found.boolean));
  } else {
    result = { table: found, forms: { csv: () => csv(found), tsv: () => tsv(found), json } };
    const shown = new Table(found, { ...look, first });
    find("sifting").replaceChildren(shown.sifting);
    find("result").replaceChildren(shown.element);
    if (!found.results.bindings.length && !first)
      find("result").append(
        element("p", { class: "muted" }, t("Nothing matches. Explain counts what each pattern matches by itself.")),
      );
  }
  result = { ...result, query, first, isPart: more || first > 0 };
  if (result.isPart) find("result").append(parts(first, more));
  find("format").replaceChildren(
    ...Object.keys(result.forms).map((form) => element("option", { value: form }, FORMS[form])),
  );
  find("taking").hidden = false;
}

// Buttons for the rows before and behind those that are shown.
function parts(first, more) {
  const turn = (label, to, possible) =>
    element("button", { type: "button", class: "quiet", disabled: !possible, click: () => run(to) }, label);
  const known = t("Download has the whole result.");
  if (!result.table) return element("p", { class: "muted" }, `${t("The rest of the graph is not shown.")} ${known}`);
  const count = ROWS.toLocaleString(language);
  return element(
    "nav",
    { class: "pager parts", "aria-label": t("Parts of the result") },
    turn(t("Previous {0} rows", count), first - ROWS, first > 0),
    known,
    turn(t("Next {0} rows", count), first + ROWS, more),
  );
}

function size() {
  const rows = result.table?.results?.bindings.length;
  if (rows === undefined) return result.table ? t("Answered") : result.isPart ? t("The beginning of a graph") : t("A graph");
  if (result.isPart) {
    const numbers = [result.first + 1, result.first + rows].map((number) => number.toLocaleString(language));
    return t("Rows {0} to {1}", ...numbers);
  }
  return rows === 1 ? t("1 row") : t("{0} rows", rows.toLocaleString(language));
}

// Tells why a query was refused: the server's own words at their place, else what the check says of it.
async function explain(error, text) {
  say("");
  tell(error instanceof Refused ? error.message : t("The server cannot be reached: {0}.", error.message));
  if (error.status !== 400) return;
  const { line, column, mend } = error.place;
  const place = line ? [line, column] : /line (\d+), column (\d+)/i.exec(error.message)?.slice(1).map(Number);
  let found = [];
  if (place) {
    const before = text
      .split("\n")
      .slice(0, place[0] - 1)
      .reduce((sum, each) => sum + each.length + 1, 0);
    const start = Math.min(before + units(text.slice(before), place[1] - 1), text.length);
    const word = /^[\w:?$]+/.exec(text.slice(start))?.[0].length ?? 1;
    const message = error.message.replace(/^line \d+, column \d+(: | )/i, "");
    found = [{ start, end: start + word, level: "error", message, hint: "", mend: mend && inUnits(mend, text) }];
  } else {
    const told = await findings(text).catch(() => []); // there is no check without an ontology
    found = told.filter(({ rule }) => UNREADABLE.has(rule));
  }
  if (surface.text !== text) return;
  mark(found);
  find("problem").hidden = found.length > 0;
}

// The server counts characters, strings here count units of UTF-16.
function units(text, characters) {
  return [...text].slice(0, characters).join("").length;
}

function inUnits({ start, end, text: instead }, text) {
  return { start: units(text, start), end: units(text, end), text: instead };
}

async function check() {
  clear();
  say(t("Checking …"));
  const text = surface.text;
  try {
    const found = await findings(text);
    if (surface.text === text) mark(found);
    const count = found.length === 1 ? t("1 finding") : t("{0} findings", found.length);
    say(found.length ? count : t("Nothing found: the query fits the ontologies."));
  } catch (error) {
    say("");
    tell(error.message);
  }
}

async function count() {
  clear();
  say(t("Counting …"));
  const text = surface.text;
  const go = (start, end) => {
    surface.area.focus();
    if (surface.text === text) surface.area.setSelectionRange(start, end);
  };
  try {
    const { findings: found, patterns } = await server.counts(text, (await known).declared);
    mark(found.filter((each) => UNREADABLE.has(each.rule)));
    say(patterns.length ? "" : t("There is no pattern to count."));
    find("counts").replaceChildren(...(patterns.length ? drawCounts(patterns, go) : []));
  } catch (error) {
    say("");
    tell(error.message);
  }
}

// What the check says of a query. It knows the ontologies that are loaded, and not the vocabularies of kgrag's own graphs.
async function findings(text) {
  const { declared: given, classes, properties } = await known;
  const prefixes = { ...given, ...declared(text).prefixes };
  const own = ({ start, end }) => {
    const iri = expanded(text.slice(start, end), prefixes);
    return (
      Object.values(given).some((space) => iri.startsWith(space)) && (classes.includes(iri) || properties.includes(iri))
    );
  };
  return (await server.findings(text, given)).filter((each) => !UNDEFINED.has(each.rule) || !own(each));
}

function mark(found) {
  surface.mark(found.map(({ start, end, level }, id) => ({ start, end, level, id })));
  find("findings").replaceChildren(
    ...found.map(({ start, level, message, hint, mend }, id) => {
      const before = surface.text.slice(0, start).split("\n");
      const place = t("line {0}, column {1}", before.length, before.at(-1).length + 1);
      const go = () => {
        const now = surface.marks.find((each) => each.id === id); // gone, where the text was changed there
        surface.area.focus();
        if (now) surface.area.setSelectionRange(now.start, now.end);
      };
      const repair = () => {
        surface.replace(mend.start, mend.end, mend.text);
        mark([]);
        surface.area.focus();
        say(t("Mended. Run it again."));
      };
      return element(
        "li",
        { class: level },
        element("button", { type: "button", class: "place", click: go }, place),
        ` ${message} ${hint}`.trimEnd(),
        ...(mend ? [" ", element("button", { type: "button", class: "quiet mend", click: repair }, t("Mend it"))] : []),
      );
    }),
  );
}

function clear() {
  mark([]);
  result = null;
  find("problem").hidden = true;
  find("effect").hidden = true;
  find("effect").replaceChildren();
  find("taking").hidden = true;
  find("result").replaceChildren();
  find("sifting").replaceChildren();
  find("counts").replaceChildren();
}

function say(text) {
  find("state").textContent = text;
}

function tell(text) {
  find("problem").textContent = text;
  find("problem").hidden = false;
}

// Puts the query into the address, so that a reload, a bookmark or the way back from a page finds it.
function remember(text) {
  const address = share(text);
  if (address && text !== opened) window.history.replaceState(null, "", address);
}

function share(text) {
  const address = new URL(`?query=${encodeURIComponent(text)}`, location).href;
  return address.length <= LONGEST_ADDRESS ? address : "";
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const hidden = element("textarea", { class: "visually-hidden", "aria-hidden": "true" }); // no clipboard outside of https
    document.body.append(hidden);
    hidden.value = text;
    hidden.select();
    document.execCommand("copy");
    hidden.remove();
  }
  say(t("Copied {0}.", what));
}

function download() {
  const form = find("format").value;
  if (result.isPart) {
    const field = (name, value) => element("input", { type: "hidden", name, value });
    const sent = element(
      "form",
      { method: "post", action: paths.endpoint, hidden: true },
      field("query", result.query),
      field("download", form),
    );
    document.body.append(sent);
    sent.submit();
    sent.remove();
    return;
  }
  const address = URL.createObjectURL(new Blob([result.forms[form]()], { type: TYPES[form] }));
  element("a", { href: address, download: `result.${form}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function list() {
  find("history").replaceChildren(
    ...history.queries.map(({ text, at }) => {
      const line = text.split("\n").find((each) => each.trim() && !/^\s*(PREFIX|BASE|#)/i.test(each)) ?? text;
      const again = () => surface.replace(0, surface.text.length, text);
      const when = new Date(at).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
      return element(
        "li",
        {},
        element("button", { type: "button", class: "past", title: text, click: again }, line.trim()),
        ` ${when}`,
      );
    }),
  );
  find("forget").hidden = !history.queries.length;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});
find("examples").addEventListener("submit", (event) => {
  event.preventDefault();
  const { value, selectedOptions } = find("example");
  if (!value) return;
  if ("form" in selectedOptions[0].dataset) location.assign(`${paths.page}?example=${encodeURIComponent(value)}`);
  else open(value);
});
surface.area.addEventListener("input", label);
label();

function label() {
  find("run").textContent = isUpdate(surface.text) ? t("Show effect") : t("Run");
}
surface.area.addEventListener("keydown", (event) => {
  if (event.isComposing || event.defaultPrevented) return;
  const start = surface.area.selectionStart;
  const before = surface.text.slice(0, start).split("\n").at(-1);
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    run();
  } else if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault(); // a new line begins where this one did, and deeper after an opening bracket
    surface.replace(start, surface.caret, `\n${/^ */.exec(before)[0]}${/[{(]\s*$/.test(before) ? "  " : ""}`);
  } else if (event.key === "}" && /^ {2,}$/.test(before)) {
    event.preventDefault();
    surface.replace(start - 2, surface.caret, "}");
  }
});
find("stop").addEventListener("click", () => running?.abort());
find("check").addEventListener("click", check);
find("explain").addEventListener("click", count);
find("share").addEventListener("click", () => {
  const address = share(surface.text);
  if (address) copy(address, t("a link to the query"));
  else say(t("The query is too long for a link."));
});
find("copy").addEventListener("click", () =>
  copy(result.forms[find("format").value](), t("the result as {0}", FORMS[find("format").value])),
);
find("download").addEventListener("click", download);
find("past").addEventListener("toggle", list);
find("forget").addEventListener("click", () => {
  history.clear();
  list();
});
