// What pages do beside htmx: nothing here is needed to search and to read.
"use strict";

{  // names of this script are its own: each page's script stands beside it

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  button.dataset.label ??= button.textContent;
  await copy(button.dataset.copy);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = button.dataset.label; }, 1500);
});

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const box = document.body.appendChild(document.createElement("textarea"));  // by plain http there is no clipboard
  box.value = text;
  box.select();
  document.execCommand("copy");
  box.remove();
}

// A condition goes from the form that is there now, with what was typed since.
document.addEventListener("click", (event) => {
  const away = event.target.closest(".condition a");
  if (!away) return;
  event.preventDefault();
  const form = away.closest("form");
  if (!form.reportValidity()) return;
  away.closest(".condition").remove();
  form.requestSubmit();
});

// What went wrong stands on top until something works again.
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful) document.getElementById("problem").replaceChildren();
});
document.addEventListener("htmx:sendError", () => {
  const told = document.createElement("p");
  told.className = "problem";
  told.textContent = "kg does not answer. Is it running?";
  document.getElementById("problem").replaceChildren(told);
});

// What was done is said once: neither loading the page anew nor keeping its address says it again.
if (document.querySelector("[data-done]")) {
  const plain = new URL(location.href);
  plain.searchParams.delete("done");
  history.replaceState(history.state, "", plain);
}

// What is shown once is not sent for once more when it is loaded anew: that leads on.
const once = document.querySelector("[data-once]");
if (once) history.replaceState(null, "", once.dataset.once);

// "/" goes to the search, as in most places; not while somebody types.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  const box = document.getElementById("q");
  if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey || typing || !box) return;
  event.preventDefault();
  box.focus();
});

// A condition that is only begun waits for its end, though somebody types what to look for meanwhile.
document.addEventListener("htmx:configRequest", (event) => {
  const box = document.querySelector("#search input[name=where]:invalid"), { formData } = event.detail;
  if (event.detail.elt.id !== "q" || !box) return;
  const ended = formData.getAll("where").filter((each) => each !== box.value);
  formData.delete("where");
  for (const each of ended) formData.append("where", each);
});

// What was sent by Enter is not looked for once more, and by words only, for it was typed just before.
let sent = null;
document.addEventListener("submit", (event) => {
  if (event.target.id === "search") sent = event.target.elements.q.value;
});
document.addEventListener("input", (event) => {
  if (event.target.id === "q") sent = null;
});
document.addEventListener("htmx:confirm", (event) => {
  if (event.detail.elt.id === "q" && event.detail.elt.value === sent) event.preventDefault();
});

// Whoever waits sees that kg works, and hears it, where it takes longer than a moment.
const PATIENCE = 300, working = document.getElementById("working");
const underWay = new Set();
function begin(what) {
  underWay.add(what);
  setTimeout(() => { if (underWay.has(what)) show("kg is working on it …"); }, PATIENCE);
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
// A load that was stopped, as by Escape, ends what began it; so does going back to a page as it was left.
const stopped = () => document.dispatchEvent(new Event("kg:stopped"));
addEventListener("pageshow", () => { underWay.clear(); show(""); stopped(); });
if (window.navigation) navigation.addEventListener("navigate", (event) => event.signal.addEventListener("abort", stopped));
else addEventListener("keydown", (event) => { if (event.key === "Escape") stopped(); });  // browsers that tell no more
document.addEventListener("kg:stopped", () => {
  for (const each of underWay) if (each instanceof HTMLFormElement) end(each);
});

// What is asked for again and again rests while nobody sees the page.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.detail.elt.hasAttribute("data-poll")) event.preventDefault();
});

}
