"""Tables to try things on, and models to draw tables from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pgmpy_latent.model.tree import LatentTree

if TYPE_CHECKING:
    import pandas as pd

_LEFT_TO_RIGHT = (
    "Extremely liberal",
    "Liberal",
    "Slightly liberal",
    "Moderate",
    "Slightly conservative",
    "Conservative",
    "Extremely conservative",
)
#: Column -> (lowest number in the file, labels of the numbers from there on), as in the codebook.
_LABELS = {
    "TVnews": (0, ("Never", "1 day", "2 days", "3 days", "4 days", "5 days", "6 days", "7 days")),
    "selfLR": (1, _LEFT_TO_RIGHT),
    "ClinLR": (1, _LEFT_TO_RIGHT),
    "DoleLR": (1, _LEFT_TO_RIGHT),
    "PID": (
        0,
        (
            "Strong Democrat",
            "Weak Democrat",
            "Independent-Democrat",
            "Independent-Independent",
            "Independent-Republican",
            "Weak Republican",
            "Strong Republican",
        ),
    ),
    "educ": (
        1,
        (
            "1-8 grades",
            "Some high school",
            "High school graduate",
            "Some college",
            "College degree",
            "Master's degree",
            "PhD",
        ),
    ),
    "vote": (0, ("Clinton", "Dole")),
}
#: Column -> (first numbers of all bands but the lowest, labels of the bands). Income is a number from 1 to 24 that
#: stands for a bracket: 11 begins at $15,000, 15 at $25,000, 18 at $40,000, 21 at $60,000.
_BANDS = {
    "age": ((30, 45, 60), ("18-29", "30-44", "45-59", "60 and over")),
    "income": ((11, 15, 18, 21), ("Below $15k", "$15k-$25k", "$25k-$40k", "$40k-$60k", "$60k and over")),
}

#: Number of observed variables -> (parents and numbers of states of the hidden ones, breadth first; parents of the
#: observed ones): figures 7.1 to 7.3 of the thesis.
_HLC = {
    7: ((-1, 0, 0), (3, 3, 3), (1, 1, 1, 0, 2, 2, 2)),
    12: ((-1, 0, 0, 1, 1, 2, 2), (2,) * 3 + (3,) * 4, tuple(np.repeat(range(3, 7), 3).tolist())),
    18: ((-1, 0, 0, 0, 1, 1, 2, 2, 3, 3), (2,) * 4 + (3,) * 6, tuple(np.repeat(range(4, 10), 3).tolist())),
}
#: States of the observed variables of these models.
_HLC_STATES = 3
#: What the largest entry of every row must reach in a strong model.
_STRONG = 0.6

#: Table of coins -> for every column, the coins that make its state, as the digits of a binary number.
_COINS = {
    "binary_forest": ((0, 1), (0, 2), (3, 4), (3, 5, 6), (3, 5, 7)),
    "three_level_binary": ((0, 1, 2), (0, 1, 3), (0, 4, 5), (0, 4, 6)),
    "three_coins": ((0, 1), (1, 2), (2, 0)),
    "six_coins": ((4, 2, 0), (4, 2, 1), (5, 3, 0), (5, 3, 1)),
}


def load_anes96() -> pd.DataFrame:
    """Return answers of 944 voters to the American National Election Study of 1996.

    The table is the one that statsmodels ships (``statsmodels.datasets.anes96``), with labels in place of
    numbers. Nothing is missing.

    Returns
    -------
    DataFrame
        944 rows and nine columns, all ordered Categoricals:

        - ``TVnews``: days of the week on which the respondent watches the news on television;
        - ``selfLR``, ``ClinLR``, ``DoleLR``: where the respondents place themselves, Bill Clinton and Bob Dole
          between left and right, on seven levels;
        - ``PID``: party identification, seven levels from strong Democrat to strong Republican;
        - ``age``: in years, here in four bands;
        - ``educ``: education, seven levels, named as in statsmodels' codebook;
        - ``income``: of the household, here in five bands made of the codebook's 24 brackets;
        - ``vote``: the candidate the respondent expects to vote for.

        The size of the place of residence (``popul`` and its logarithm), a number, is left out.

    References
    ----------
    The American National Election Studies, https://electionstudies.org

    Examples
    --------
    >>> table = load_anes96()
    >>> table.shape
    (944, 9)
    >>> table["vote"].value_counts().to_dict()
    {'Clinton': 551, 'Dole': 393}
    >>> table["age"].cat.categories.tolist()
    ['18-29', '30-44', '45-59', '60 and over']
    """
    import pandas as pd
    from statsmodels.datasets import anes96  # loads slowly, so only when asked for

    raw = anes96.load_pandas().data
    columns = {}
    for name in raw.columns:
        if name in _LABELS:
            lowest, labels = _LABELS[name]
            codes = raw[name].to_numpy().astype(int) - lowest
        elif name in _BANDS:
            firsts, labels = _BANDS[name]
            codes = np.digitize(raw[name].to_numpy(), firsts)
        else:
            continue
        columns[name] = pd.Categorical.from_codes(codes, list(labels), ordered=True)
    return pd.DataFrame(columns)


def hlc_model(n_variables: int, *, random_state=None, strong: bool = True) -> LatentTree:
    """Return a random hierarchical latent class model with 7, 12 or 18 observed variables.

    These are the models from which Karčiauskas' thesis draws tables (section 7.3.2), after Zhang (2004) and Zhang and
    Kočka (2004). Observed variables have three states each.

    - 7: the root H1 has the children H2 (over D1 to D3), H3 (over D5 to D7) and D4; all have three states.
    - 12: a root of two states, two children of two states, two children of three states of each of these, and three
      observed variables below each of the four. The root is redundant, having two neighbours and no more states than
      these: tables cannot tell the model from one in which H2 and H3 are linked directly.
    - 18: the same with three children of the root, which is then not redundant.

    Parameters
    ----------
    n_variables : {7, 12, 18}
        Number of observed variables, called D1, D2 and so on; their states are 0, 1 and 2. Hidden variables are
        called H1, H2 and so on, breadth first, and come first in node order.
    random_state : int, numpy.random.Generator or None
        Source of randomness. The same number gives the same model.
    strong : bool
        False: every row of every table is uniform on the simplex, as in the thesis' first model of seven variables.
        True: rows and tables that are too weak are drawn again, as in all of its other models; see the notes.

    Returns
    -------
    LatentTree
        Draw tables from it with :func:`pgmpy_latent.sample`.

    Notes
    -----
    The thesis has two rules for strong models.

    1. Each conditional distribution has an entry of at least 0.6. Here each row of each table is drawn until it does.
       The root's distribution is not a conditional one, and is drawn once.
    2. In each conditional table, it says, look up the parent's state at which each state of the child has its largest
       entry: these must not all be the same. By the letter that excludes nothing. If all were the same, this row of the
       table would be larger than another one in every column, and yet both sum to one. The sensible rule is the one
       with child and parent exchanged: look up the child's state at which each state of the parent has its largest
       entry, and these must not all be the same. Here a table whose rows all have their maximum in the same column is
       drawn again. The letter then holds as well.

    What remains is uniform among the tables that satisfy both.

    References
    ----------
    G. Karčiauskas, thesis on learning with hidden variables by parameter reusing, section 7.3.2.

    Examples
    --------
    >>> tree = hlc_model(7, random_state=0)
    >>> tree.children("H1"), tree.children("H3")
    (('H2', 'H3', 'D4'), ('D5', 'D6', 'D7'))
    >>> bool(tree.table("D1").max(axis=1).min() >= 0.6)
    True
    >>> hlc_model(18, random_state=0)
    LatentTree(28 nodes, 10 latent, 139 parameters)
    >>> from pgmpy_latent import sample
    >>> sample(tree, 1000, random_state=0).shape
    (1000, 7)
    """
    if n_variables not in _HLC:
        raise ValueError(f"there is no model with {n_variables!r} observed variables; n_variables is 7, 12 or 18")
    rng = np.random.default_rng(random_state)
    above, cards, below = _HLC[n_variables]
    parent, n_hidden = (*above, *below), len(above)
    cards = (*cards, *[_HLC_STATES] * n_variables)
    names = [f"H{node + 1}" for node in range(n_hidden)] + [f"D{node + 1}" for node in range(n_variables)]
    latent = [node < n_hidden for node in range(len(parent))]
    tables = [
        rng.dirichlet(np.ones(card), size=1) if up < 0 else _hlc_table(rng, cards[up], card, strong)
        for up, card in zip(parent, cards, strict=True)
    ]
    return LatentTree(names, [range(card) for card in cards], parent, latent, tables)


def _hlc_table(rng: np.random.Generator, n_rows: int, card: int, strong: bool) -> np.ndarray:
    """Draw rows uniformly from the simplex; in a strong table, until both rules of :func:`hlc_model` hold."""
    while True:
        table = rng.dirichlet(np.ones(card), size=n_rows)
        while strong and (weak := table.max(axis=1) < _STRONG).any():
            table[weak] = rng.dirichlet(np.ones(card), size=int(weak.sum()))
        if not strong or len(set(table.argmax(axis=1).tolist())) > 1:
            return table


def coins(name: str, n: int = 1000, *, random_state=None) -> pd.DataFrame:
    """Return one of four tables made of fair coins, in which it is known what columns share.

    The toy tables of Harmeling and Williams. In the first two, a coin is flipped at every node of a binary tree, and
    the state of a node is its parent's state with its own coin appended; only the leaves are columns.

    - ``"binary_forest"``: two trees. In the first, a root has the leaves ``x1`` and ``x2`` (two bits each); in the
      second, a root has the leaf ``x3`` (two bits) and a node with the leaves ``x4`` and ``x5`` (three bits each). A
      row holds 8 bits, the columns by themselves 12.
    - ``"three_level_binary"``: a root, two nodes below it, and two leaves below each: four columns of three bits. A row
      holds 7 bits, the columns by themselves 12.
    - ``"three_coins"``: the columns are the pairs ``(a1, a2)``, ``(a2, a3)`` and ``(a3, a1)`` of three coins. Each pair
      of columns shares one bit, which no binary tree can describe. A row holds 3 bits, the columns by themselves 6.
    - ``"six_coins"``: ``x1 = a1 + 2 a3 + 4 a5``, ``x2 = a2 + 2 a3 + 4 a5``, ``x3 = a1 + 2 a4 + 4 a6`` and
      ``x4 = a2 + 2 a4 + 4 a6``. ``x1`` and ``x2`` share two bits, as do ``x3`` and ``x4``; the other pairs share one or
      none. A row holds 6 bits, the columns by themselves 12.

    Parameters
    ----------
    name : {"binary_forest", "three_level_binary", "three_coins", "six_coins"}
        Which one.
    n : int
        Number of rows.
    random_state : int, numpy.random.Generator or None
        Source of randomness. The same number gives the same table.

    Returns
    -------
    DataFrame
        Columns ``x1``, ``x2`` and so on, all ordered Categoricals of the numbers from 0, so that states are known even
        if a small table does not show them. The coins are the binary digits of a state, the root's coin first.

    References
    ----------
    S. Harmeling and C. K. I. Williams (2011). Greedy learning of binary latent trees. IEEE Transactions on Pattern
    Analysis and Machine Intelligence, published online, section 3.3.

    Examples
    --------
    >>> table = coins("three_coins", 3, random_state=1)
    >>> table
      x1 x2 x3
    0  1  3  2
    1  2  0  1
    2  3  2  1
    >>> table["x1"].cat.categories.tolist()
    [0, 1, 2, 3]
    """
    if name not in _COINS:
        raise ValueError(f"there are no coins called {name!r}; name is one of {', '.join(map(repr, _COINS))}")
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 0:
        raise ValueError(f"n is {n!r}; give a whole number of rows, at least 0")
    flips = np.random.default_rng(random_state).integers(0, 2, size=(n, _n_coins(name)))
    return _table_of_coins(name, flips)


def _n_coins(name: str) -> int:
    return 1 + max(coin for digits in _COINS[name] for coin in digits)


def _table_of_coins(name: str, flips: np.ndarray) -> pd.DataFrame:
    """Return the table that coin flips, zeros and ones of shape (rows, coins), determine."""
    import pandas as pd

    columns = {}
    for number, digits in enumerate(_COINS[name], start=1):
        codes = flips[:, digits] @ (1 << np.arange(len(digits))[::-1])
        columns[f"x{number}"] = pd.Categorical.from_codes(codes, range(2 ** len(digits)), ordered=True)
    return pd.DataFrame(columns)
