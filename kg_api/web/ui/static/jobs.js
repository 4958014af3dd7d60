// The event stream is open only while the page is visible, because all tabs of a browser share six connections to
// a host.
"use strict";

const AGAIN_MS = 15_000, LOST_MS = 2_000;
const LOST = "Connection to kg lost. Reconnecting …";
const REFUSED = {
  429: "too many users follow jobs",
  503: "kg or Neo4j is starting",
};
const pace = document.getElementById("pace");

class RestingStream {
  #url; #source = null; #heard = []; #again = 0; #lost = 0; #turn = () => this.#goOnOrRest();

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
    this.#source.onopen = () => this.#say("");
    this.#source.onerror = () => this.#fail();
    for (const [name, listener] of this.#heard) this.#source.addEventListener(name, listener);
  }

  #rest() {
    clearTimeout(this.#again);
    clearTimeout(this.#lost);
    this.#source?.close();
    this.#source = null;
  }

  #goOnOrRest() {
    this.#rest();
    if (!document.hidden) this.#open();
  }

  #say(text) {
    clearTimeout(this.#lost);
    pace.textContent = text;
  }

  // The browser reopens a broken stream, but not a rejected one.
  #fail() {
    clearTimeout(this.#lost);
    if (this.readyState !== EventSource.CLOSED) {
      this.#lost = setTimeout(() => this.#say(LOST), LOST_MS);
      return;
    }
    this.#rest();
    this.#again = setTimeout(this.#turn, AGAIN_MS);
    reason(this.#url).then((told) => { if (!this.#source) this.#say(told); });
  }
}

// An EventSource does not show the status of a rejection.
async function reason(url) {
  const asking = new AbortController();
  try {
    const { status } = await fetch(url, { signal: asking.signal });
    return status < 300 ? "" : `Updated every 15 seconds: ${REFUSED[status] ?? `status ${status}`}.`;
  } catch {
    return LOST;
  } finally {
    asking.abort();
  }
}

htmx.createEventSource = (url) => new RestingStream(url);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) htmx.trigger("#again", "sse:end");  // jobs that ended in the meantime
});
