"""Estimators whose settings are declared: constraints, a tuning object, keywords that moved, shared documentation."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from dataclasses import replace as replaced
from functools import update_wrapper
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeVar

from pgmpy_latent.runtime.settings import Constraint, check_n_jobs, check_time_limit, flag

#: Keywords that several estimators have, as their docstrings describe them.
SHARED = {
    "prior": (
        "prior : float, optional",
        "Dirichlet pseudo-count of every table entry (MAP); None is maximum likelihood.",
    ),
    "n_starts": ("n_starts : int, optional", "Random starts of EM for every model. None: as ``tuning`` says."),
    "max_states": ("max_states : int, optional", "Most states of a hidden variable."),
    "tol": (
        "tol : float, optional",
        "The final EM ends when less log-likelihood than this, in nats, is left to gain. None: as ``tuning`` says.",
    ),
    "max_iter": (
        "max_iter : int, optional",
        "Most iterations of the final EM. None: as ``tuning`` says.",
    ),
    "n_jobs": (
        "n_jobs : int, optional",
        "Threads; -1 for all cores, None for one. The result does not depend on it.",
    ),
    "random_state": (
        "random_state : int, RandomState or Generator, optional",
        "Seed: the same seed gives the same result.",
    ),
    "time_limit": (
        "time_limit : float, optional",
        "Seconds, after which the best model so far is returned, with a warning; ``stopped_`` says so.",
    ),
    "checkpoint": (
        "checkpoint : path-like, optional",
        "File that the search is saved in. A search that was killed resumes from it, and ends in the same model as one "
        "that never stopped; a finished one returns its model. A file of other data or other settings is refused.",
    ),
    "show_progress": (
        "show_progress : bool",
        "Whether a fit that takes more than two seconds shows a progress bar.",
    ),
}
#: Description of the seed for learners whose result does not depend on the order of the table either.
ORDER_DOES_NOT_MATTER = (
    SHARED["random_state"][0],
    "Seed: the same seed gives the same result, whatever the order of columns and rows. (Weights with fractions are "
    "summed in the order of the rows, which can change last digits.)",
)
Method = TypeVar("Method", bound=Callable[..., Any])

#: Module of the tunings of this package.
PRESETS = "pgmpy_latent.presets"
#: Line of a docstring that is replaced by the shared keywords.
PLACE = "{shared}"


Documented = TypeVar("Documented", bound=Callable)


def setting(default: Any, check: Constraint) -> Any:
    """Declare a field of a tuning with its default and its constraint."""
    return field(default=default, metadata={"check": check})


@dataclass(frozen=True, repr=False)
class Tuning:
    """Settings of a search that few users change; immutable, compared by value, checked when made."""

    #: Name of the defaults in :mod:`pgmpy_latent.presets`; empty if they have none. Subclasses do not inherit it.
    preset: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for declared in fields(self):
            declared.metadata["check"](declared.name, getattr(self, declared.name))

    def replace(self, **changes: object) -> Self:
        """Return the same settings with some of them changed.

        Examples
        --------
        >>> from pgmpy_latent import presets
        >>> presets.CHEN_2008.replace(n_starts=8).n_starts
        8
        """
        known = self.as_dict()
        for name in changes:
            if name not in known:
                raise TypeError(f"{type(self).__name__} has no field {name!r}; it has {', '.join(known)}")
        return replaced(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """Return field -> value."""
        return {declared.name: getattr(self, declared.name) for declared in fields(self)}

    def changes(self) -> dict[str, Any]:
        """Return field -> value of the fields that differ from their defaults."""
        defaults = {declared.name: declared.default for declared in fields(self)}
        return {name: value for name, value in self.as_dict().items() if value != defaults[name]}

    def as_code(self) -> str:
        """Return Python that makes the same tuning.

        Examples
        --------
        >>> from pgmpy_latent import presets
        >>> presets.EAST.replace(n_steps=3).as_code()
        'presets.EAST.replace(n_steps=3)'
        >>> presets.SearchTuning(tol=0.1).as_code()
        'presets.SearchTuning(tol=0.1)'
        """
        return self._made_with(_arguments(self.changes()))

    def _made_with(self, arguments: str) -> str:
        """Return Python that changes the defaults: a preset, or the class where the defaults are no preset."""
        cls = type(self)
        if vars(cls).get("preset"):
            return f"presets.{cls.preset}" + (f".replace({arguments})" if arguments else "")
        return f"{'presets.' if cls.__module__ == PRESETS else ''}{cls.__name__}({arguments})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_arguments(self.changes())})"


class MovedPreset:
    """Class attribute of an earlier version, whose settings are now in :mod:`pgmpy_latent.presets`.

    Parameters
    ----------
    instead : str
        The presets to use now.

    Examples
    --------
    >>> from pgmpy_latent import EAST
    >>> EAST.PAPER
    Traceback (most recent call last):
    ...
    AttributeError: EAST has no PAPER any more; give tuning=presets.CHEN_2008 or presets.CHEN_2008_DC
    """

    def __init__(self, instead: str):
        self.instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise AttributeError(f"{owner.__name__} has no {self.name} any more; give tuning={self.instead}")


class HasParameters:
    """Declares, for type checkers, the two methods of scikit-learn's and skbase's estimators that mixins rely on."""

    if TYPE_CHECKING:

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return keyword -> value."""

        def set_params(self, **params: object) -> Self:
            """Set keywords of the constructor."""


class Configured(HasParameters):
    """Mixin of estimators with declared settings.

    A subclass stores its keywords untouched in ``__init__``. It may declare

    - ``_constraints``: keyword -> constraint of :mod:`pgmpy_latent.runtime.settings`; those of base classes count too;
    - ``_default_tuning``: the :class:`Tuning` that ``tuning=None`` stands for. A keyword that is also a field of it
      overrides the field unless the keyword is None. The class of the tuning is declared as ``_tuning: EASTTuning``;
    - ``_renamed``: keyword of an earlier version -> its name now, as a keyword or as a field of the tuning;
    - ``_moved``: keyword of an earlier version -> what to write instead;
    - ``_called_here``: keyword of other estimators -> what it is called here;
    - a line ``{shared}`` among the parameters of its docstring, which becomes the description of all keywords in
      ``SHARED`` that the docstring does not describe itself;
    - ``_shared``: more such descriptions, for its subclasses: keyword -> (name and type, text).
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "time_limit": lambda name, value: check_time_limit(value),
        "n_jobs": lambda name, value: check_n_jobs(value),
        "show_progress": flag,
    }
    _default_tuning: ClassVar[Tuning | None] = None
    _renamed: ClassVar[Mapping[str, str]] = {}
    _moved: ClassVar[Mapping[str, str]] = {}
    _called_here: ClassVar[Mapping[str, str]] = {}
    __signature__: ClassVar[inspect.Signature]
    _shared: ClassVar[Mapping[str, tuple[str, str]]] = {}
    #: Of estimators with a default tuning.
    tuning: Tuning | None

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "fit" not in vars(cls) and isinstance(getattr(cls, "fit", None), FunctionType):
            type.__setattr__(cls, "fit", _called_as_here(cls, "fit"))
        if "__init__" in vars(cls):
            init = inspect.signature(cls.__init__)
            cls.__signature__ = init.replace(parameters=[*init.parameters.values()][1:])  # not that of __new__
            _check_constraints(cls)
        if cls.__doc__ and PLACE in cls.__doc__:
            keywords = inspect.signature(cls).parameters
            cls.__doc__ = with_shared_keywords(cls.__doc__, keywords, SHARED | _declared(cls, "_shared"))

    def __new__(cls, *args, **keywords) -> Self:
        """Refuse keywords that the constructor does not have; the error names the one to use."""
        _refuse_unknown(cls, keywords)
        return super().__new__(cls)

    def set_params(self, **params: object) -> Self:
        """Set keywords of the constructor; see scikit-learn.

        Examples
        --------
        >>> from pgmpy_latent import EAST
        >>> EAST().set_params(n_steps=20)
        Traceback (most recent call last):
        ...
        TypeError: EAST has no keyword 'n_steps' any more; give tuning=presets.EAST.replace(n_steps=...)
        """
        _refuse_unknown(type(self), params)
        return super().set_params(**params)

    @property
    def _tuning(self) -> Tuning:
        """The tuning in force: that of the constructor, or the default, with the keywords that override its fields."""
        default = self._default_tuning
        if default is None:
            raise AttributeError(f"{type(self).__name__} has no tuning: declare _default_tuning")
        given = getattr(self, "tuning", None)  # a learner need not have the keyword
        tuning = default if given is None else given
        if not isinstance(tuning, type(default)):
            raise ValueError(f"tuning is {tuning!r}; give None, or as {default._made_with('...')}")
        known = tuning.as_dict()
        keywords = self.get_params(deep=False).items()
        return tuning.replace(**{name: value for name, value in keywords if name in known and value is not None})

    def _check_settings(self) -> None:
        """Raise for invalid settings, before any work; subclasses extend it."""
        keywords = self.get_params(deep=False)
        for name, check in _declared(type(self), "_constraints").items():
            if name in keywords:
                check(name, keywords[name])
        if self._default_tuning is not None:
            _ = self._tuning  # checks itself


def _declared(cls: type, attribute: str) -> dict[str, Any]:
    """Return the merged mappings that a class and its base classes declare; those of the class itself win."""
    merged: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        merged |= vars(base).get(attribute, {})
    return merged


def settings_in_force(estimator) -> dict[str, Any]:
    """Return keyword -> value, with the fields of the tuning in place of the tuning.

    Examples
    --------
    >>> from pgmpy_latent import EAST, presets
    >>> settings_in_force(EAST(tuning=presets.CHEN_2008))["n_steps"]
    40
    """
    settings = estimator.get_params(deep=False)
    if getattr(estimator, "_default_tuning", None) is not None:
        settings |= estimator._tuning.as_dict()
        settings.pop("tuning", None)
    return settings


def with_shared_keywords(text: str, keywords: Iterable[str], shared: Mapping = SHARED) -> str:
    """Return a docstring with the line ``{shared}`` replaced by the shared keywords that it does not describe itself.

    Examples
    --------
    >>> print(with_shared_keywords("{shared}", ["time_limit"]))
    time_limit : float, optional
        Seconds, after which the best model so far is returned, with a warning; ``stopped_`` says so.
    """
    lines = []
    for line in text.split("\n"):
        if line.strip() != PLACE:
            lines.append(line)
            continue
        indent = line[: line.index(PLACE)]
        heads = [other.strip() for other in text.split("\n") if other.removeprefix(indent) == other.strip()]
        described = {name for head in heads for name in head.split(" : ")[0].split(", ")}
        for name in keywords:
            if name in shared and name not in described:
                head, description = shared[name]
                lines += [indent + head, *_wrapped(description, indent + "    ")]
    return "\n".join(lines)


def choices(names: Iterable[str], default: str | None = None) -> str:
    """Return the values of a keyword as docstrings list them, with the default first.

    Examples
    --------
    >>> choices(["aic", "bic"], "bic")
    '{"bic", "aic"}'
    """
    return "{" + ", ".join(f'"{name}"' for name in sorted(names, key=lambda name: name != default)) + "}"


def fill_docstring(**texts: str) -> Callable[[Documented], Documented]:
    """Return a decorator that puts texts in place of their names in braces in a docstring.

    Examples
    --------
    >>> def shout():
    ...     "Return one of {words}."
    >>> fill_docstring(words="'hey' and 'ho'")(shout).__doc__
    "Return one of 'hey' and 'ho'."
    """

    def fill(documented: Documented) -> Documented:
        for name, text in texts.items():
            documented.__doc__ = (documented.__doc__ or "").replace(f"{{{name}}}", text)
        return documented

    return fill


def refuse_renamed(function: str, keywords: Iterable[str], renamed: Mapping[str, str]) -> None:
    """Raise a TypeError for any keyword that a function does not have, which names the new one if it was renamed.

    Parameters
    ----------
    function : str
        Name of the function.
    keywords : iterable of str
        Keywords that were given beyond those of its signature.
    renamed : mapping
        Keyword of an earlier version -> its name now.

    Examples
    --------
    >>> refuse_renamed("compare_classes", ["n_init"], {"n_init": "n_starts"})
    Traceback (most recent call last):
    ...
    TypeError: compare_classes has no keyword 'n_init' any more; give n_starts=...
    """
    for name in keywords:
        if name in renamed:
            raise TypeError(f"{function} has no keyword {name!r} any more; give {renamed[name]}=...")
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def _arguments(values: Mapping) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, 120, initial_indent=indent, subsequent_indent=indent, break_long_words=False)


def _check_constraints(cls: type[Configured]) -> None:
    """Raise if a class with a constructor of its own declares a constraint of a keyword that it does not have."""
    known = inspect.signature(cls).parameters
    for name in vars(cls).get("_constraints", {}):
        if name not in known:
            raise TypeError(f"_constraints of {cls.__name__} names {name!r}, which is no keyword of its __init__")


def _called_as_here(cls: type, name: str) -> FunctionType:
    """Return an inherited method as a function of this class, which Python's errors about its arguments then name."""
    method = getattr(cls, name)
    own = FunctionType(method.__code__, method.__globals__, name, method.__defaults__, method.__closure__)
    own.__kwdefaults__ = method.__kwdefaults__
    update_wrapper(own, method, updated=())
    del own.__dict__["__wrapped__"]
    own.__qualname__ = f"{cls.__qualname__}.{name}"
    return own


def _refuse_unknown(cls: type[Configured], keywords: Mapping[str, object]) -> None:
    """Raise a TypeError for a keyword that the class does not have; it names the new one if the keyword moved."""
    known = inspect.signature(cls).parameters
    if all(name in known for name in keywords):
        return
    default, instead = cls._default_tuning, {}
    if default is not None:
        instead = {name: f"tuning={default._made_with(f'{name}=...')}" for name in default.as_dict()}
    instead |= {name: f"{name}=..." for name in known}
    renamed = _declared(cls, "_renamed").items()
    instead |= {old: instead[new] for old, new in renamed if new in instead} | _declared(cls, "_moved")
    for name in keywords:
        if name not in known and name in instead:
            raise TypeError(f"{cls.__name__} has no keyword {name!r} any more; give {instead[name]}")
    elsewhere = _declared(cls, "_called_here")
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
    for name in keywords:
        if name not in known and not takes_any:
            here = f"; {cls.__name__} calls it {elsewhere[name]}" if name in elsewhere else ""
            raise TypeError(f"{cls.__name__}() got an unexpected keyword argument {name!r}{here}")
