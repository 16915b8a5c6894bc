// Python for the cells of one page: gets their code, and gives what they show as HTML.
import { loadPyodide } from "../try/static/pyodide/pyodide.mjs";

const folder = new URL("../try/static/pyodide/", import.meta.url).href;

const prepared = (async () => {
  const environment = { HOME: "/home/pyodide", DDL_TEACH_DATA: "/home/pyodide/your_progress" };
  const pyodide = await loadPyodide({ indexURL: folder, env: environment });
  await pyodide.loadPackage("ddl-teach", { messageCallback: () => {} });
  for (const name of ["outputs", "kernel"]) {
    const text = await (await fetch(new URL(`${name}.py`, import.meta.url))).text();
    pyodide.FS.writeFile(`/home/pyodide/${name}.py`, text);
  }
  return pyodide.runPythonAsync("from kernel import run; run");
})();

onmessage = async ({ data }) => {
  try {
    const run = await prepared;
    postMessage({ html: await run.callPromising(data), failed: "" });
  } catch (error) {
    postMessage({ html: "", failed: `Python did not start: ${error.message ?? error}` });
  }
};
