// The stream of events is open while somebody sees the page: a browser has six connections to a host for all
// its tabs together, and each stream holds one of them.
"use strict";

const AGAIN_MS = 15_000;
const pace = document.getElementById("pace");

class RestingStream {
  #url; #source = null; #heard = []; #again = 0; #turn = () => this.#goOnOrRest();

  constructor(url) {
    this.#url = url;
    document.addEventListener("visibilitychange", this.#turn);
    this.#goOnOrRest();
  }

  get readyState() { return this.#source?.readyState ?? EventSource.CONNECTING; }

  addEventListener(name, listener) {
    this.#heard.push([name, listener]);
    this.#source?.addEventListener(name, listener);
  }

  removeEventListener(name, listener) {
    this.#heard = this.#heard.filter((each) => each[1] !== listener);
    this.#source?.removeEventListener(name, listener);
  }

  close() {
    this.#rest();
    document.removeEventListener("visibilitychange", this.#turn);
  }

  #open() {
    this.#source = new EventSource(this.#url);
    this.#source.onopen = () => { pace.textContent = ""; };
    this.#source.onerror = () => this.#fail();
    for (const [name, listener] of this.#heard) this.#source.addEventListener(name, listener);
  }

  #rest() {
    clearTimeout(this.#again);
    this.#source?.close();
    this.#source = null;
  }

  #goOnOrRest() {
    this.#rest();
    if (!document.hidden) this.#open();
  }

  // What broke is opened again by the browser, what was refused is not.
  #fail() {
    if (this.readyState !== EventSource.CLOSED) return;
    this.#rest();
    this.#again = setTimeout(this.#turn, AGAIN_MS);
    sayWhy(this.#url);
  }
}

// A stream does not tell why it was refused.
async function sayWhy(url) {
  const asking = new AbortController();
  try {
    const { status } = await fetch(url, { signal: asking.signal });
    if (status === 429) pace.textContent = "Updated every 15 seconds: too many follow the jobs at once.";
  } catch { /* that kg does not answer is said by the list */ }
  asking.abort();
}

htmx.createEventSource = (url) => new RestingStream(url);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) htmx.trigger("#again", "sse:end");  // what has ended since
});
