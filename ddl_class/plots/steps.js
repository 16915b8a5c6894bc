// The player of an all-reduce's steps: buttons, a slider, and the drawing of one step.
//
// `root` is the player's element and `data` what steps.py wrote: colours, words for each
// step, messages [source, dest, bytes], sizes sent so far, and for each step the boxes that
// changed as [rank, chunk, counts]. Nothing is loaded, and nothing outside of `root` is touched.
(function (root, data) {
  "use strict";
  const STEP = 1400; // milliseconds that a step takes while it plays
  const INK = "#333333", EMPTY = "#ececec", WRONG = "#cc0000", NEW = "#e69f00";
  const {ranks, chunks, colours, words, messages, changes, sizes} = data;
  const last = words.length - 1;
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

  const column = Math.max(52, Math.min(120, 880 / ranks));
  const box = {width: column * 0.84, height: chunks <= 8 ? 26 : 16};
  const left = 62; // of it the names of chunks
  const far = ([from, to]) => Math.abs(to - from) / Math.max(ranks - 1, 1);
  const rise = (message) => 26 + 128 * far(message); // of the point that bends an arc
  const room = (upwards) => Math.max(0, ...messages.flat()
    .filter(([from, to]) => upwards === to > from).map((message) => rise(message) / 2 + 16));
  const top = room(true) + 8, bottom = top + chunks * (box.height + 4);
  const width = left + column * ranks + 6, height = bottom + room(false) + 48;
  const middle = (rank) => left + column * (rank + 0.5);

  // What every rank holds after each step: the changes, one after the other.
  const held = [];
  for (const list of changes) {
    const now = held.length ? held[held.length - 1].map((row) => row.slice())
      : Array.from({length: ranks}, () => Array(chunks).fill(""));
    for (const [rank, chunk, counts] of list) now[rank][chunk] = counts;
    held.push(now);
  }

  function shape(tag, look, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const name in look) element.setAttribute(name, look[name]);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function label(x, y, text, look) {
    const halo = {stroke: "white", "stroke-width": 3, "paint-order": "stroke"};
    return shape("text", {x, y, "text-anchor": "middle", fill: INK, ...halo, ...look}, text);
  }

  function drawBox(rank, chunk, step) {
    const counts = held[step][rank][chunk];
    const isNew = step > 0 && counts !== held[step - 1][rank][chunk];
    const known = counts !== "?";
    const numbers = known ? counts.split(",").map(Number) : [];
    const wrong = !known || numbers.some((count) => count > 1);
    const finished = known && numbers.every((count) => count === 1);
    const x = middle(rank) - box.width / 2, y = top + chunk * (box.height + 4);
    const group = shape("g", {});
    if (isNew) {
      const around = {x: x - 3, y: y - 2, width: box.width + 6, height: box.height + 4, rx: 4};
      group.append(shape("rect", {...around, fill: NEW}));
    }
    group.append(shape("rect", {x, y, width: box.width, height: box.height, fill: EMPTY}));
    const slot = box.width / ranks;
    numbers.forEach((count, from) => {
      if (count < 1) return;
      const place = {x: x + from * slot, y, width: slot + 0.2, height: box.height};
      group.append(shape("rect", {...place, fill: colours[from].fill}));
      if (slot >= 9 && !wrong) {
        const at = {"font-size": 10, fill: colours[from].ink, stroke: "none"};
        group.append(label(x + (from + 0.5) * slot, y + box.height / 2 + 4, from, at));
      }
    });
    const edge = wrong ? {stroke: WRONG, "stroke-width": 3}
      : finished ? {stroke: "black", "stroke-width": 2} : {stroke: "#b0b0b0", "stroke-width": 1};
    const frame = {x, y, width: box.width, height: box.height, fill: "none", ...edge};
    group.append(shape("rect", frame));
    if (wrong) {
      const most = Math.max(...numbers), who = numbers.indexOf(most);
      const text = !known ? "no sum" : column > 80 ? `rank ${who} ${most}×` : `${most}×`;
      const look = {fill: WRONG, "font-weight": "bold", "font-size": 12};
      group.append(label(middle(rank), y + box.height / 2 + 4, text, look));
    }
    return group;
  }

  // Above the boxes to higher ranks, below them to lower ones; t runs from 0 to 1 along the way.
  function route([from, to]) {
    const base = to > from ? top - 4 : bottom + 2;
    const bend = rise([from, to]) * (to > from ? -1 : 1);
    const [x0, x1, x2] = [middle(from), (middle(from) + middle(to)) / 2, middle(to)];
    const at = (t) => [
      (1 - t) ** 2 * x0 + 2 * t * (1 - t) * x1 + t ** 2 * x2,
      base + 2 * t * (1 - t) * bend,
    ];
    const angle = Math.atan2(-bend, x2 - x1);
    const wing = (turn) => `${x2 - 9 * Math.cos(angle + turn)},${base - 9 * Math.sin(angle + turn)}`;
    return {at, path: `M${x0},${base} Q${x1},${base + bend} ${x2},${base}`,
      head: `${x2},${base} ${wing(0.45)} ${wing(-0.45)}`};
  }

  // The picture of a step: all messages on their way (share < 1), or arrived (share 1).
  function draw(step, share) {
    const shown = share < 1 ? step - 1 : step;
    const shapes = [];
    for (let rank = 0; rank < ranks; rank++) {
      for (let chunk = 0; chunk < chunks; chunk++) shapes.push(drawBox(rank, chunk, shown));
      const look = {x: middle(rank) - 10, y: height - 38, width: 20, height: 17, rx: 3};
      shapes.push(shape("rect", {...look, fill: colours[rank].fill}));
      const ink = {fill: colours[rank].ink, stroke: "none", "font-weight": "bold"};
      shapes.push(label(middle(rank), height - 25, rank, ink));
      shapes.push(label(middle(rank), height - 6, sizes[shown][rank], {"font-size": 11}));
    }
    const names = {"font-size": 11, "text-anchor": "end", fill: "#666666"};
    for (let chunk = 0; chunk < chunks; chunk++) {
      const y = top + chunk * (box.height + 4) + box.height / 2 + 4;
      shapes.push(label(left - 4, y, `chunk ${chunk}`, names));
    }
    shapes.push(label(left - 4, height - 25, "rank", names));
    shapes.push(label(left - 4, height - 6, "has sent", names));
    for (const [from, to, text] of messages[step]) {
      const {at, path, head} = route([from, to]), colour = colours[from].fill;
      shapes.push(shape("path", {d: path, fill: "none", stroke: colour, "stroke-width": 2.5}));
      shapes.push(shape("polygon", {points: head, fill: colour}));
      const [x, y] = at(0.5);
      shapes.push(label(x, y + (to > from ? -4 : 12), text, {"font-size": 11}));
      if (share < 1) {
        const [cx, cy] = at(share);
        shapes.push(shape("circle", {cx, cy, r: 7, fill: colour, stroke: "white"}));
      }
    }
    svg.replaceChildren(...shapes);
  }

  const find = (name) => root.querySelector(`[data-part="${name}"]`);
  const svg = shape("svg", {viewBox: `0 0 ${width} ${height}`, role: "img",
    "font-size": 13, "font-family": "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"});
  svg.style.cssText = `width: 100%; max-width: ${width}px; display: block; background: white`;
  find("stage").append(svg);

  let step = 0, playing = 0; // playing: the number of the running animation, or 0
  function show(next, share = 1) {
    step = Math.max(0, Math.min(last, next));
    draw(step, share);
    svg.setAttribute("aria-label", words[step]);
    find("words").textContent = words[step];
    find("counter").textContent = `step ${step} of ${last}`;
    find("slider").value = step;
    find("slider").setAttribute("aria-valuetext", `step ${step} of ${last}`);
    // A button that were disabled would lose the focus of who works by keys.
    find("back").setAttribute("aria-disabled", String(step === 0));
    find("forward").setAttribute("aria-disabled", String(step === last));
  }
  function pause() {
    if (playing) cancelAnimationFrame(playing);
    playing = 0;
    find("play").textContent = "▶ play";
  }
  function play() {
    find("play").textContent = "❚❚ pause";
    let begun = null, target = step === last ? 1 : step + 1;
    if (step === last) show(0);
    const frame = (now) => {
      if (!root.isConnected) return pause();
      begun ??= now;
      // Without motion a step is simply there; with it, messages travel for two thirds of it.
      const passed = (now - begun) / STEP, share = calm.matches ? 1 : Math.min(1, passed * 1.5);
      if (target !== step || share < 1) show(target, share);
      else draw(step, 1);
      if (passed >= 1) {
        begun = now;
        if (++target > last) return pause();
      }
      playing = requestAnimationFrame(frame);
    };
    playing = requestAnimationFrame(frame);
  }
  // Keys pressed on a control are its own, not the notebook's around it.
  for (const control of root.querySelectorAll("button, input")) {
    control.setAttribute("data-lm-suppress-shortcuts", "true");
  }
  const go = (next) => { pause(); show(next); };
  find("back").onclick = () => go(step - 1);
  find("forward").onclick = () => go(step + 1);
  find("play").onclick = () => { if (playing) { go(step); } else play(); };
  find("slider").oninput = (event) => go(Number(event.target.value));
  find("all").onclick = () => {
    const hidden = find("strip").hidden = !find("strip").hidden;
    find("all").setAttribute("aria-expanded", String(!hidden));
  };
  find("strip").hidden = true;
  find("player").hidden = false;
  show(0);
})
