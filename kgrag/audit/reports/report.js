"use strict";
(function () {
  var controls = document.getElementById("controls");
  var search = document.getElementById("search");
  var check = document.getElementById("check");
  var group = document.getElementById("group");
  var shown = document.getElementById("shown");
  var boxes = Array.from(controls.querySelectorAll("input[name=severity]"));
  var texts = new Map();

  function fits(severity, name, severities) {
    return severities.has(severity) && (!check.value || check.value === name);
  }

  function matches(element, words) {
    if (!texts.has(element)) {
      var titles = Array.from(element.querySelectorAll("[title]")).map(function (each) { return each.title; });
      texts.set(element, (element.textContent + " " + titles.join(" ")).toLowerCase());
    }
    var text = texts.get(element);
    return words.every(function (word) { return text.includes(word); });
  }

  function filter() {
    var severities = new Set(boxes.filter(function (box) { return box.checked; }).map(function (box) { return box.value; }));
    var words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    var count = 0;
    document.querySelectorAll("#by-check details").forEach(function (part) {
      var wanted = fits(part.dataset.severity, part.dataset.check, severities);
      var some = false;
      part.querySelectorAll("tbody tr").forEach(function (row) {
        row.hidden = !(wanted && matches(row, words));
        if (!row.hidden) { some = true; count += 1; }
      });
      part.hidden = !some;
    });
    document.querySelectorAll("#by-term tbody tr").forEach(function (row) {
      var some = false;
      var found = matches(row, words);
      row.querySelectorAll("p").forEach(function (line) {
        line.hidden = !(found && fits(line.dataset.severity, line.dataset.check, severities));
        some = some || !line.hidden;
      });
      row.hidden = !some;
    });
    ["by-check", "by-term"].forEach(function (id) { document.getElementById(id).hidden = group.value !== id; });
    shown.textContent = count + " shown";
  }

  document.getElementById("by-term").addEventListener("click", function (event) {
    if (event.target.closest("a")) { group.value = "by-check"; filter(); }
  });
  controls.addEventListener("input", filter);
  controls.addEventListener("change", filter);
  controls.addEventListener("submit", function (event) { event.preventDefault(); });
  controls.hidden = false;
  filter();
}());
