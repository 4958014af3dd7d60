// Replaces the URL by that of the empty form, so a reload does not call the language model.
"use strict";

const answer = document.querySelector("[data-address]");
if (answer) history.replaceState(null, "", answer.dataset.address);
