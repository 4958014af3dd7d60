// Files that were chosen or dropped, sent one by one; each tells what became of it.
"use strict";

const drop = document.querySelector("[data-drop]");
const form = drop.querySelector("form");
const taken = drop.querySelector(".taken");
const onward = drop.querySelector(".onward");
let sending = 0;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  send([...form.elements.file.files].map((file) => ({ file, name: file.webkitRelativePath || file.name })));
});
drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
drop.addEventListener("dragleave", () => drop.classList.remove("over"));
drop.addEventListener("drop", async (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  const entries = [...event.dataTransfer.items].map((each) => each.webkitGetAsEntry()).filter(Boolean);
  send((await Promise.all(entries.map(filesOf))).flat());
});

async function filesOf(entry) {
  if (entry.isFile) {
    const file = await new Promise((done, failed) => entry.file(done, failed));
    return [{ file, name: entry.fullPath.replace(/^\//, "") }];
  }
  const reader = entry.createReader(), found = [];
  for (;;) {  // it gives a hundred at a time
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) break;
    found.push(...some);
  }
  return (await Promise.all(found.map(filesOf))).flat();
}

// Whoever leaves while files are sent is asked, for the rest of them would not come.
window.addEventListener("beforeunload", (event) => { if (sending) event.preventDefault(); });

async function send(files) {
  const ontology = form.elements.ontology;
  if (!ontology.reportValidity()) return;
  if (!sending) taken.replaceChildren();  // what the former try said is over
  onward.hidden = true;
  sending += 1;
  for (const each of files) await sendOne(each, ontology.value);
  sending -= 1;
  lead(ontology.value);
  htmx.ajax("GET", `${new URL(form.action).pathname}?ontology=${encodeURIComponent(ontology.value)}`, { target: "#list" });
}

function lead(ontology) {
  onward.querySelector("a").search = new URLSearchParams({ ontology });
  onward.hidden = !taken.querySelector("li:not(.problem)");
}

async function sendOne({ file, name }, ontology) {
  const line = taken.appendChild(document.createElement("li"));
  line.textContent = `${name}: being sent`;
  const body = new FormData(form);
  body.set("file", file, file.name);
  body.set("document", name);
  body.set("ontology", ontology);
  const headers = { Accept: "application/json" };
  if (body.has("csrf_token")) headers["X-CSRF-Token"] = body.get("csrf_token");
  body.delete("csrf_token");
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers, redirect: "manual" });
    line.textContent = `${name}: ${answer.ok ? outcome(await answer.json()) : await refusal(answer)}`;
    line.className = answer.ok ? "" : "problem";
  } catch {
    line.textContent = `${name}: kg does not answer`;
    line.className = "problem";
  }
}

function outcome(done) {
  const passages = done.sources.added + done.sources.kept;
  const told = `${done.change}, ${passages} passage${passages === 1 ? "" : "s"}`;
  return [told, ...done.notes].join(" · ");
}

async function refusal(answer) {
  if (answer.type === "opaqueredirect") return "nobody is signed in any more: load the page anew";
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return page.querySelector(".problem")?.textContent.trim() ?? `refused (${answer.status})`;
}
