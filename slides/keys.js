const slides = [...document.querySelectorAll("section")];
const help = "→ ↓ space: on. ← ↑: back. Home, End: first, last. n: notes. f: full screen. a: all.";
let at = 0;

const fit = () => {
  const shown = slides[at], height = document.body.classList.contains("notes-shown") ? 1080 : 720;
  const scale = Math.min(innerWidth / 1280, innerHeight / height);
  shown.style.transform = `scale(${scale})`;
  shown.style.left = `${(innerWidth - 1280 * scale) / 2}px`;
};

const show = (number) => {
  at = Math.max(0, Math.min(slides.length - 1, number));
  slides.forEach((slide, place) => slide.classList.toggle("shown", place === at));
  history.replaceState(null, "", `#${at + 1}`);
  document.title = slides[at].getAttribute("aria-label");
  fit();
};

const keys = {
  ArrowRight: () => show(at + 1), ArrowDown: () => show(at + 1), PageDown: () => show(at + 1),
  " ": () => show(at + 1), ArrowLeft: () => show(at - 1), ArrowUp: () => show(at - 1),
  PageUp: () => show(at - 1), Home: () => show(0), End: () => show(slides.length - 1),
  n: () => { document.body.classList.toggle("notes-shown"); fit(); },
  f: () => document.fullscreenElement ? document.exitFullscreen() : document.body.requestFullscreen(),
  a: () => document.body.classList.toggle("one-by-one"),
  "?": () => alert(help),
};

if (location.search === "?notes") {
  document.body.classList.add("notes-shown");
} else {
  document.body.classList.add("one-by-one");
  addEventListener("keydown", (event) => {
    const key = keys[event.key];
    if (key && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      key();
    }
  });
  addEventListener("resize", fit);
  addEventListener("hashchange", () => show(Number(location.hash.slice(1)) - 1));
  show((Number(location.hash.slice(1)) || 1) - 1);
}
