"""Step sizes that fall like a power of the number of the step."""

from __future__ import annotations

from auctor.core.checks import check_choice, check_real

#: Power theta of step t, ``rate / t ** theta``, by the name that users type.
POWERS = {"sqrt": 0.5, "constant": 0.0}


def step_power(step: str | float, others: tuple[str, ...] = ()) -> float:
    """The power of a step rule: that of a name, or a number in (0, 1); -1 for the ``others``.

    Examples
    --------
    >>> step_power("sqrt"), step_power(0.7), step_power("inverse", ("inverse",))
    (0.5, 0.7, -1.0)
    """
    if not isinstance(step, str):
        return check_real("step", step, low=0.0, high=1.0, open_low=True, open_high=True)
    return POWERS.get(check_choice("step", step, (*others, *POWERS)), -1.0)
