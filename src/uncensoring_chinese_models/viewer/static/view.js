"use strict";
(() => {
  // A run that has ended sends nothing more: its page does not connect again.
  const ended = new WeakSet();
  addEventListener("ended", (event) => ended.add(event.target));
  addEventListener("htmx:sse:before:connection", (event) => {
    if (ended.has(event.target)) event.preventDefault();
  });
})();
