"""The figures of Karčiauskas' thesis, and how ours are compared with them.

The thesis prints the mean score of five runs with a 95 % interval, the rounded mean time, and the numbers of hidden
states of the best model. It calls a score better than another if the means differ by more than 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import stats

from benchmarks.tables.cells import BASELINE, NOT_MEASURED, OWN, Cell, Finding, compared

THESIS = "Karčiauskas"
STANDARD, SPLIT_MERGE, FIXED, NO_ADJUST = "Standard3", "SplitMerge", "StandardFixed", "SplitMerge-NoAdjust"
SPLITTING = "Splitting"
COLUMNS = (STANDARD, SPLIT_MERGE, FIXED)
#: The thesis' own methods; the others are what it compares with.
OWN_COLUMNS = (SPLIT_MERGE, NO_ADJUST, SPLITTING)
#: Baselines of ours, which the thesis does not have: column -> model of Baseline.
BASELINES = {"Independence": "independence", "Chow-Liu": "chow_liu", "BIC forest": "forest"}
#: Means that differ by no more are the same, in the thesis' words.
SAME = 1.0
#: How two means are compared, for the page.
EQUAL_SCORES = (
    "Scores are equal if they differ by at most 1, which the thesis takes for the same score, or by the 95 % intervals "
    "of the means together; where ours is the lower one, its interval counts no more than the thesis', so that runs "
    "that scatter are no excuse; of a single run of ours no interval is known, and the thesis' stands in."
)
#: Where the thesis' times are in hours; elsewhere they are in minutes.
IN_HOURS = ("7.3", "7.4")
#: Row, then for each column mean, interval, time and states; StandardFixed has neither time nor states of its own.
TEXT = {
    "6.1": """
1e2 -323.0 ± 0.0 0 1 -323.0 ± 0.0 0 1 -323.0 ± 0.0
1e3 -3030.9 ± 0.2 0 2 -3031.4 ± 0.0 0 2 -3030.8 ± 0.0
1e4 -29856.7 ± 0.3 0 2 -29857.4 ± 0.0 0 2 -29856.8 ± 0.5
1e5 -298224.8 ± 4.4 0 3 -298222.4 ± 1.3 0 3 -298223.0 ± 1.4
1e6 -2977109.7 ± 39.9 0 3 -2977072.4 ± 0.0 0 3 -2977079.3 ± 10.8
1e7 -29772167.8 ± 56.3 0 4 -29772008.3 ± 0.0 0 3 -29772100.9 ± 70.3
1e8 -297730211.6 ± 1388.3 0 4 -297728637.2 ± 17.2 0 5 -297728949.2 ± 375.3
1e9 -2977335064.3 ± 4568.8 0 5 -2977329260.2 ± 56.2 1 5 -2977328755.5 ± 1331.9
""",
    "6.2": """
1e2 -498.1 ± 0.0 0 1 -498.1 ± 0.0 0 1 -498.1 ± 0.0
1e3 -4838.4 ± 0.0 0 1 -4838.4 ± 0.0 0 1 -4838.4 ± 0.0
1e4 -47712.1 ± 0.4 1 3 -47711.9 ± 0.0 0 3 -47712.3 ± 0.8
1e5 -475715.8 ± 54.1 3 7 -475664.4 ± 0.3 3 7 -475678.3 ± 12.0
1e6 -4753185.1 ± 196.4 3 8 -4752826.0 ± 11.2 7 8 -4752877.3 ± 31.1
1e7 -47531173.0 ± 779.6 4 10 -47528482.3 ± 30.2 13 10 -47529145.5 ± 270.2
1e8 -475327706.8 ± 67268.8 3 9 -475268998.1 ± 85.1 20 13 -475270455.1 ± 263.9
1e9 -4753270535.0 ± 777481.7 4 13 -4752732197.1 ± 355.3 73 19 -4752735541.9 ± 683.5
""",
    "6.3": """
1e2 -693.7 ± 0.0 0 1 -693.7 ± 0.0 0 1 -693.7 ± 0.0
1e3 -6692.3 ± 0.0 5 4 -6692.5 ± 0.0 3 4 -6692.3 ± 0.0
1e4 -65436.7 ± 0.1 17 6 -65436.5 ± 0.0 16 6 -65436.5 ± 0.1
1e5 -650348.2 ± 107.9 34 9 -650302.2 ± 0.0 34 9 -650304.4 ± 4.0
1e6 -6497124.3 ± 334.5 40 9 -6496881.4 ± 0.0 59 9 -6496957.6 ± 89.6
1e7 -64966268.3 ± 3550.9 40 12 -64964215.0 ± 0.0 82 9 -64964233.1 ± 52.3
1e8 -649632767.5 ± 38429.8 48 10 -649612538.3 ± 360.2 159 10 -649614304.0 ± 493.4
1e9 -6496426973.9 ± 410587.2 49 11 -6496152390.6 ± 877.6 302 12 -6496161104.4 ± 9768.0
""",
    "6.4": """
1e2 -1049.3 ± 0.0 0 1 -1049.3 ± 0.0 0 1 -1049.3 ± 0.0
1e3 -10055.7 ± 0.0 16 4 -10055.7 ± 0.0 8 4 -10055.7 ± 0.0
1e4 -98283.1 ± 0.2 218 7 -98283.1 ± 0.0 203 7 -98282.9 ± 0.0
1e5 -980627.5 ± 0.0 600 7 -982084.0 ± 1010.8 600 7 -980627.5 ± 0.1
1e6 -9816413.3 ± 0.0 600 6 -9850314.1 ± 0.2 600 5 -9850314.1 ± 0.2
""",
    "6.5": """
1e2 -1120.4 ± 0.0 0 1 -1120.4 ± 0.0 0 1 -1120.4 ± 0.0
1e3 -10914.4 ± 0.0 2 1 -10914.4 ± 0.0 1 1 -10914.4 ± 0.0
1e4 -107020.8 ± 0.0 271 8 -107029.5 ± 18.8 274 8 -107020.7 ± 0.1
1e5 -1067192.9 ± 0.0 600 6 -1069382.2 ± 0.0 600 5 -1069381.9 ± 0.2
1e6 -10720139.2 ± 0.7 600 4 -10720138.2 ± 0.0 600 4 -10720138.5 ± 0.2
""",
    "6.6": """
1e2 -1310.4 ± 0.0 1 2 -1310.4 ± 0.0 0 2 -1310.4 ± 0.0
1e3 -12354.7 ± 0.0 22 4 -12354.7 ± 0.0 13 4 -12354.7 ± 0.0
1e4 -121655.4 ± 0.0 252 5 -121655.4 ± 0.0 212 5 -121655.4 ± 0.0
1e5 -1223176.0 ± 0.0 600 3 -1223176.0 ± 0.0 600 3 -1223176.0 ± 0.0
1e6 -13327103.2 ± 0.0 600 1 -13327103.2 ± 0.0 600 1 -13327103.2 ± 0.0
""",
    "6.7": """
1e5 -979691.3 ± 3.7 1701 10 -979689.0 ± 0.1 1978 10 -979689.4 ± 0.7
""",
    "6.8": """
10:7x2 -4753185.1 ± 196.4 3 8 -4752826.0 ± 11.2 7 8 -4752877.3 ± 31.1
10:10x2 -6497124.3 ± 334.5 40 9 -6496881.4 ± 0.0 59 9 -6496957.6 ± 89.6
10:15x2 -9816413.3 ± 0.0 600 6 -9850314.1 ± 0.2 600 5 -9850314.1 ± 0.2
5:20x2 -13327103.2 ± 0.0 600 1 -13327103.2 ± 0.0 600 1 -13327103.2 ± 0.0
3:3x3 -2977109.7 ± 39.9 0 3 -2977072.4 ± 0.0 0 3 -2977079.3 ± 10.8
10:5x3 -5362696.0 ± 222.0 6 9 -5362307.7 ± 61.8 17 9 -5362322.5 ± 34.4
10:7x3 -7478527.3 ± 213.3 89 10 -7478040.3 ± 1.0 165 10 -7478072.8 ± 39.7
10:10x3 -10720139.2 ± 0.7 600 4 -10720138.2 ± 0.0 600 4 -10720138.5 ± 0.2
10:2,2,2,5,5,5 -6722963.5 ± 897.6 30 10 -6722202.8 ± 4.5 64 9 -6722308.2 ± 72.5
10:2,3,4,5,6,7 -8222214.9 ± 1026.7 213 9 -8221544.7 ± 0.8 399 9 -8221556.4 ± 7.3
""",
    "6.9": """
1 -6497124.3 ± 334.5 40 9 -6496881.4 ± 0.0 59 9 -6496957.6 ± 89.6
2 -6644081.3 ± 847.2 44 10 -6643109.8 ± 0.1 69 10 -6643212.3 ± 67.0
3 -6649520.6 ± 40.2 46 9 -6649407.2 ± 0.7 99 10 -6649424.5 ± 24.8
4 -6491945.9 ± 150.2 41 9 -6491335.3 ± 0.5 93 10 -6491580.7 ± 151.8
5 -6573339.8 ± 69.1 44 9 -6573111.5 ± 1.3 118 10 -6573197.0 ± 100.0
""",
    "6.10": """
1 -107020.8 ± 0.0 271 8 -107029.5 ± 18.8 274 8 -107020.7 ± 0.1
2 -107019.3 ± 0.1 294 8 -107019.2 ± 0.0 321 8 -107019.1 ± 0.0
3 -103540.0 ± 0.0 203 7 -103540.0 ± 0.0 205 7 -103539.9 ± 0.1
4 -105615.5 ± 0.1 251 8 -105615.5 ± 0.0 269 8 -105615.5 ± 0.1
5 -105723.3 ± 0.1 282 8 -105723.2 ± 0.0 272 8 -105723.3 ± 0.1
""",
    "6.11": """
2 -5389022.4 ± 0.0 5 2 -5389022.5 ± 0.2 2 2 -5389022.5 ± 0.1
4 -6091546.9 ± 461.7 17 4 -6091279.2 ± 0.2 22 4 -6091337.3 ± 93.9
6 -6564076.8 ± 15.8 22 5 -6564031.3 ± 24.5 36 6 -6564074.6 ± 48.4
8 -6379315.8 ± 119.7 32 7 -6379119.1 ± 0.0 57 7 -6379189.2 ± 77.0
10 -6713825.3 ± 1894.0 41 11 -6711800.7 ± 1.0 78 10 -6711985.5 ± 59.7
12 -6526733.2 ± 424.8 46 10 -6525960.9 ± 0.2 186 10 -6525980.3 ± 11.8
14 -6621460.7 ± 35.9 50 10 -6621314.3 ± 0.3 59 10 -6621422.2 ± 97.2
16 -6762383.9 ± 1762.7 41 11 -6760153.5 ± 48.7 111 14 -6760326.5 ± 78.7
18 -6733141.8 ± 208.7 65 15 -6732492.2 ± 59.4 342 16 -6732537.8 ± 65.4
20 -6737257.7 ± 2433.0 59 18 -6733599.0 ± 4.1 343 17 -6733603.6 ± 5.5
""",
    "6.13": """
Adult -532344.7 ± 2790.8 300 6 -520908.5 ± 375.5 300 11 -520907.8 ± 717.7
Letter -172561.3 ± 331.1 300 19 -172432.8 ± 248.7 300 18 -172314.8 ± 39.5
Mushroom -94155.0 ± 1090.5 300 8 -82935.1 ± 722.2 300 17 -83648.2 ± 302.7
Page -22768.1 ± 39.5 5 14 -22766.6 ± 2.9 5 14 -22735.1 ± 6.9
Pen -82411.6 ± 827.9 260 30 -81454.4 ± 11.5 300 41 -81402.1 ± 16.3
Satimage -66602.9 ± 457.0 300 16 -64598.4 ± 121.9 300 25 -64419.4 ± 87.1
Shuttle -256561.5 ± 265.9 5 14 -256027.6 ± 10.4 16 21 -256073.4 ± 28.3
Spambase -83800.0 ± 192.9 300 11 -83090.0 ± 74.8 300 15 -83127.5 ± 81.8
Thyroid -44562.9 ± 26.1 21 6 -44542.9 ± 0.2 21 7 -44534.6 ± 18.3
Abalone -12389.4 ± 0.0 2 5 -12389.5 ± 0.0 1 5 -12389.4 ± 0.0
Audiology -3403.0 ± 0.1 9 2 -3403.2 ± 0.0 2 2 -3403.1 ± 0.1
Credit -7564.7 ± 3.2 16 5 -7591.3 ± 22.7 3 4 -7568.3 ± 3.2
Heart -2388.1 ± 0.0 1 2 -2388.1 ± 0.0 0 2 -2388.1 ± 0.0
Housing -3192.6 ± 5.7 2 7 -3198.3 ± 9.4 1 7 -3190.8 ± 5.7
Image -15514.5 ± 35.2 32 14 -15516.5 ± 8.3 28 13 -15503.6 ± 5.5
Pima -3995.6 ± 0.2 1 4 -3995.7 ± 0.0 0 4 -3995.6 ± 0.0
Vehicle -6471.5 ± 7.4 13 10 -6471.1 ± 7.0 9 10 -6467.1 ± 1.3
Voting -3085.6 ± 0.0 5 5 -3085.6 ± 0.0 2 5 -3085.6 ± 0.0
Wisconsin -2560.7 ± 0.0 1 3 -2560.9 ± 0.0 0 3 -2560.7 ± 0.0
Yeast -6213.5 ± 0.0 0 2 -6213.7 ± 0.0 0 2 -6213.5 ± 0.0
""",
    "6.14": """
Spambase -83425.8 ± 500.0 963 16 -82705.3 ± 4.1 3738 19 -82850.6 ± 79.3
""",
    "6.15": """
Mushroom -82935.1 ± 722.2 300 17 -83091.5 ± 924.3 165 17
Page -22766.6 ± 2.9 5 14 -22831.0 ± 4.7 2 15
Pen -81454.4 ± 11.5 300 41 -81455.2 ± 13.2 266 41
Shuttle -256027.6 ± 10.4 16 21 -256042.2 ± 2.6 9 21
Thyroid -44542.9 ± 0.2 21 7 -44542.9 ± 0.2 17 7
Audiology -3403.2 ± 0.0 2 2 -3403.2 ± 0.0 1 2
Credit -7591.3 ± 22.7 3 4 -7610.6 ± 13.0 1 4
Housing -3198.3 ± 9.4 1 7 -3201.7 ± 4.6 1 8
Image -15516.5 ± 8.3 28 13 -15534.3 ± 8.0 12 13
Vehicle -6471.1 ± 7.0 9 10 -6488.4 ± 11.3 5 11
Voting -3085.6 ± 0.0 2 5 -3086.3 ± 0.7 1 5
""",
    "7.1": """
1e4 -71381.2 ± 2.6 58 2:3,2 -71380.3 ± 0.0 35 2:3,2 -71378.6 ± 1.1
1e5 -712205.8 ± 5.8 71 2:3,2 -712200.7 ± 0.0 41 2:3,2 -712200.4 ± 1.3
1e6 -7121968.5 ± 85.6 128 2:3,3 -7121953.3 ± 71.8 148 2:3,3 -7121863.8 ± 18.1
""",
    "7.2": """
1e4 -65824.5 ± 0.3 62 3:3,3 -65824.4 ± 0.0 43 3:3,3 -65824.1 ± 0.3
1e5 -656733.5 ± 6.8 118 3:3,3 -656722.2 ± 0.7 158 3:3,3 -656721.4 ± 0.8
1e6 -6557966.9 ± 47.8 186 3:3,3 -6557889.6 ± 0.0 413 3:3,3 -6557887.5 ± 0.9
""",
    "7.3": """
12 -108271.5 ± 52.8 77 1:2,2:3,3,3,3 -108302.8 ± 0.0 29 1:1,2:2,2,3,3 -108301.8 ± 0.1
18 -166025.7 ± 0.3 414 2:2,2,2:3,3,3,3,3,3 -166031.2 ± 0.0 289 2:2,2,2:2,3,3,3,3,3 -166030.1 ± 0.1
""",
}


@dataclass(frozen=True)
class Figure:
    """A mean score with its interval, the seconds it took and the states of the best model."""

    mean: float
    interval: float
    seconds: float | None = None
    states: str = ""


def title(table: str) -> str:
    return f"{THESIS}, Table {table}"


@cache
def figures(table: str) -> dict[str, dict[str, Figure]]:
    """Return the thesis' figures: row -> column -> figure.

    Examples
    --------
    >>> figures("6.13")["Adult"]["StandardFixed"]
    Figure(mean=-520907.8, interval=717.7, seconds=None, states='')
    """
    columns = (SPLIT_MERGE, NO_ADJUST) if table == "6.15" else COLUMNS
    unit = 3600 if table in IN_HOURS else 60
    found = {}
    for line in TEXT[table].strip().splitlines():
        name, *words = line.split()
        found[name] = {}
        for column in columns:
            mean, _, interval, *rest = words[: 3 if column == FIXED else 5]
            words = words[len(rest) + 3 :]
            minutes, states = rest or ("0", "")
            found[name][column] = Figure(float(mean), float(interval), unit * int(minutes) or None, states)
    return found


def half_width(values: Sequence[float], theirs: float = 0.0) -> float:
    """Return half of the 95 % interval of a mean; of a single run nothing is known, and the thesis' stands in."""
    if len(values) < 2:
        return theirs
    return float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))


def together(theirs: float, ours: float) -> float:
    """Return by how much two means may differ and still be equal, from half-widths of their intervals."""
    return float(max(SAME, np.hypot(theirs, ours)))


def allowed(theirs: float, ours: float, gain: float) -> float:
    """Return by how much two means of runs on the same table may differ and still be equal.

    Where ours is the worse one, its interval counts no more than the thesis': runs that scatter are no excuse.

    Examples
    --------
    >>> allowed(3.0, 4.0, gain=10.0), round(allowed(3.0, 4.0, gain=-10.0), 2), allowed(0.0, 9.0, gain=-10.0)
    (5.0, 4.24, 1.0)
    """
    return together(theirs, ours if gain > 0 else min(ours, theirs))


def spread(values: Sequence[float], theirs: float) -> str:
    """Say how our runs lie, where their mean is worse than the thesis'.

    Examples
    --------
    >>> spread([-5.0, -1.0], -2.0)
    "our runs lie between -5.0 and -1.0, 1 of 2 at least as high as the thesis' mean"
    """
    good = sum(value >= theirs - SAME for value in values)
    return (
        f"our runs lie between {min(values):,.1f} and {max(values):,.1f}, {good} of {len(values)} at least as high as "
        "the thesis' mean"
    )


def score_finding(figure: Figure, values: Sequence[float], seconds: float | None = None, why: str = "") -> Finding:
    """Compare the mean of our runs with the thesis' mean; larger is better."""
    if not len(values):
        return NOT_MEASURED
    mean = float(np.mean(values))
    error = allowed(figure.interval, half_width(values, figure.interval), mean - figure.mean)
    words = "; ".join(part for part in (spread(values, figure.mean), why) if part)
    return compared(figure.mean, mean, error, seconds=seconds, why_worse=words)


def score_cell(table: str, row: str, column: str, figure: Figure, default: Finding, preset: Finding) -> Cell:
    """Return the cell of one of the thesis' columns, whose name may have HLC before it."""
    kind = OWN if column.removeprefix("HLC") in OWN_COLUMNS else BASELINE
    return Cell(table, row, column, figure.mean, kind, default, preset=preset, same=SAME, their_seconds=figure.seconds)


def gaps(row: dict[str, Figure], best: Figure | None = None) -> dict[str, Figure]:
    """Return how far each column is below the best mean of its row, or below another one; with intervals of both.

    Examples
    --------
    >>> gaps(figures("6.2")["1e4"])["SplitMerge"].mean
    0.0
    """
    top = best or max(row.values(), key=lambda figure: figure.mean)
    return {
        column: Figure(
            round(figure.mean - top.mean, 1),
            figure.interval if figure is top else float(np.hypot(figure.interval, top.interval)),
            figure.seconds,
            figure.states,
        )
        for column, figure in row.items()
    }


def beside(baselines: dict[str, float], ours: float, name: str = SPLIT_MERGE) -> dict[str, str]:
    """Return what stands beside a row: scores of baselines, which say so where they are not beaten, and ours.

    Examples
    --------
    >>> beside({"Independence": -3.0, "Chow-Liu": -1.0}, -2.0)
    {'Independence': '-3.0', 'Chow-Liu': '-1.0 (better)', 'SplitMerge': '-2.0'}
    """
    texts = {column: f"{score:,.1f}{' (better)' * (score > ours)}" for column, score in baselines.items()}
    return {**texts, name: f"{ours:,.1f}"}
