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
  for (const place of document.querySelectorAll("[data-toggles]")) {
    const button = document.createElement("button");
    const all = () => document.querySelectorAll("#" + place.dataset.toggles + " details");
    const closed = () => [...all()].some((each) => !each.open);
    const label = () => { button.textContent = closed() ? "Open all" : "Close all"; };
    button.type = "button";
    button.addEventListener("click", () => {
      const want = closed();
      for (const each of all()) each.open = want;
      label();
    });
    label();
    place.append(button);
  }
})();
