// Runs Python files in Pyodide under Node: node node_stacks.mjs PYODIDE MOUNTS FILE [WORDS ...]
// MOUNTS is JSON: a folder of Pyodide's for each folder of this machine.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , home, mounts, file, ...words] = process.argv;
const { loadPyodide } = await import(pathToFileURL(`${home}/pyodide.mjs`).href);
if (process.env.WITHOUT_JSPI) {
  delete WebAssembly.Suspending;
  delete WebAssembly.promising;
}
const pyodide = await loadPyodide({ indexURL: `${home}/` });
for (const [there, here] of Object.entries(JSON.parse(mounts))) {
  pyodide.FS.mkdirTree(there);
  pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: here }, there);
}
pyodide.globals.set("words", pyodide.toPy(words));
try {
  await pyodide.runPythonAsync(readFileSync(file, "utf8"), { filename: file });
} catch (error) {
  console.log(String(error.message ?? error));
  process.exit(1);
}
process.exit(0);
