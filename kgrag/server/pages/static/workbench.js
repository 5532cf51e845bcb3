// The workbench with a script: the key is kept for this tab, and the page of a job follows it to its end.
// Without it every form works as well; the key is then typed into each.

import { keptKey, keepKey } from "./key.js";
import { language, t } from "./messages.js";

const fields = [...document.querySelectorAll("input[name=key]")];
const kept = document.getElementById("kept");

function show() {
  for (const field of fields) {
    field.value = keptKey();
    field.closest("label").hidden = Boolean(keptKey());
  }
  if (kept) kept.hidden = !keptKey();
}

for (const field of fields) {
  field.form.addEventListener("submit", () => keepKey(field.value.trim()));
}
document.getElementById("forget-key")?.addEventListener("click", () => {
  keepKey("");
  show();
  fields[0]?.focus();
});
show();

// A key that is refused is asked for again.
if (/needs a key that is known/.test(document.querySelector("[role=alert]")?.textContent ?? "")) {
  keepKey("");
  show();
}

for (const form of document.querySelectorAll("form[data-busy]")) {
  form.addEventListener("submit", () => {
    form.querySelector(".status").textContent = form.dataset.busy;
    form.setAttribute("aria-busy", "true");
  });
}
addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const form of document.querySelectorAll("form[data-busy]")) {
    form.querySelector(".status").textContent = "";
    form.removeAttribute("aria-busy");
  }
  show();
});

const job = document.querySelector("[data-job]");
if (job) follow(job, `${document.querySelector("[data-root]").dataset.root}/jobs/${job.dataset.job}`);

// Server-sent events, read by fetch: an EventSource would send no key, which a private server wants.
async function follow(section, address) {
  const headers = { Accept: "text/event-stream" };
  if (keptKey()) headers.Authorization = `Bearer ${keptKey()}`;
  try {
    const reply = await fetch(address, { headers });
    if (!reply.ok) return;
    const lines = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await lines.read();
      if (done) break;
      text += value;
      const events = text.split("\n\n");
      text = events.pop();
      for (const event of events) {
        const data = /^data: (.*)$/m.exec(event)?.[1];
        if (data) draw(section, JSON.parse(data));
      }
    }
  } finally {
    location.reload(); // with what it did
  }
}

function draw(section, { state, progress, seconds }) {
  section.querySelector(".tag").textContent = t(state);
  const bar = section.querySelector("progress");
  if (progress.total) {
    bar.max = progress.total;
    bar.value = progress.done;
  }
  const count = progress.total ? ` ${t("{0} of {1}", progress.done.toLocaleString(language), progress.total.toLocaleString(language))}` : "";
  section.querySelector(".job-progress").textContent = `${progress.stage}${count}${progress.stage ? " · " : ""}${seconds.toFixed(1)} s`;
}
