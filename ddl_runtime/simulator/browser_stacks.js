// Stacks of Pyodide that wait for each other. Python begins them, and suspends in suspended().
// A recv() of a socket suspends without a future of asyncio between. How many bytes it asks for
// is the number of the stack that goes on, plus one: so the border is crossed once.
((pyodide, descriptor) => {
  const byte = new Uint8Array([1]);
  const stacks = new Map([[0, { resume: null }]]);
  let running = stacks.get(0);
  const goOn = (stack) => {
    running = stack;
    const { resume, begin } = stack;
    stack.resume = stack.begin = null;
    if (resume) resume(byte);
    else Promise.resolve().then(() => begin.callPromising());
  };
  const suspended = (socket, number) => new Promise((resolve) => {
    running.resume = resolve;
    goOn(stacks.get(number - 1));
  });
  let atOnce = false;
  try {
    const socket = pyodide._module.SOCKFS.getSocket(descriptor);
    socket.sock_ops = Object.assign({}, socket.sock_ops, { recvmsgAsync: suspended });
    atOnce = true;
  } catch (error) {
    // another Pyodide than the one that this was written for: run_sync, which is slower
  }
  return {
    atOnce, suspended,
    begin: (number, body) => { stacks.set(number, { resume: null, begin: body }); },
    over: (number, parent) => { stacks.delete(number); goOn(stacks.get(parent)); },
  };
})
