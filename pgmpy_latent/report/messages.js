"use strict";
// Exact posteriors of a discrete network given some answers, by messages between cliques. Knows nothing of the page.
//
// A model is { nodes: [{ card, parents: [node, ...], table: [...] }], order: [node, ...] }: tables have a row per
// combination of the parents' states, the last parent running fastest; the order says when each node is summed out. All
// is computed in logarithms, so that no number of columns can underflow. The logarithm of 0 is kept apart as a count of
// zeros, so that a factor can be taken out of a product again.
const Messages = (() => {
  // A product in logarithms: sums of the finite ones, and how many factors are 0.
  const ones = (size) => ({ sum: new Float64Array(size), zeros: new Int32Array(size) });
  const copied = ({ sum, zeros }) => ({ sum: sum.slice(), zeros: zeros.slice() });
  const logsOf = ({ sum, zeros }) => sum.map((log, at) => (zeros[at] ? -Infinity : log));

  function multiply(product, places, logs, sign) { // sign 1 takes the factor in, -1 takes it out again
    for (let at = 0; at < places.length; at++) {
      const log = logs[places[at]];
      if (log === -Infinity) product.zeros[at] += sign; else product.sum[at] += sign * log;
    }
  }

  // Logarithms of the sums over all entries that share a place in the smaller table.
  function summedTo(size, places, logs) {
    const highest = new Float64Array(size).fill(-Infinity), sums = new Float64Array(size);
    for (let at = 0; at < places.length; at++) highest[places[at]] = Math.max(highest[places[at]], logs[at]);
    for (let at = 0; at < places.length; at++) {
      if (logs[at] > -Infinity) sums[places[at]] += Math.exp(logs[at] - highest[places[at]]);
    }
    return sums.map((sum, at) => (sum > 0 ? highest[at] + Math.log(sum) : -Infinity));
  }

  // The place of every entry of a clique in the table of some of its nodes, of which the last runs fastest.
  function placesOf(scope, nodes, cards) {
    const stride = new Map();
    let size = 1;
    for (const node of [...nodes].reverse()) { stride.set(node, size); size *= cards[node]; }
    let places = [0];
    for (const node of scope) {
      const step = stride.get(node) ?? 0, next = [];
      for (const place of places) for (let state = 0; state < cards[node]; state++) next.push(place + state * step);
      places = next;
    }
    return Int32Array.from(places);
  }

  // The cliques of a model in the order of its nodes: each sums out one node, and tells the next about the others.
  function network(model) {
    const cards = model.nodes.map((node) => node.card), turn = [];
    model.order.forEach((node, at) => { turn[node] = at; });
    const earliest = (nodes) => nodes.reduce((best, node) => (turn[node] < turn[best] ? node : best));
    const linked = model.nodes.map(() => new Set()), factors = model.nodes.map(() => []);
    model.nodes.forEach(({ parents }, node) => {
      const family = [...parents, node];
      for (const one of family) for (const other of family) if (one !== other) linked[one].add(other);
      factors[earliest(family)].push(node);
    });
    const cliques = model.order.map((node) => {
      const others = [...linked[node]];
      for (const other of others) {
        linked[other].delete(node);
        for (const third of others) if (third !== other) linked[other].add(third);
      }
      const scope = [node, ...others], size = scope.reduce((product, one) => product * cards[one], 1);
      const clique = { node, size, below: size / cards[node], above: others.length ? earliest(others) : -1 };
      clique.own = placesOf(scope, [node], cards);
      clique.inner = placesOf(scope, others, cards); // of its entries, in the message that it sends
      clique.others = others;
      clique.scope = scope;
      clique.factors = ones(size);
      for (const family of factors[node]) {
        const { parents, table } = model.nodes[family];
        multiply(clique.factors, placesOf(scope, [...parents, family], cards), table.map(Math.log), 1);
      }
      return clique;
    });
    const of = [];
    for (const clique of cliques) of[clique.node] = clique;
    for (const clique of cliques) if (clique.above >= 0) clique.outer = placesOf(of[clique.above].scope, clique.others, cards);
    return { cards, cliques, of };
  }

  // answers: Map from node to state. Returns the logarithm of their probability; for every node P(state | all answers)
  // and P(state | the answers to all other nodes), which is NaN where these are impossible.
  function ask({ cards, cliques, of }, answers) {
    const products = cliques.map(({ factors }) => copied(factors));
    const at = new Map(cliques.map((clique, position) => [clique.node, position]));
    const known = (clique, logs) => { // with what is known about the clique's own node
      const state = answers.get(clique.node);
      return state === undefined ? logs : logs.map((log, entry) => (clique.own[entry] === state ? log : -Infinity));
    };
    const sent = [];
    let logProbability = 0;
    cliques.forEach((clique, position) => {
      const message = summedTo(clique.below, clique.inner, known(clique, logsOf(products[position])));
      sent.push(message);
      if (clique.above < 0) logProbability += message[0];
      else multiply(products[at.get(clique.above)], clique.outer, message, 1);
    });
    const posteriors = [], expected = [];
    for (let position = cliques.length - 1; position >= 0; position--) {
      const clique = cliques[position], product = products[position];
      if (clique.above >= 0) {
        const above = of[clique.above], others = copied(products[at.get(clique.above)]);
        multiply(others, clique.outer, sent[position], -1); // what it said itself is not told to it
        multiply(product, clique.inner, summedTo(clique.below, clique.outer, known(above, logsOf(others))), 1);
      }
      const logs = logsOf(product), card = cards[clique.node];
      expected[clique.node] = shares(summedTo(card, clique.own, logs));
      posteriors[clique.node] = shares(summedTo(card, clique.own, known(clique, logs)));
    }
    return { logProbability, posteriors, expected };
  }

  function shares(logs) {
    const highest = logs.reduce((one, other) => Math.max(one, other), -Infinity);
    if (highest === -Infinity) return logs.map(() => NaN);
    const parts = logs.map((log) => Math.exp(log - highest)), total = parts.reduce((sum, part) => sum + part, 0);
    return parts.map((part) => part / total);
  }

  return { network, ask };
})();
