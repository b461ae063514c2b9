"use strict";
// Draws the tree, lets it be folded, and shows the table of a node. Names are only ever set as text, never as HTML.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const ROW = 26, GAP = 38, HEIGHT = 20, MARGIN = 12;
  const FIRST_ROWS = 27; // about as many rows as are unfolded in the beginning: those that can be seen at once
  const BATCH = 40; // children that are shown at once; the others wait behind one row
  const WIDEST = 26; // characters of a label

  const byId = (id) => document.getElementById(id);
  const make = (tag, attributes = {}, text) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const draw = (tag, attributes = {}, text) => {
    const drawn = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) drawn.setAttribute(name, value);
    if (text !== undefined) drawn.textContent = text;
    return drawn;
  };
  const plural = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

  function startTree() {
    const { nodes, roots } = JSON.parse(byId("tree-data").textContent);
    const drawing = byId("drawing"), panel = byId("panel");
    const open = new Set(), shown = new Map(); // shown: node (or -1) -> number of its children that are shown
    const children = (node) => (node < 0 ? roots : nodes[node].children);
    const limit = (node) => shown.get(node) ?? BATCH;
    const strongest = Math.max(1e-12, ...nodes.map((node) => node.link));
    const { below, telling } = lookBelow();
    let focused = null; // the key of the row that has the focus, or would get it
    let rows = [];

    // How many columns hang below each node, and which two of them say most about what they hang on.
    function lookBelow() {
      const order = [...roots]; // parents first; the list grows while it is walked
      for (const node of order) order.push(...nodes[node].children);
      const below = new Array(nodes.length).fill(0), telling = nodes.map(() => []);
      for (const node of order.reverse()) {
        const own = nodes[node].children;
        below[node] = own.length ? own.reduce((sum, child) => sum + below[child], 0) : 1;
        const columns = own.length ? own.flatMap((child) => telling[child]) : [node];
        telling[node] = columns.sort((a, b) => nodes[b].link - nodes[a].link).slice(0, 2);
      }
      return { below, telling };
    }

    function inside(node) { // what is folded, in a few words
      const names = telling[node].map((column) => short(nodes[column].name)), others = below[node] - names.length;
      return names.join(", ") + (others > 0 ? ` +${others.toLocaleString("en")}` : "");
    }

    function openFirst() { // level by level, as long as there is room
      let room = FIRST_ROWS - Math.min(roots.length, BATCH);
      const waiting = [...roots];
      for (const node of waiting) {
        const own = children(node).length;
        if (!own) continue;
        const cost = Math.min(own, BATCH) - 1;
        if (cost > room && open.size) continue;
        open.add(node);
        room -= cost;
        waiting.push(...children(node));
      }
      while (layOut().width > drawing.clientWidth) { // and no wider than the window, if a level or two suffice
        const deepest = Math.max(...rows.map((row) => (row.kids.length ? row.level : 0)));
        if (deepest < 3) break;
        for (const row of rows) if (row.level === deepest) open.delete(row.node);
      }
    }

    // A row for every node that can be seen, and for every group of children that waits: parents first, from the top.
    function visible() {
      const found = [], ahead = [{ node: -1, level: 0, parent: null }];
      while (ahead.length) {
        const row = ahead.pop();
        if (row.node >= 0 || row.more) found.push(row);
        if (row.more || (row.node >= 0 && !open.has(row.node))) continue;
        const own = children(row.node), some = own.slice(0, limit(row.node));
        const next = some.map((node) => ({ node, key: String(node), level: row.level + 1, parent: row }));
        if (some.length < own.length) {
          next.push({ node: -1, more: own.length - some.length, of: row.node, key: `more${row.node}`, level: row.level + 1, parent: row });
        }
        next.forEach((one, at) => { one.place = at + 1; one.among = next.length; });
        ahead.push(...next.reverse());
      }
      return found;
    }

    const short = (text) => (text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text);
    const title = (row) => (row.more ? `${row.more.toLocaleString("en")} more` : short(nodes[row.node].name));
    const size = (row) => (row.more || !nodes[row.node].hidden || nodes[row.node].facts ? "" : String(nodes[row.node].card));

    const ruler = document.createElement("canvas").getContext("2d");
    ruler.font = "600 14px system-ui, -apple-system, Segoe UI, Roboto, Arial, sans-serif";
    const measured = (text) => Math.ceil(ruler.measureText(text).width);
    const widthOf = (row) => measured(title(row)) + (size(row) ? 23 + measured(size(row)) : 18);

    const outside = (row) => {
      if (row.more || !nodes[row.node].children.length) return 0;
      return open.has(row.node) ? 20 : 24 + measured(inside(row.node));
    };

    function layOut() {
      rows = visible();
      const widest = [];
      let y = MARGIN + ROW / 2;
      for (const row of rows) {
        row.kids = [];
        row.width = widthOf(row);
        widest[row.level] = Math.max(widest[row.level] ?? 0, row.width);
        if (row.parent && row.parent.kids) row.parent.kids.push(row);
      }
      for (const row of rows) if (!row.kids.length) { row.y = y; y += ROW; }
      for (const row of [...rows].reverse()) if (row.kids.length) row.y = (row.kids[0].y + row.kids.at(-1).y) / 2;
      const left = [MARGIN, MARGIN];
      for (let level = 1; level < widest.length; level++) left[level + 1] = left[level] + widest[level] + GAP;
      for (const row of rows) row.x = left[row.level];
      return { width: Math.max(...rows.map((row) => row.x + row.width + outside(row))) + MARGIN, height: y + MARGIN - ROW / 2 };
    }

    function render(keepFocus) {
      const { width, height } = layOut();
      const svg = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "tree", "aria-label": "The tree" });
      const edges = draw("g", { "aria-hidden": "true" });
      svg.append(edges);
      if (!rows.some((row) => row.key === focused)) focused = rows[0].key;
      for (const row of rows) {
        if (row.parent && row.parent.kids) edges.append(edge(row));
        svg.append(item(row));
      }
      drawing.replaceChildren(svg);
      if (keepFocus) focus(focused);
    }

    function edge(row) {
      const from = row.parent.x + row.parent.width + 14, middle = (from + row.x) / 2;
      const link = row.more ? 0 : nodes[row.node].link;
      return draw("path", {
        class: "edge", d: `M${from} ${row.parent.y}C${middle} ${row.parent.y} ${middle} ${row.y} ${row.x} ${row.y}`,
        "stroke-width": (1 + 6 * Math.sqrt(link / strongest)).toFixed(1),
      });
    }

    function item(row) {
      const node = row.more ? null : nodes[row.node], inner = node && node.children.length > 0;
      const kind = row.more ? "more" : node.hidden ? "is-hidden" : "is-column";
      const group = draw("g", {
        class: `item ${kind}`, role: "treeitem", "data-key": row.key, transform: `translate(${row.x} ${row.y})`,
        tabindex: row.key === focused ? 0 : -1, "aria-level": row.level, "aria-posinset": row.place, "aria-setsize": row.among,
        "aria-label": spoken(row),
      });
      if (inner) group.setAttribute("aria-expanded", open.has(row.node));
      group.append(draw("rect", { class: "box", x: 0, y: -HEIGHT / 2, width: row.width, height: HEIGHT, rx: node && node.hidden ? 10 : 3 }));
      group.append(draw("text", { x: 9, y: 0.5 }, title(row)));
      if (size(row)) group.append(draw("text", { class: "size", x: row.width - 9, y: 0.5, "text-anchor": "end" }, size(row)));
      if (inner) {
        const middle = row.width + 8;
        group.append(draw("circle", { class: "toggle", cx: middle, cy: 0, r: 6.5 }));
        const upright = open.has(row.node) ? "" : `M${middle} -3.5V3.5`;
        group.append(draw("path", { class: "sign", d: `M${middle - 3.5} 0H${middle + 3.5}${upright}` }));
        if (!open.has(row.node)) {
          group.append(draw("text", { class: "size outside", x: middle + 12, y: 0.5 }, inside(row.node)));
        }
      }
      return group;
    }

    function spoken(row) {
      if (row.more) return `${plural(row.more, "further child", "further children")}, press Enter to show`;
      const node = nodes[row.node];
      const states = () => (node.hidden ? plural(node.card, "state") : plural(node.card, "category", "categories"));
      const kind = (node.hidden ? "hidden variable" : "column") + (node.facts ? "" : `, ${states()}`);
      const folded = node.children.length && !open.has(row.node) ? `, with ${plural(below[row.node], "column")} folded` : "";
      return `${node.name}, ${kind}${folded}`;
    }

    const rowOf = (key) => rows.find((row) => row.key === key);
    const elementOf = (key) => drawing.querySelector(`[data-key="${key}"]`);

    function focus(key) {
      const old = elementOf(focused), now = elementOf(key);
      if (old) old.setAttribute("tabindex", -1);
      focused = key;
      if (!now) return;
      now.setAttribute("tabindex", 0);
      now.focus({ preventScroll: true });
      now.scrollIntoView({ block: "nearest", inline: "nearest" });
    }

    function toggle(row, wanted) {
      if (row.more) {
        shown.set(row.of, limit(row.of) + 5 * BATCH);
        render(true);
        return;
      }
      if (!nodes[row.node].children.length) return;
      const opening = wanted ?? !open.has(row.node);
      if (opening) open.add(row.node); else open.delete(row.node);
      focused = row.key;
      render(true);
    }

    function tell(row) { // the table of a node, beside the tree
      for (const old of drawing.querySelectorAll(".chosen")) old.classList.remove("chosen");
      elementOf(row.key)?.classList.add("chosen");
      if (row.more) return;
      const node = nodes[row.node], above = node.parent < 0 ? null : nodes[node.parent];
      panel.replaceChildren(make("h3", {}, node.name));
      if (node.facts) panel.append(make("p", { class: "quiet" }, node.hidden ? "Hidden variable." : "Column."), numbers(node));
      else tellStates(node, above);
      if (node.anchor && byId(node.anchor)) {
        const more = make("p");
        more.append(make("a", { href: `#${node.anchor}` }, "What it is about"));
        panel.append(more);
      }
      if (byId("asking")) {
        const ask = make("p");
        ask.append(make("button", { type: "button", "data-node": row.node }, node.hidden ? "Its states in full" : "In every hidden state"));
        panel.append(ask);
      }
    }

    function numbers(node) { // of a model of numbers
      const table = make("table"), body = make("tbody");
      for (const [words, value] of node.facts) {
        const row = make("tr");
        row.append(make("th", { scope: "row" }, words), make("td", {}, value));
        body.append(row);
      }
      table.append(body);
      return table;
    }

    function tellStates(node, above) { // of a model of categories
      const kind = node.hidden ? `Hidden variable with ${plural(node.card, "state")}` : `Column with ${plural(node.card, "category", "categories")}`;
      const where = above ? `, given ${above.name}` : "";
      panel.append(make("p", { class: "quiet" }, `${kind}${where}. Probabilities by the model.`), probabilities(node, above));
      if (node.cut) panel.append(make("p", { class: "quiet" }, "The table is larger than shown."));
      if (above) panel.append(make("p", { class: "quiet" }, `Says ${node.link.toFixed(3)} nats about ${above.name}.`));
    }

    function probabilities(node, above) {
      const box = make("div", { class: "scroll" }), table = make("table"), head = make("tr"), body = make("tbody");
      const upright = !above; // one distribution: a row per state
      if (upright) {
        node.states.forEach((state, at) => body.append(line(state, [node.table[0][at]])));
      } else {
        head.append(make("th", { scope: "col" }, ""));
        node.states.forEach((state) => head.append(make("th", { scope: "col" }, state)));
        const headBox = make("thead");
        headBox.append(head);
        table.append(headBox);
        node.table.forEach((shares, at) => body.append(line(`${above.name} = ${above.states[at]}`, shares)));
      }
      table.append(body);
      box.append(table);
      return box;
    }

    function line(words, shares) {
      const row = make("tr");
      row.append(make("th", { scope: "row" }, words));
      for (const share of shares) {
        const cell = make("td", {}, share.toFixed(3));
        cell.style.background = `color-mix(in srgb, var(--accent) ${Math.round(55 * share)}%, transparent)`;
        row.append(cell);
      }
      return row;
    }

    const KEYS = {
      ArrowDown: (at) => rows[at + 1],
      ArrowUp: (at) => rows[at - 1],
      Home: () => rows[0],
      End: () => rows.at(-1),
      ArrowRight: (at, row) => (row.kids.length ? row.kids[0] : (toggle(row, true), null)),
      ArrowLeft: (at, row) => {
        if (!row.more && open.has(row.node)) return toggle(row, false), null;
        return row.parent && row.parent.kids ? row.parent : null;
      },
      Enter: (at, row) => (toggle(row), null),
      " ": (at, row) => (toggle(row), null),
    };

    const touched = (event) => {
      const found = event.target.closest?.(".item");
      return found ? rowOf(found.dataset.key) : null;
    };
    drawing.addEventListener("keydown", (event) => {
      const row = touched(event);
      if (!row || !(event.key in KEYS) || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      const to = KEYS[event.key](rows.indexOf(row), row);
      if (to) focus(to.key);
    });
    drawing.addEventListener("click", (event) => {
      const row = touched(event);
      if (!row) return;
      focus(row.key);
      toggle(row);
    });
    for (const kind of ["pointerover", "focusin"]) {
      drawing.addEventListener(kind, (event) => {
        const row = touched(event);
        if (row) tell(row);
      });
    }
    byId("unfold").addEventListener("click", () => {
      nodes.forEach((node, at) => { if (node.children.length) open.add(at); });
      render(false);
    });
    byId("fold").addEventListener("click", () => { open.clear(); shown.clear(); render(false); });
    byId("find").addEventListener("change", (event) => {
      const wanted = event.target.value.trim().toLowerCase();
      if (!wanted) return;
      const names = nodes.map((node) => node.name.toLowerCase());
      const at = [names.indexOf(wanted), names.findIndex((name) => name.startsWith(wanted)), names.findIndex((name) => name.includes(wanted))].find((one) => one >= 0);
      event.target.setCustomValidity(at === undefined ? "No node has a name like this." : "");
      event.target.reportValidity();
      if (at !== undefined) reveal(at);
    });

    function reveal(node) {
      for (let child = node, above = nodes[node].parent; ; child = above, above = nodes[above].parent) {
        const place = children(above).indexOf(child);
        if (place >= limit(above)) shown.set(above, place + 1);
        if (above < 0) break;
        open.add(above);
      }
      focused = String(node);
      render(true);
    }

    openFirst();
    render(false);
    if (rows.length) tell(rows[0]);
  }

  function startCopying() {
    const button = byId("copy");
    button.addEventListener("click", async () => {
      const code = byId("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code); // pages that were opened as files may not be allowed more
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  if (byId("tree-data")) startTree();
  if (byId("copy")) startCopying();
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details")) part.open = true;
  });
})();
