// Python for the cells of one page: gets their code, and gives what they show as HTML.
import { loadPyodide } from "../try/static/pyodide/pyodide.mjs";

const folder = new URL("../try/static/pyodide/", import.meta.url).href;

const prepared = (async () => {
  const environment = { DDL_TEACH_DATA: "/course/your_progress" };
  const pyodide = await loadPyodide({ indexURL: folder, env: environment });
  await pyodide.loadPackage("ddl-teach", { messageCallback: () => {} });
  pyodide.FS.mkdirTree("/course");
  for (const name of ["outputs", "kernel"]) {
    const text = await (await fetch(new URL(`${name}.py`, import.meta.url))).text();
    pyodide.FS.writeFile(`/course/${name}.py`, text);
  }
  const begin = "import sys; sys.path.append('/course'); from kernel import run; run";
  return pyodide.runPythonAsync(begin);
})();

onmessage = async ({ data }) => {
  try {
    const run = await prepared;
    postMessage({ html: await run.callPromising(data), failed: "" });
  } catch (error) {
    postMessage({ html: "", failed: `Python did not start: ${error.message ?? error}` });
  }
};
