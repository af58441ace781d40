"use strict";
(() => {
  // Without a script everything works; this only saves clicks.
  const open = (target) => {
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  };
  const follow = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target) { open(target); target.scrollIntoView(); }
  };
  addEventListener("hashchange", follow);
  follow();
  const equip = (place) => {
    const all = () => document.querySelectorAll("#" + place.dataset.toggles + " details");
    const closed = () => [...all()].some((each) => !each.open);
    let button = place.querySelector("button");
    if (!button) {
      button = document.createElement("button");
      button.type = "button";
      button.addEventListener("click", () => {
        const want = closed();
        for (const each of all()) each.open = want;
      });
      place.append(button);
    }
    button.textContent = closed() ? "Open all" : "Close all";
    button.hidden = !all().length;
  };
  const equipAll = () => document.querySelectorAll("[data-toggles]").forEach(equip);
  addEventListener("toggle", equipAll, true);  // opened or closed, by whatever
  addEventListener("htmx:after:swap", equipAll);  // the page of a running audit grows
  equipAll();
})();
