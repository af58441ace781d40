"use strict";
(() => {
  // A page that updates itself says so when it cannot.
  const notice = document.getElementById("notice");
  const old = "This page shows what was last known, and updates when it can.";
  const reasons = {
    404: "This run is no longer in the folder.",
    422: "A file of this run cannot be read now; load the page again to see which.",
  };
  const say = (text) => { if (notice.textContent !== text) notice.textContent = text; };
  addEventListener("htmx:error", () => say(`The viewer does not answer. ${old}`));
  addEventListener("htmx:after:request", (event) => {
    const status = event.detail.ctx.response.status;
    if (status < 400) { say(""); return; }
    event.preventDefault();  // the page keeps what it shows, and its title
    say(`${reasons[status] ?? "The viewer failed to update this page."} ${old}`);
  });
})();
