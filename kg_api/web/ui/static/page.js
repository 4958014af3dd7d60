// Scripts of all pages. Search and reading work without them.
"use strict";

{  // a block, because the scripts of single pages share the global scope

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  button.dataset.label ??= button.textContent;
  await copy(button.dataset.copy.replace("{origin}", location.origin));
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = button.dataset.label; }, 1500);
});

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const box = document.body.appendChild(document.createElement("textarea"));  // without HTTPS there is no clipboard
  box.value = text;
  box.select();
  document.execCommand("copy");
  box.remove();
}

document.addEventListener("change", ({ target }) => {
  if ("all" in target.dataset) for (const each of target.form.querySelectorAll("[name=documents]")) each.checked = target.checked;
});

// Removing a filter keeps the text typed since the page was loaded.
document.addEventListener("click", (event) => {
  const away = event.target.closest(".condition a");
  if (!away) return;
  event.preventDefault();
  const form = away.closest("form");
  if (!form.reportValidity()) return;
  away.closest(".condition").remove();
  form.requestSubmit();
});

// An error stays on top until a request succeeds. Results of another question are removed.
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (detail.successful) document.getElementById("problem").replaceChildren();
});
for (const failure of ["htmx:responseError", "htmx:sendError"]) {
  document.addEventListener(failure, ({ detail }) => {
    if (detail.elt.closest("#search, [data-later]")) for (const id of ["results", "told"]) document.getElementById(id).replaceChildren();
  });
}
document.addEventListener("htmx:sendError", () => {
  const told = document.createElement("p");
  told.className = "problem";
  told.textContent = "kg does not respond. Check that it is running: kg status";
  document.getElementById("problem").replaceChildren(told);
});

// A message about a finished action is shown once, not after a reload.
if (document.querySelector("[data-done]")) {
  const plain = new URL(location.href);
  plain.searchParams.delete("done");
  history.replaceState(history.state, "", plain);
}

// A reload does not repeat a form whose result is shown only once.
const once = document.querySelector("[data-once]");
if (once) history.replaceState(null, "", once.dataset.once);

// "/" focuses the search box, except while typing.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  const box = document.getElementById("q");
  if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey || typing || !box) return;
  event.preventDefault();
  box.focus();
});

// An incomplete filter is not sent with the query.
document.addEventListener("htmx:configRequest", (event) => {
  const box = document.querySelector("#search input[name=where]:invalid"), { formData } = event.detail;
  if (event.detail.elt.id !== "q" || !box) return;
  const ended = formData.getAll("where").filter((each) => each !== box.value);
  formData.delete("where");
  for (const each of ended) formData.append("where", each);
});

// Enter sends the whole search, so the request of the last key and the one at the next pause are dropped.
let sent = null;
const dropLater = () => document.querySelector("[data-later]")?.remove();
document.addEventListener("submit", (event) => {
  if (event.target.id !== "search") return;
  sent = event.target.elements.q.value;
  dropLater();
});
document.addEventListener("input", (event) => {
  if (event.target.id !== "q") return;
  sent = null;
  dropLater();
});
document.addEventListener("htmx:beforeSwap", ({ detail }) => {  // keep the result that the keyboard has reached
  if ("later" in detail.requestConfig.elt.dataset && document.activeElement.closest("#results")) detail.shouldSwap = false;
});

// Arrow keys move through the results, and Enter opens one.
document.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const places = [document.querySelector("#search #q"), ...document.querySelectorAll(".hit h2 a")];
  const to = places.indexOf(document.activeElement) + step;
  if (!step || event.ctrlKey || event.altKey || event.metaKey || !places[0] || to < 0) return;
  if (!places.includes(document.activeElement) || !places[to]) return;
  event.preventDefault();
  places[to].focus();
});
document.addEventListener("htmx:confirm", (event) => {
  if (event.detail.elt.id === "q" && event.detail.elt.value === sent) event.preventDefault();
});

// The preview next to the results follows the keyboard and clicks. Narrow pages have none.
const preview = document.getElementById("preview");
document.addEventListener("htmx:beforeRequest", (event) => {
  const { elt, target } = event.detail;
  if (target !== preview || !preview) return;
  if (!preview.checkVisibility()) return event.preventDefault();
  document.querySelector(".hit[aria-current]")?.removeAttribute("aria-current");
  elt.setAttribute("aria-current", "true");
  preview.scrollTop = 0;
});
document.addEventListener("error", ({ target }) => {  // kg does not store the file of the page
  if (preview?.contains(target)) target.remove();
}, true);

// A request that takes longer shows a status, also for screen readers.
const PATIENCE = 300, working = document.getElementById("working");
const underWay = new Set();
function begin(what) {
  underWay.add(what);
  setTimeout(() => { if (underWay.has(what)) show("Working …"); }, PATIENCE);
}
function end(what) {
  underWay.delete(what);
  if (!underWay.size) show("");
}
function show(words) {
  working.classList.toggle("htmx-request", words !== "");
  working.firstElementChild.textContent = words;
}
document.addEventListener("htmx:beforeSend", (event) => {
  if (!event.detail.elt.hasAttribute("data-poll")) begin(event.detail.xhr);
});
document.addEventListener("htmx:afterRequest", (event) => end(event.detail.xhr));
document.addEventListener("submit", (event) => setTimeout(() => { if (!event.defaultPrevented) begin(event.target); }));
// A cancelled load, and the return to a cached page, remove the status.
const stopped = () => document.dispatchEvent(new Event("kg:stopped"));
addEventListener("pageshow", () => { underWay.clear(); show(""); stopped(); });
if (window.navigation) navigation.addEventListener("navigate", (event) => event.signal.addEventListener("abort", stopped));
else addEventListener("keydown", (event) => { if (event.key === "Escape") stopped(); });  // older browsers
document.addEventListener("kg:stopped", () => {
  for (const each of underWay) if (each instanceof HTMLFormElement) end(each);
});

// Polling pauses while the page is hidden.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.detail.elt.hasAttribute("data-poll")) event.preventDefault();
});

}
