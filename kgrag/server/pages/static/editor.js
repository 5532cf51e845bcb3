// YASGUI over this server's endpoint alone: its own lists of endpoints and terms are replaced by what the store holds.
"use strict";

(() => {
  const place = document.getElementById("yasgui");
  const plain = document.getElementById("plain");
  const text = document.getElementById("query").value;
  const endpoint = new URL(place.dataset.endpoint, location.href).href;
  const pageOf = (iri) => `${place.dataset.resource}?iri=${encodeURIComponent(iri)}`;
  const escaped = (value) => {
    const span = document.createElement("span");
    span.textContent = value;
    return span.innerHTML.replaceAll('"', "&quot;").replaceAll("'", "&#39;");
  };

  const terms = fetch(place.dataset.terms, { headers: { Accept: "application/json" } })
    .then((reply) => (reply.ok ? reply.json() : Promise.reject(new Error(`status ${reply.status}`))))
    .catch(() => ({ prefixes: {}, classes: [], properties: [] }));

  const { Yasqe, Yasr } = Yasgui;

  // Completion: a list of this store, found by the beginning of an IRI or anywhere in its last part.
  const completing = (name, list) => {
    Yasqe.forkAutocompleter(name, {
      name: `kgrag-${name}`,
      bulk: false,
      persistenceId: null,
      get: async (_editor, token) => {
        const wanted = (token?.autocompletionString || "").toLowerCase();
        const known = (await terms)[list];
        const begun = known.filter((iri) => iri.toLowerCase().startsWith(wanted));
        return begun.length ? begun : known.filter((iri) => iri.split(/[#/:]/).pop().toLowerCase().includes(wanted));
      },
    }, false);
  };
  completing("class", "classes");
  completing("property", "properties");
  Yasqe.forkAutocompleter("prefixes", {
    name: "kgrag-prefixes",
    persistenceId: null,
    get: async () => Object.entries((await terms).prefixes).map(([prefix, iri]) => `${prefix}: <${iri}>`).sort(),
  }, false);
  Yasqe.defaults.autocompleters.splice(0, Infinity, "variables", "kgrag-prefixes", "kgrag-class", "kgrag-property");

  // An IRI in a result leads to its page here; a literal shows its language or datatype in short.
  const table = Yasr.plugins.table.prototype;
  const XSD = "http://www.w3.org/2001/XMLSchema#";
  const shortened = (iri, prefixes) => {
    const found = Object.entries({ xsd: XSD, ...prefixes }).find(([, long]) => iri.startsWith(long));
    return found ? `${found[0]}:${iri.slice(found[1].length)}` : iri;
  };
  table.getUriLinkFromBinding = (binding, prefixes) =>
    `<a class="iri" href="${escaped(pageOf(binding.value))}">${escaped(shortened(binding.value, prefixes))}</a>`;
  table.formatLiteral = (literal, prefixes) => {
    const datatype = (literal.datatype || "").startsWith(`${XSD}string`) ? "" : literal.datatype || "";
    const note = literal["xml:lang"] || (datatype && shortened(datatype, prefixes));
    return `${escaped(literal.value)}${note ? ` <span class="note">${escaped(note)}</span>` : ""}`;
  };

  plain.hidden = true;
  place.hidden = false;
  const asked = new URLSearchParams(location.search);
  const editor = new Yasgui(place, {
    requestConfig: { endpoint, method: "POST", headers: {} },
    copyEndpointOnNewTab: false,
    endpointCatalogueOptions: { getData: () => [{ endpoint }], keys: [] },
    persistenceId: `kgrag ${endpoint}`,
    populateFromUrl: false,
    autofocus: false,
    yasqe: {
      value: text,
      createShareableLink: null,
      prefixCcApi: null,
      editorHeight: "22rem",
      requestConfig: { endpoint },
    },
    yasr: { prefixes: () => ({}), maxPersistentResponseSize: 0 },
  });
  window.kgragEditor = editor;

  // A query that the address names gets a tab of its own, unless that is open already.
  if (["query", "example", "graph"].some((name) => asked.has(name))) {
    const open = Object.values(editor._tabs).find((tab) => tab.getPersistedJson().yasqe.value === text);
    if (open) editor.selectTabId(open.getId());
    else editor.addTab(true, { name: asked.get("example") || "Query", yasqe: { value: text } });
  }

  // Labels for what YASGUI leaves without one; it draws parts anew with every result and tab.
  const labels = {
    ".CodeMirror textarea": "SPARQL query",
    ".addTab": "New query",
    ".tableSizer": "Rows a page",
  };
  const named = () => {
    for (const [selector, label] of Object.entries(labels)) {
      for (const element of place.querySelectorAll(`${selector}:not([aria-label])`)) element.setAttribute("aria-label", label);
    }
  };
  named();
  new MutationObserver(named).observe(place, { childList: true, subtree: true });
})();
