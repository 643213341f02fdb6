"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("numbers").textContent);
  const slider = byId("cut");
  const inputs = { beta: byId("beta"), alarm: byId("cost-fp"), miss: byId("cost-fn") };
  const rows = data.positives + data.negatives;
  const [left, right, top, bottom] = data.frame;

  const short = (x) => {
    const size = Math.abs(x);
    const plain = x === 0 || (size >= 1e-4 && size < 1e4);
    return plain ? String(Number(x.toPrecision(4))) : x.toExponential(3).replace(/\.?0+e/, "e");
  };
  const fixed = (digits) => (x) => x.toFixed(digits);
  const count = (x) => x.toLocaleString("en-US");
  const percent = (x) => (100 * x).toFixed(2) + "%";

  // A number of at least zero, or NaN while the field holds none.
  const read = (input) => {
    const value = input.value.trim() === "" ? NaN : Number(input.value);
    const good = Number.isFinite(value) && value >= 0;
    input.setAttribute("aria-invalid", String(!good));
    return good ? value : NaN;
  };

  const show = (id, value, form) => {
    const element = byId(id);
    element.value = String(value);
    element.textContent = Number.isFinite(value) ? form(value) : "–";
  };

  const counts = (k) => {
    const tp = data.tp[k], fp = data.fp[k];
    return { tp, fp, fn: data.positives - tp, tn: data.negatives - fp };
  };
  const fbeta = (c, beta) => {
    const share = 1 / (1 + beta * beta);
    return c.tp === 0 ? 0 * beta : c.tp / (c.tp + (1 - share) * c.fn + share * c.fp);
  };
  const cost = (c, alarm, miss) => (alarm * c.fp + miss * c.fn) / rows;

  const move = (id, x, y) => {
    const dot = byId(id);
    dot.setAttribute("cx", left + x * (right - left));
    dot.setAttribute("cy", bottom - y * (bottom - top));
  };
  const moveLine = (threshold) => {
    const line = byId("at-histogram");
    const low = Number(line.dataset.low), high = Number(line.dataset.high);
    const share = Math.min(1, Math.max(0, (threshold - low) / (high - low)));
    for (const end of ["x1", "x2"]) line.setAttribute(end, left + share * (right - left));
  };

  const update = () => {
    const k = Number(slider.value);
    const c = counts(k);
    const threshold = data.threshold[k];
    const flagged = c.tp + c.fp;
    const precision = flagged ? c.tp / flagged : NaN;
    const recall = c.tp / data.positives;
    const fpr = c.fp / data.negatives;
    const beta = read(inputs.beta), alarm = read(inputs.alarm), miss = read(inputs.miss);
    byId("cut-value").textContent = short(threshold);
    slider.setAttribute("aria-valuetext", "threshold " + short(threshold));
    for (const name of ["tp", "fp", "fn", "tn"]) {
      show(name, c[name], count);
      const total = name === "tp" || name === "fn" ? data.positives : data.negatives;
      byId("cell-" + name).style.setProperty("--share", (100 * c[name]) / total + "%");
    }
    show("precision", precision, fixed(3));
    show("recall", recall, fixed(3));
    show("fbeta", fbeta(c, beta), fixed(3));
    show("fpr", fpr, fixed(4));
    show("flagged", flagged / rows, percent);
    show("cost", cost(c, alarm, miss), short);
    byId("fbeta-name").textContent = Number.isNaN(beta) ? "F-beta" : "F" + short(beta);
    move("at-roc", fpr, recall);
    move("at-pr", recall, flagged ? precision : 0);
    move("at-gains", flagged / rows, recall);
    moveLine(threshold);
  };

  // Of equally good positions, the one that flags the fewest rows.
  const best = (value) => {
    let chosen = data.tp.length - 1;
    for (let k = chosen - 1; k >= 0; k--) if (value(k) > value(chosen)) chosen = k;
    return chosen;
  };
  const jump = (position) => {
    slider.value = String(position);
    update();
  };

  // The table of all positions, with the beta and the costs that are typed in; Python writes the
  // same one.
  const table = () => {
    const beta = read(inputs.beta), alarm = read(inputs.alarm), miss = read(inputs.miss);
    const cell = (x) => (Number.isFinite(x) ? String(x) : "");
    const lines = data.threshold.map((threshold, k) => {
      const c = counts(k), flagged = c.tp + c.fp;
      return [
        threshold, c.tp, c.fp, c.fn, c.tn, flagged ? c.tp / flagged : NaN, c.tp / data.positives,
        fbeta(c, beta), c.fp / data.negatives, flagged / rows, cost(c, alarm, miss),
      ].map(cell).join(",");
    });
    return [data.exported.join(","), ...lines, ""].join("\n");
  };
  byId("export").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([table()], { type: "text/csv" }));
    link.download = "thresholds.csv";
    link.click();
    URL.revokeObjectURL(link.href);
  });

  slider.addEventListener("input", update);
  for (const input of Object.values(inputs)) input.addEventListener("input", update);
  byId("to-model").addEventListener("click", () => jump(data.chosen));
  byId("to-fbeta").addEventListener("click", () => {
    const beta = read(inputs.beta);
    jump(best((k) => fbeta(counts(k), beta)));
  });
  byId("to-cost").addEventListener("click", () => {
    const alarm = read(inputs.alarm), miss = read(inputs.miss);
    jump(best((k) => -cost(counts(k), alarm, miss)));
  });
  document.documentElement.classList.add("js");
  update();
})();
