// Sliders for those who hear them: a name, and the value in words instead of its number.
//
// The widgets' own handles have neither. `root` is an element in the same output as the sliders;
// whatever changes there, the words beside a slider are told to its handle. The arrow keys belong
// to the slider while it has the focus, not to the notebook around it.
(function (root) {
  "use strict";
  const output = root.closest(".jp-OutputArea") || root.parentElement;
  function tell() {
    for (const slider of output.querySelectorAll(".widget-inline-hbox")) {
      const handle = slider.querySelector("[role=slider]");
      if (!handle) continue;
      const words = {
        "aria-label": slider.querySelector(".widget-label").textContent,
        "aria-valuetext": slider.querySelector(".widget-readout").textContent,
        "data-lm-suppress-shortcuts": "true",
      };
      for (const name in words) {
        if (handle.getAttribute(name) !== words[name]) handle.setAttribute(name, words[name]);
      }
    }
  }
  const changes = {childList: true, characterData: true, subtree: true,
    attributeFilter: ["aria-valuetext"]};
  new MutationObserver(tell).observe(output, changes);
  tell();
})
