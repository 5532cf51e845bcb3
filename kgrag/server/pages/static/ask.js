// While an answer is on its way: say so, and take no second question.
"use strict";

for (const form of document.querySelectorAll("form[data-busy]")) {
  form.addEventListener("submit", () => {
    form.querySelector("[role=status]").textContent = form.dataset.busy;
    form.setAttribute("aria-busy", "true");
    const button = form.querySelector("button");
    setTimeout(() => { button.disabled = true; });
  });
}

// The page comes back from the browser's memory as it was left.
addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const form of document.querySelectorAll("form[data-busy]")) {
    form.querySelector("[role=status]").textContent = "";
    form.removeAttribute("aria-busy");
    form.querySelector("button").disabled = false;
  }
});
