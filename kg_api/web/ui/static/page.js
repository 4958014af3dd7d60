// What pages do beside htmx: nothing here is needed to search and to read.
"use strict";

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  const before = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1500);
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

// "/" goes to the search, as in most places; not while somebody types.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  const box = document.getElementById("q");
  if (event.key !== "/" || typing || !box) return;
  event.preventDefault();
  box.focus();
});

// What cannot be undone is asked for.
document.addEventListener("submit", (event) => {
  const question = event.target.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});
