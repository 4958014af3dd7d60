// After a decision, the focus moves to the next link, or to the heading after the last one.
"use strict";

let next = null;
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!detail.shouldSwap || !detail.target.matches(".proposal")) return;
  next = detail.target.nextElementSibling?.querySelector("button") ?? document.querySelector("h1");
});
document.addEventListener("htmx:afterSettle", () => {
  next?.focus();
  next = null;
});
