// Runs in the page before anything of its own: how long frames, tasks and answers to input take.
(() => {
  const probe = { on: false, since: 0, gaps: [], tasks: [], inputs: [], empty: 0, shown: null };
  window.probe = probe;
  let last = 0;
  const frame = () => {
    const now = performance.now();
    if (probe.on && last > probe.since) probe.gaps.push(now - last);
    if (probe.on && probe.holes?.()) probe.empty += 1;
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  new PerformanceObserver((seen) => {
    for (const { startTime, duration } of seen.getEntries()) if (probe.on && startTime >= probe.since) probe.tasks.push(duration);
  }).observe({ type: "longtask" });

  // From the moment at which the browser got a key or a click until the frame with the answer is out: the next one begins.
  const heard = ({ timeStamp }) => {
    if (!probe.on) return;
    const out = () => probe.inputs.push(performance.now() - timeStamp);
    requestAnimationFrame(() => requestAnimationFrame(out));
  };
  for (const type of ["keydown", "pointerdown"]) addEventListener(type, heard, { capture: true, passive: true });

  // When the first conversation of the list was drawn.
  const look = () => {
    if (document.querySelector('a[href^="/inbox/"]') === null) requestAnimationFrame(look);
    else probe.shown = performance.now();
  };
  requestAnimationFrame(look);

  // Set-up: with it, a list is read in as large pages as the server gives.
  const { fetch } = window;
  window.fetch = (url, how) => {
    const isList = probe.large && /\/conversations(\?|$)/.test(url);
    return fetch(isList ? `${url}${url.includes("?") ? "&" : "?"}limit=200` : url, how);
  };

  probe.start = (box) => {
    Object.assign(probe, { gaps: [], tasks: [], inputs: [], empty: 0, since: performance.now(), on: true });
    probe.holes = box && (() => {
      const { left, top, width, height } = document.querySelector(box).getBoundingClientRect();
      return [0.2, 0.5, 0.8].some((part) => document.elementFromPoint(left + width / 2, top + height * part)?.closest("a") == null);
    });
  };
  probe.stop = () => {
    probe.on = false;
    const heap = performance.memory?.usedJSHeapSize ?? 0;
    const { gaps, tasks, inputs, empty } = probe;
    return { gaps, tasks, inputs, empty, heap };
  };
})();
