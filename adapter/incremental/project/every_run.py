"""Whether a model's SQL is the same in a first build as in later runs."""

from __future__ import annotations

import jinja2
from dbt_common.clients.jinja import get_environment
from jinja2 import nodes

from .conditional_reads import Macros

_DIFFERS = frozenset({"flags", "is_incremental", "should_full_refresh", "this"})
"""What a template asks to tell a first build from later runs."""


def same_in_every_run(sql: str, macros: Macros) -> bool:
    """Whether a model's SQL, as it is written, asks for nothing that differs between its runs.

    ``macros``: the project's own, in which it may ask too. A template that cannot be parsed may ask for anything.
    """
    seen, waiting = set[str](), [sql]
    while waiting:
        try:
            template = get_environment().parse(waiting.pop())
        except jinja2.TemplateError:
            return False
        new = _names_in(template) - seen
        if new & _DIFFERS:
            return False
        seen |= new
        waiting += [text for name in new for text in macros.get(name, ())]
    return True


def _names_in(template: nodes.Template) -> set[str]:
    """The names of variables, of attributes such as ``package.macro``, and the texts that ``dispatch`` may be given."""
    names = {each.name for each in template.find_all(nodes.Name)}
    names |= {each.attr for each in template.find_all(nodes.Getattr)}
    return names | {each.value for each in template.find_all(nodes.Const) if isinstance(each.value, str)}
