// Files dropped anywhere on a page stay in a tray until an ontology is chosen. Each file is sent alone and shows its result.
"use strict";

{  // a block, because the scripts of single pages share the global scope

const POLL_MS = 2000;
const tray = document.getElementById("tray"), form = tray.querySelector("form");
const [about, taken, onward] = [".about", ".taken", ".onward"].map((each) => tray.querySelector(each));
const choosing = document.querySelector(".drop form");
const pending = new Map();  // lines of files that semantic search does not find yet, by document
let waiting = [], isSending = false;

const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
document.addEventListener("dragover", (event) => {
  if (!holdsFiles(event)) return;
  event.preventDefault();
  document.body.classList.add("dropping");
});
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
document.addEventListener("drop", async (event) => {
  if (!holdsFiles(event)) return;
  event.preventDefault();
  document.body.classList.remove("dropping");
  const items = [...event.dataTransfer.items].filter((each) => each.kind === "file");
  const found = items.map((each) => [each.webkitGetAsEntry(), each.getAsFile()]);  // before the first await
  keep((await Promise.all(found.map(([entry, file]) => (entry ? filesOf(entry) : [{ file, name: file.name }])))).flat());
});
choosing?.addEventListener("submit", (event) => {
  event.preventDefault();
  form.elements.ontology.value = choosing.elements.ontology.value;
  keep([...choosing.elements.file.files].map((file) => ({ file, name: file.webkitRelativePath || file.name })));
  form.requestSubmit();
});
form.addEventListener("submit", (event) => { event.preventDefault(); if (!isSending) send(); });
form.addEventListener("reset", () => { waiting = []; tray.hidden = true; });

async function filesOf(entry) {
  if (entry.isFile) {
    const file = await new Promise((done, failed) => entry.file(done, failed));
    return [{ file, name: entry.fullPath.replace(/^\//, "") }];
  }
  const reader = entry.createReader(), found = [];
  for (;;) {  // readEntries returns up to 100 entries per call
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) break;
    found.push(...some);
  }
  return (await Promise.all(found.map(filesOf))).flat();
}

// Prefill the ontology that the page shows, the last one, or the only one.
async function keep(files) {
  if (!waiting.length && !isSending) taken.replaceChildren();
  waiting.push(...files);
  tray.hidden = !waiting.length && !taken.childElementCount;
  onward.hidden = true;
  if (!isSending) about.textContent = `${files_(waiting.length)} to add`;
  const { ontology } = form.elements;
  if (ontology.value) return;
  const { ontologies } = await (await fetch(tray.dataset.address, { headers: { Accept: "application/json" } })).json();
  const names = ontologies.map((each) => each.ontology);
  form.querySelector("datalist").replaceChildren(...names.map((name) => new Option(name, name)));
  ontology.value ||= document.querySelector("select[name=ontology]")?.value || names.find((name) => name === localStorage.ontology || names.length === 1) || "";
  ontology.focus();
}

const files_ = (count) => `${count} file${count === 1 ? "" : "s"}`;

// Leaving the page would stop the upload.
window.addEventListener("beforeunload", (event) => { if (isSending) event.preventDefault(); });

async function send() {
  const ontology = form.elements.ontology.value;
  let done = 0, failed = 0;
  isSending = true;
  pending.clear();
  for (let each; (each = waiting.shift());) {
    about.textContent = `Adding file ${done + failed + 1} of ${done + failed + waiting.length + 1}`;
    if (await sendOne(each, ontology)) done++;
    else failed++;
  }
  isSending = false;
  onward.querySelector("a").search = new URLSearchParams({ ontology });
  onward.hidden = !done;
  if (choosing) htmx.ajax("GET", `${new URL(form.action).pathname}${location.search}`, { target: "#list" });
  const rest = failed ? `, ${failed} failed` : "";
  follow(ontology, `${done} of ${files_(done + failed)} searchable by keyword`, rest);
  if (done) localStorage.ontology = ontology;
}

// Keyword search finds new files at once. Semantic search finds a file when its passages are embedded.
async function follow(ontology, said, rest) {
  const total = pending.size;
  about.textContent = said + rest;
  while (pending.size && !isSending && !tray.hidden) {
    const some = [...pending.keys()].slice(0, 100), asked = some.map((id) => ["documents", id]);
    const answer = await fetch(`${form.action}/searchable?${new URLSearchParams([["ontology", ontology], ...asked])}`);
    const found = answer.ok ? await answer.json() : [];
    if (isSending) return;
    for (const id of found) {
      pending.get(id)?.append(" · ready for semantic search");
      pending.delete(id);
    }
    about.textContent = `${said}, ${total - pending.size} semantically${rest}`;
    do await new Promise((next) => { setTimeout(next, found.length < some.length ? POLL_MS : 0); });
    while (document.hidden);
  }
}

async function sendOne({ file, name }, ontology) {
  const line = taken.appendChild(document.createElement("li"));
  line.textContent = `${name}: uploading`;
  const body = new FormData(), headers = { Accept: "application/json" };
  for (const [key, value] of [["file", file], ["document", name], ["ontology", ontology]]) body.set(key, value);
  const token = form.elements.csrf_token?.value;
  if (token) headers["X-CSRF-Token"] = token;
  let isDone = false;
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers, redirect: "manual" });
    isDone = answer.ok;
    const told = isDone ? await answer.json() : null;
    line.textContent = `${name}: ${told ? outcome(told) : await reason(answer)}`;
    if (told) pending.set(told.document_id, line);
  } catch {
    line.textContent = `${name}: kg does not respond`;
  }
  line.className = isDone ? "" : "problem";
  return isDone;
}

function outcome(done) {
  const passages = done.sources.added + done.sources.kept;
  return [`${done.change}, ${passages} passage${passages === 1 ? "" : "s"}`, ...done.notes].join(" · ");
}

async function reason(answer) {
  if (answer.type === "opaqueredirect") return "you are signed out. Reload the page to sign in";
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return page.querySelector(".problem")?.textContent.trim() ?? `failed with status ${answer.status}`;
}

}
