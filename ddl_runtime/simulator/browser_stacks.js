// Stacks of Pyodide that wait for each other: body(number) begins one, suspended() suspends it.
// A recv() of a socket suspends without a future of asyncio between. How many bytes it asks for
// is the number of the stack that goes on, plus one: so the border is crossed once.
((pyodide, descriptor, body) => {
  const byte = new Uint8Array([1]);
  const stacks = new Map([[0, { resume: null }]]);
  let running = stacks.get(0);
  const goOn = (number) => {
    const stack = stacks.get(number);
    if (stack) {
      running = stack;
      stack.resume(byte);
      return;
    }
    running = { resume: null };
    stacks.set(number, running);
    Promise.resolve().then(() => body.callPromising(number));
  };
  const suspended = (socket, number) => new Promise((resolve) => {
    running.resume = resolve;
    goOn(number - 1);
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
    over: (number, parent) => { stacks.delete(number); goOn(parent); },
  };
})
