const slides = [...document.querySelectorAll("section")];
const help = "→ ↓ space: on. ← ↑: back. Home, End: first, last. n: notes. f: full screen. a: all. p: speaker.";
let at = 0, speaker = null, begun = Date.now();

const fit = () => {
  const shown = slides[at], height = document.body.classList.contains("notes-shown") ? 1080 : 720;
  const scale = Math.min(innerWidth / 1280, innerHeight / height);
  shown.style.setProperty("--scale", scale);  // the style sheet uses both on screens alone
  shown.style.setProperty("--left", `${(innerWidth - 1280 * scale) / 2}px`);
};

const show = (number) => {
  at = Math.max(0, Math.min(slides.length - 1, number));
  slides.forEach((slide, place) => slide.classList.toggle("shown", place === at));
  history.replaceState(null, "", `#${at + 1}`);
  document.title = slides[at].getAttribute("aria-label");
  fit();
  tell();
};

// The speaker's window: this slide and the next, the notes, the clock and what was planned.
const tell = () => {
  if (!speaker || speaker.closed) return;
  const page = speaker.document, place = (name) => page.getElementById(name);
  const minutes = (few) => few.reduce((sum, slide) => sum + Number(slide.dataset.minutes), 0);
  for (const [name, slide] of [["now", slides[at]], ["next", slides[at + 1]]]) {
    place(name).innerHTML = slide ? slide.querySelector(".slide").outerHTML : "";
  }
  place("spoken").innerHTML = slides[at].querySelector(".notes").innerHTML;
  const spent = (Date.now() - begun) / 60000, two = (number) => String(Math.floor(number)).padStart(2, "0");
  place("clock").textContent = `${two(spent)}:${two((spent * 60) % 60)}`;
  place("plan").textContent = `slide ${at + 1} of ${slides.length}, ${slides[at].dataset.minutes} min; ` +
    `planned until its end: ${minutes(slides.slice(0, at + 1))} of ${minutes(slides)} min`;
};

const speak = () => {
  speaker = open("", "speaker", "width=1200,height=800");
  if (!speaker) return alert("The browser has stopped the speaker's window: allow it for this page.");
  const style = [...document.querySelectorAll("style")].map((it) => it.outerHTML).join("");
  speaker.document.documentElement.innerHTML = `<head><title>Speaker</title>${style}<style>
    body { display: grid; grid-template: auto auto 1fr / 5fr 4fr; gap: 10px; padding: 10px; }
    #now .slide { zoom: 0.5; } #next .slide { zoom: 0.4; opacity: 0.8; }
    #clock { font-size: 48px; font-weight: 700; } #spoken { grid-column: 1 / -1; font-size: 24px; }
    </style></head><body><div id="clock"></div><div id="plan"></div><div id="now"></div>
    <div id="next"></div><div id="spoken"></div></body>`;
  speaker.document.addEventListener("keydown", pressed);
  begun = Date.now();
  tell();
};

const keys = {
  ArrowRight: () => show(at + 1), ArrowDown: () => show(at + 1), PageDown: () => show(at + 1),
  " ": () => show(at + 1), ArrowLeft: () => show(at - 1), ArrowUp: () => show(at - 1),
  PageUp: () => show(at - 1), Home: () => show(0), End: () => show(slides.length - 1),
  n: () => { document.body.classList.toggle("notes-shown"); fit(); },
  f: () => document.fullscreenElement ? document.exitFullscreen() : document.body.requestFullscreen(),
  a: () => document.body.classList.toggle("one-by-one"),
  p: speak,
  "?": () => alert(help),
};

const pressed = (event) => {
  const key = keys[event.key];
  if (key && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    key();
  }
};

if (location.search === "?notes") {
  document.body.classList.add("notes-shown");
} else if (location.search === "?handout") {
  document.body.classList.add("handout");
  document.head.insertAdjacentHTML("beforeend", "<style>@page { size: A4; margin: 10mm; }</style>");
} else {
  document.body.classList.add("one-by-one");
  addEventListener("keydown", pressed);
  setInterval(tell, 1000);
  addEventListener("resize", fit);
  addEventListener("hashchange", () => show(Number(location.hash.slice(1)) - 1));
  show((Number(location.hash.slice(1)) || 1) - 1);
}
