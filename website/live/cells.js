// Cells of a page of the book that one can change and run, in Pyodide, in a worker of this page.
// A press on Run runs the cells above that have not run yet, and then this one. Above, an exercise
// that its reader has not changed is run with the solution.
(() => {
  const { src, dataset: { needs } } = document.currentScript;
  const hasStacks = "Suspending" in WebAssembly && "promising" in WebAssembly;
  const STOPPED = "Stopped. What cells have made is gone.";
  const cells = [];
  let worker = null;
  let answered = null;
  let busy = false;

  const made = (name, inside, words) => {
    const element = document.createElement(name);
    inside.before(element);
    element.textContent = words;
    return element;
  };

  const stopped = (words) => {
    worker?.terminate();
    worker = null;
    for (const cell of cells) cell.ran = null;
    answered?.({ html: "", failed: words });
  };

  const started = () => {
    worker = new Worker(new URL("worker.mjs", src), { type: "module" });
    worker.onmessage = ({ data }) => (data.failed ? stopped(data.failed) : answered(data));
    worker.onerror = (event) => {
      event.preventDefault();
      const served = "python -m website --serve";
      stopped(location.protocol === "file:"
        ? `Cells run on pages that are served (${served}), not in files.`
        : `Python did not start: ${event.message ?? "a file is missing"}.`);
    };
  };

  const asked = (code) => new Promise((resolve) => {
    answered = resolve;
    if (!worker) started();
    worker.postMessage(code);
  });

  const run = async (cell, code) => {
    const shown = cell.code();
    const { html, failed } = await asked(code);
    if (failed) return failed;
    cell.ran = shown;
    cell.shown.innerHTML = html;
    for (const still of cell.shown.querySelectorAll("script")) {  // a moving picture's
      const script = document.createElement("script");
      script.textContent = still.textContent;
      still.replaceWith(script);  // only what is put in like this runs
    }
    cell.shown.hidden = !html;
    if (cell.before) cell.before.hidden = true;
    return "";
  };

  const pressed = async (cell) => {
    if (busy) return stopped(STOPPED);
    if (!hasStacks) {
      cell.state.textContent = "This browser cannot run simulated ranks. Chrome and Edge can, "
        + "from version 137 on.";
      return;
    }
    busy = true;
    cell.button.textContent = "Stop";
    const first = "Python is loaded: the first time takes a while ...";
    cell.state.textContent = worker ? "runs ..." : first;
    let failed = "";
    for (const above of cells.slice(0, cells.indexOf(cell))) {
      const code = above.code();
      if (above.ran === code) continue;  // what its reader changed since runs again
      failed = await run(above, code === above.first ? above.solution ?? code : code);
      if (failed) break;
    }
    failed ||= await run(cell, cell.code());
    const noPython = failed && failed !== STOPPED;  // a new press starts another one
    cell.button.textContent = noPython ? "Try again" : "Run";
    cell.state.textContent = failed;
    busy = false;
  };

  for (const block of document.querySelectorAll(".highlight-python")) {
    const pre = block.querySelector("pre");
    if (block.closest(".solution") || new RegExp(needs).test(pre.innerText)) continue;
    let after = block.nextElementSibling;
    let solution;
    if (after?.matches(".solution")) {
      solution = after.querySelector("pre").textContent;
      after = after.nextElementSibling;
    }
    const bar = document.createElement("p");
    bar.className = "live";
    block.after(bar);
    const shown = document.createElement("div");
    shown.className = "output";
    shown.hidden = true;
    bar.after(shown);
    const end = bar.appendChild(document.createElement("span"));
    const button = made("button", end, "Run");
    const state = made("span", end, "");
    state.setAttribute("role", "status");
    button.type = "button";
    pre.contentEditable = "plaintext-only";
    pre.spellcheck = false;
    pre.setAttribute("role", "textbox");
    pre.setAttribute("aria-multiline", "true");
    pre.setAttribute("aria-label", `Code of cell ${cells.length + 1}, which you can change`);
    const code = () => pre.innerText.replace(/\n$/, "");
    const cell = {
      button, state, shown, solution, code, first: code(), ran: null,
      before: after?.matches(".output") ? after : null,
    };
    button.setAttribute("aria-label", `Run cell ${cells.length + 1}`);
    button.onclick = () => pressed(cell);
    pre.onkeydown = (event) => {
      if (event.key === "Enter" && event.shiftKey) {
        event.preventDefault();
        if (!busy) pressed(cell);
      }
    };
    cells.push(cell);
  }
})();
