"use strict";
// What if: answers that can be clicked, and what they say about everything else. Names are only ever set as text.
(() => {
  const BATCH = 36, HIDDEN_BATCH = 12; // cards that are shown at once; the others wait behind a button
  const MOST_STATES = 8; // buttons of a card, likewise
  const MOST_COLUMNS = 12; // columns in the table of a hidden variable

  const box = document.getElementById("asking");
  if (!box) return;
  const { nodes, order, rows } = JSON.parse(document.getElementById("what-if-data").textContent);
  nodes.forEach((node, at) => { node.at = at; node.card = node.states.length || 1; });
  const network = Messages.network({ nodes, order });
  const alone = Messages.ask(network, new Map()); // what is expected without any answer
  const answers = new Map();
  let now = alone;

  const make = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const button = (words, act, attributes = {}) => {
    const made = make("button", { type: "button", ...attributes }, words);
    made.addEventListener("click", act);
    return made;
  };
  const plural = (number, one) => `${number.toLocaleString("en")} ${one}${number === 1 ? "" : "s"}`;
  const percent = (share) => {
    if (Number.isNaN(share)) return "–";
    if (share > 0 && share < 0.005) return "<1%";
    if (share < 1 - 1e-11 && share >= 0.995) return ">99%";
    return `${Math.round(100 * share)}%`;
  };
  const answered = (node, state) => `${nodes[node].name} = ${nodes[node].states[state]}`;
  const moved = (node) => alone.posteriors[node].reduce((sum, share, at) => sum + Math.abs(share - now.posteriors[node][at]), 0);

  // Cards: a node, with a button for each of its states ------------------------------------------------

  const cards = new Map();
  function card(node) {
    if (!cards.has(node.at)) cards.set(node.at, newCard(node));
    return cards.get(node.at);
  }

  function newCard(node) {
    const id = `what-if-${node.at}`, states = make("div", { class: "states" }), note = make("small", { class: "note" });
    const name = button(node.name, () => about(node), { class: "name", id, title: node.hidden ? "Its states in full" : "Its shares in every hidden state" });
    const element = make("div", { class: node.hidden ? "card is-hidden" : "card", role: "group", "aria-labelledby": id }, name, states, note);
    const made = { element, states, note, node, all: false, buttons: [] };
    const shown = () => {
      const many = !made.all && node.card > MOST_STATES;
      const used = [...node.states.keys()].slice(0, many ? MOST_STATES - 1 : node.card);
      made.buttons = used.map((state) => {
        const share = make("span", { class: "share" });
        const one = button("", () => answer(node.at, state), { class: "state", "data-state": state });
        one.append(make("span", { class: "words" }, node.states[state]), share);
        return { state, share, element: one };
      });
      states.replaceChildren(...made.buttons.map((one) => one.element));
      if (many) {
        const rest = button(`${node.card - used.length} more`, () => {
          made.all = true;
          shown();
          update(made);
          made.buttons[used.length].element.focus();
        }, { class: "rest" });
        states.append(rest);
      }
    };
    shown();
    return made;
  }

  function update({ node, buttons, note, element }) {
    const chosen = answers.get(node.at);
    for (const { state, share, element: one } of buttons) {
      const value = now.posteriors[node.at][state];
      share.textContent = percent(value);
      one.style.setProperty("--share", `${Number.isNaN(value) ? 0 : 100 * value}%`);
      one.setAttribute("aria-pressed", chosen === state);
    }
    element.classList.toggle("is-known", chosen !== undefined);
    const expected = chosen === undefined ? NaN : now.expected[node.at][chosen];
    note.textContent = chosen === undefined || answers.size < 2 ? "" : Number.isNaN(expected)
      ? "the other answers are impossible together" : `the other answers give it ${percent(expected)}`;
  }

  // Lists of cards ------------------------------------------------------------------------------------

  const lists = [];
  function list(wanted, batch) {
    const grid = make("div", { class: "cards" }), more = button("", () => { here.limit += 4 * batch; fill(here); }, { class: "further" });
    const here = { wanted, batch, limit: batch, grid, more };
    lists.push(here);
    return make("div", {}, grid, more);
  }

  function fill(here) {
    const words = find.value.trim().toLowerCase();
    let found = here.wanted.filter((node) => node.name.toLowerCase().includes(words));
    if (words && !found.length && here.wanted[0].hidden) found = here.wanted; // the search is for a column
    if (sorting.value === "moved" && answers.size) {
      const by = new Map(found.map((node) => [node, answers.has(node.at) ? Infinity : moved(node.at)]));
      found = [...found].sort((one, other) => (by.get(other) > by.get(one) ? 1 : by.get(other) < by.get(one) ? -1 : one.at - other.at));
    }
    const focused = here.grid.contains(document.activeElement) ? document.activeElement : null;
    const shown = found.slice(0, here.limit).map(card);
    here.grid.replaceChildren(...shown.map((one) => one.element));
    if (!shown.length) here.grid.append(make("p", { class: "quiet" }, "Nothing has a name like this."));
    shown.forEach(update);
    here.more.hidden = found.length <= here.limit;
    here.more.textContent = `Show ${plural(found.length - here.limit, "more")}`.replace(/mores$/, "more");
    focused?.focus({ preventScroll: true });
  }

  // Answers -------------------------------------------------------------------------------------------

  function answer(node, state) {
    if (answers.get(node) === state) answers.delete(node); else answers.set(node, state);
    renew();
  }

  function renew() {
    now = answers.size ? Messages.ask(network, answers) : alone;
    chips.replaceChildren(...[...answers].map(([node, state]) =>
      button(`${answered(node, state)} ×`, () => { answer(node, state); (chips.querySelector("button") ?? find).focus(); },
        { class: "chip", "aria-label": `Take back ${answered(node, state)}` })));
    clear.hidden = !answers.size;
    said.textContent = summary();
    lists.forEach(fill);
  }

  function summary() {
    if (!answers.size) return "No answers yet. The shares are what the model expects of a new row.";
    if (now.logProbability === -Infinity) return "The model rules these answers out together.";
    const share = Math.exp(now.logProbability);
    const how = share >= 0.005 ? percent(share) : share >= 1e-6 ? `${(100 * share).toPrecision(1)}%` : "less than a millionth";
    return `${plural(answers.size, "answer")}: the model expects ${answers.size === 1 ? "it" : "them together"} in ${how} of the rows.`;
  }

  // About a node, in a dialog ---------------------------------------------------------------------------

  // P(any node | each state of one node), by itself; of a state that has no rows it is NaN.
  function given(node) {
    return [...nodes[node].states.keys()].map((state) => Messages.ask(network, new Map([[node, state]])).posteriors);
  }

  function information(shares, within, node) { // in nats
    const overall = alone.posteriors[node];
    return within.reduce((total, posteriors, state) => total + (shares[state] > 0 ? shares[state] * posteriors[node].reduce(
      (sum, share, at) => sum + (share > 0 ? share * Math.log(share / overall[at]) : 0), 0) : 0), 0);
  }

  function about(node) {
    body.replaceChildren(make("h3", { id: "about-title" }, node.name));
    if (node.hidden) aboutHidden(node); else aboutColumn(node);
    openDialog();
  }

  function openDialog() {
    if (!dialog.open) dialog.showModal();
    body.scrollTop = 0;
  }

  function aboutHidden(node) {
    const within = given(node.at), shares = alone.posteriors[node.at];
    body.append(make("p", { class: "quiet" }, `Hidden variable with ${plural(node.card, "state")}.`));
    const first = node.states.map((state, at) => [state, cell(shares[at]), ...(answers.size ? [cell(now.posteriors[node.at][at])] : [])]);
    body.append(table(["State", "Share, by the model", ...(answers.size ? ["Given the answers"] : [])], first));
    const columns = nodes.filter((one) => !one.hidden && one.states.length).map((one) => [information(shares, within, one.at), one]);
    columns.sort(([one], [other]) => other - one);
    const listed = columns.slice(0, MOST_COLUMNS).filter(([nats]) => nats > 1e-6);
    if (!listed.length) return;
    const words = listed.length < columns.length ? `The ${listed.length} columns that say most about it` : "Its columns";
    const lines = listed.flatMap(([, column]) => column.states.map((state, at) => [
      `${column.name} = ${state}`, ...within.map((posteriors, above) => cell(posteriors[column.at][at], interval(column, node, above, at))),
    ]));
    body.append(make("h4", {}, words), table([node.name, ...node.states], lines));
    body.append(make("p", { class: "quiet" }, howSure(lines)));
  }

  function aboutColumn(node) {
    const hidden = nodes.filter((one) => one.hidden);
    body.append(make("p", { class: "quiet" }, `Column with ${node.card === 1 ? "one category" : `${node.card} categories`}.`));
    const box = make("div");
    const show = (above) => {
      const within = above ? given(above.at) : [];
      const lines = within.map((posteriors, state) =>
        [`${above.name} = ${above.states[state]}`, ...node.states.map((_, at) => cell(posteriors[node.at][at], interval(node, above, state, at)))]);
      lines.push(["By the model", ...[...alone.posteriors[node.at]].map((share) => cell(share))]);
      if (answers.size) lines.push(["Given the answers", ...[...now.posteriors[node.at]].map((share) => cell(share))]);
      box.replaceChildren(table(["", ...node.states], lines), make("p", { class: "quiet" }, howSure(lines)));
    };
    let nearest = node;
    while (nearest && !nearest.hidden) nearest = nodes[nearest.parents[0]];
    const chosen = nearest ?? hidden[0];
    if (hidden.length > 1) {
      const choice = make("select", { "aria-label": "Hidden variable" }, ...hidden.map((one) => make("option", { value: one.at }, one.name)));
      choice.value = chosen.at;
      choice.addEventListener("change", () => show(nodes[choice.value]));
      body.append(make("label", {}, "In every state of ", choice));
    }
    body.append(box);
    show(chosen);
  }

  function interval(node, above, state, at) {
    if (!node.low || node.parents.length !== 1 || node.parents[0] !== above.at) return null;
    const place = state * node.card + at;
    return node.low[place] === null ? null : [node.low[place], node.high[place]];
  }

  const howSure = (lines) => (lines.some((line) => line.some((one) => one.querySelector?.("small"))) ? "Small figures: 95% confidence interval." : "");

  function cell(share, between = null) {
    const made = make("td", {}, Number.isNaN(share) ? "–" : share.toFixed(3));
    if (!Number.isNaN(share)) made.style.background = `color-mix(in srgb, var(--accent) ${Math.round(55 * share)}%, transparent)`;
    if (between) made.append(make("small", {}, `${between[0].toFixed(2)}–${between[1].toFixed(2)}`));
    return made;
  }

  function table(head, lines) {
    const heads = head.map((words) => make("th", { scope: "col" }, words));
    const body = lines.map(([first, ...others]) => make("tr", {}, make("th", { scope: "row" }, first), ...others));
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" },
      make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...body)));
  }

  // Rows of the table, if there are some ---------------------------------------------------------------

  function why(row) {
    answers.clear();
    row.codes.forEach((state, at) => { if (state >= 0) answers.set(row.columns[at], state); });
    renew();
    body.replaceChildren(make("h3", { id: "about-title" }, `Row ${row.label}`));
    const share = row.share <= 1e-4 ? "fewer than one in 10,000" : percent(row.share);
    body.append(make("p", {}, `Log-likelihood ${row.log === null ? "−∞: the model rules it out" : row.log.toFixed(2).replace("-", "−")}; of rows drawn from the model, ${share} are at most as likely.`));
    const cells = [...answers].map(([node, state]) => ({ node, state, expected: now.expected[node] }));
    cells.sort((one, other) => one.expected[one.state] - other.expected[other.state]);
    const lines = cells.map(({ node, state, expected }) => {
      const best = expected.reduce((most, value, at) => (value > expected[most] ? at : most), 0);
      const instead = best === state || Number.isNaN(expected[best]) ? "" : `${nodes[node].states[best]} (${percent(expected[best])})`;
      return [answered(node, state), cell(expected[state]), make("td", { class: "words" }, instead)];
    });
    body.append(make("p", { class: "quiet" }, "Its cells, the most surprising first: how likely each is given all others, and what was rather expected."));
    body.append(table(["Cell", "Probability", "Rather expected"], lines));
    openDialog();
  }

  // The page ------------------------------------------------------------------------------------------

  const said = make("p", { id: "said", role: "status" }), chips = make("div", { class: "chips" });
  const clear = button("Clear all", () => { answers.clear(); renew(); find.focus(); }, { id: "clear" });
  const find = make("input", { type: "search", id: "find-column", placeholder: "part of a name" });
  const sorting = make("select", { id: "sorting" }, make("option", { value: "table" }, "as in the table"), make("option", { value: "moved" }, "moved most first"));
  const body = make("div", { class: "about" });
  const dialog = make("dialog", { id: "about", "aria-labelledby": "about-title" }, body);
  const close = button("Close", () => dialog.close(), { class: "close" });
  dialog.append(close);
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  find.addEventListener("input", () => { lists.forEach((one) => { one.limit = one.batch; fill(one); }); });
  sorting.addEventListener("change", () => lists.forEach(fill));

  const hidden = nodes.filter((node) => node.hidden), columns = nodes.filter((node) => !node.hidden && node.states.length);
  const part = (title, wanted, batch, kind) => make("div", { class: kind }, make("h3", {}, title), list(wanted, batch));
  box.append(
    make("div", { class: "known" }, said, chips, clear),
    make("div", { class: "controls no-print" }, make("label", {}, "Find ", find), make("label", {}, "Order ", sorting)),
    make("div", { class: hidden.length ? "halves" : "" },
      ...(hidden.length ? [part("Hidden variables", hidden, HIDDEN_BATCH, "side")] : []), part("Columns", columns, BATCH, "asked")),
    dialog,
  );
  if (rows) {
    const own = rows.list.map((row) => button(row.label, () => why({ ...row, columns: rows.columns }), { class: "row" }));
    box.append(make("h3", {}, "Rows"), make("p", { class: "quiet" }, "Choose one to see why it is unusual; its answers are then those above. The least likely come first."),
      make("div", { class: "chips rows" }, ...own));
  }
  document.addEventListener("click", (event) => { // from the tree and from the topics
    const found = event.target.closest?.("[data-node]");
    if (found) about(nodes[Number(found.dataset.node)]);
  });
  renew();
})();
