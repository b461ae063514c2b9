"""Tables to try things on."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    import numpy as np
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
