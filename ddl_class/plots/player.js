// The player of a moving picture: it turns the clock of an SVG that moves by itself.
//
// `root` is the player's element and `data` what player.py wrote: the ends of all steps in seconds
// of the show with the words for each, how long it is, where it begins, how a second of it is told,
// and the drawing, packed. Nothing is loaded, and nothing outside of `root` is touched.
(async function (root, data) {
  "use strict";
  const REST = 1400, SLOWER = 0.25; // milliseconds of a step without motion; of the usual speed
  const {stops, seconds, begin, factor, unit} = data, last = stops.length - 1;
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const packed = new Blob([Uint8Array.from(atob(data.svg), (letter) => letter.charCodeAt(0))]);
  const unpacked = packed.stream().pipeThrough(new DecompressionStream("gzip"));
  part("stage").innerHTML = await new Response(unpacked).text();
  const svg = part("stage").firstChild;
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  let now = 0, step = -1, speed = 1, playing = 0; // playing: what the browser calls, or 0

  function show(time) {
    now = Math.max(0, Math.min(seconds, time));
    svg.setCurrentTime(now);
    const next = stops.findLastIndex(([end]) => end <= now + 1e-4);
    if (next !== step) {
      step = next;
      svg.setAttribute("aria-label", stops[step][1]);
      part("words").textContent = stops[step][1];
      part("counter").textContent = `step ${step} of ${last}`;
    }
    const clock = `at ${(now * factor).toPrecision(3)} ${unit}`;
    part("clock").textContent = clock;
    part("slider").value = now;
    part("slider").setAttribute("aria-valuetext", `${clock}, step ${step} of ${last}`);
    // A button that were disabled would lose the focus of who works by keys.
    part("back").setAttribute("aria-disabled", String(now === 0));
    part("forward").setAttribute("aria-disabled", String(step === last));
  }
  function pause() {
    cancelAnimationFrame(playing);
    playing = 0;
    part("play").textContent = "▶ play";
  }
  function play() {
    part("play").textContent = "❚❚ pause";
    if (now >= seconds - 1e-4) show(0);
    let before = null;
    const frame = (moment) => {
      if (!root.isConnected) return pause();
      before ??= moment;
      const passed = (moment - before) * speed;
      if (!calm.matches) show(now + passed / 1000);
      else if (passed >= REST) show(step < last ? stops[step + 1][0] : seconds);
      if (!calm.matches || passed >= REST) before = moment;
      if (now >= seconds) return pause();
      playing = requestAnimationFrame(frame);
    };
    playing = requestAnimationFrame(frame);
  }
  const go = (time) => { pause(); show(time); };
  const back = () => {
    const whole = now <= stops[step][0] + 1e-3; // at the end of a step, not on the way
    go(stops[Math.max(0, whole ? step - 1 : step)][0]);
  };
  const forward = () => go(step < last ? stops[step + 1][0] : seconds);
  const toggle = () => { if (playing) pause(); else play(); };
  const keys = {ArrowLeft: back, ArrowRight: forward, Home: () => go(0), End: () => go(seconds),
    " ": toggle};
  // Keys pressed here are the player's, not the notebook's or the deck's around it.
  root.setAttribute("data-lm-suppress-shortcuts", "true");
  root.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation();
    if (event.key === " " && event.target.tagName === "BUTTON") return;
    event.preventDefault();
    keys[event.key]();
  });
  for (const [name, does] of Object.entries({back, forward, play: toggle})) {
    part(name).onclick = does;
  }
  part("slow").onclick = () => {
    speed = speed === 1 ? SLOWER : 1;
    part("slow").setAttribute("aria-pressed", String(speed !== 1));
  };
  part("slider").oninput = (event) => go(Number(event.target.value));
  part("all").onclick = () => {
    const hidden = part("strip").hidden = !part("strip").hidden;
    part("all").setAttribute("aria-expanded", String(!hidden));
  };
  svg.setAttribute("role", "img");
  part("strip").hidden = true;
  part("player").hidden = false;
  svg.pauseAnimations();
  show(begin);
})
