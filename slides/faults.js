(smallest, smallestDrawn, leastContrast) => {
  const found = [];
  const rgb = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = rgb(colour).slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let it = element; it; it = it.parentElement) {
      const colour = getComputedStyle(it).backgroundColor, parts = rgb(colour);
      if (parts.length < 4 || parts[3] > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  document.body.classList.remove("one-by-one");
  document.querySelectorAll("section").forEach((section, place) => {
    const slide = section.querySelector(".slide"), edges = slide.getBoundingClientRect();
    let tiny = null;
    const told = (what) => found.push(`slide ${place + 1}: ${what}`);
    for (const element of slide.querySelectorAll("*")) {
      // What is not drawn, or not yet, has no place.
      if (element.closest("defs") || getComputedStyle(element).visibility === "hidden") continue;
      const box = element.getBoundingClientRect(), style = getComputedStyle(element);
      const words = [...element.childNodes].filter((it) => it.nodeType === 3)
        .map((it) => it.textContent.trim()).join(" ").trim();
      const name = words ? `“${words.slice(0, 40)}”` : `<${element.tagName.toLowerCase()}>`;
      const drawn = element.ownerSVGElement;
      if (box.right > edges.right + 1 || box.bottom > edges.bottom + 1 || box.left < edges.left - 1
          || element.scrollWidth > element.clientWidth + 1 && element.tagName === "PRE") {
        if (!drawn || words) told(`${name} reaches beyond the slide`);
      }
      if (drawn && element.tagName === "text" && words) {
        const room = drawn.getBoundingClientRect();
        if (box.right > room.right + 2 || box.left < room.left - 2) told(`${name} is cut off`);
      }
      if (element.tagName === "IMG" && !(element.complete && element.naturalWidth)) {
        told(`the picture ${element.src} is missing`);
      }
      if (element.tagName === "IMG" && !element.alt) told(`the picture ${element.src} has no text`);
      if (element.tagName === "svg" && box.height < 200) told("a figure has no room");
      const link = element.getAttribute("href") || "";
      if (link.startsWith("#") && !drawn && !document.getElementById(link.slice(1))) {
        told(`the link ${link} leads nowhere`);
      }
      if (!words || element.closest("math") || drawn && element.tagName !== "text") continue;
      const scale = drawn ? Math.hypot(element.getScreenCTM().a, element.getScreenCTM().b) : 1;
      const size = parseFloat(style.fontSize) * scale;
      const least = drawn ? smallestDrawn : smallest;
      if (size < least && (!tiny || size < tiny.size)) tiny = { name, size, least };
      const ratio = contrast(drawn ? style.fill : style.color, behind(drawn || element));
      if (!drawn && ratio < leastContrast) told(`${name} has a contrast of ${ratio.toFixed(1)}`);
    }
    if (tiny) told(`${tiny.name} is ${tiny.size.toFixed(1)} px high, and not ${tiny.least}`);
    if (slide.matches(".title")) return;  // its parts stand beside each other
    const parts = [...slide.children].filter((it) => !it.matches(".number"));
    parts.slice(1).forEach((it, before) => {
      const above = parts[before].getBoundingClientRect(), below = it.getBoundingClientRect();
      if (below.top < above.bottom - 1) told("two parts lie over each other");
    });
    const last = parts[parts.length - 1].getBoundingClientRect();
    if (last.bottom > edges.bottom - 20) told("it is too full");
  });
  return found;
}
