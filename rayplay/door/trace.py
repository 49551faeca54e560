"""``rayplay trace``: a scene is rendered, a launch file is launched, a network is profiled."""

from collections.abc import Sequence
from pathlib import Path

from rayplay.door.parser import Parser, composed, verb_of
from rayplay.subject import launch_file, verb_for
from rayplay.tracer.__main__ import parser as tracer_parser
from rayplay.tracer.__main__ import perform

RENDER = "render"


def parser(verb: str, words: Sequence[str] = ()) -> Parser:
    """The parser of the tracer's verb that fits what ``words`` name; of ``render`` when they name nothing."""
    scenes = _parser(verb, RENDER)
    named = [words[place] for place in scenes.positions(words)]
    fitting = verb_for(named[0]) if named else RENDER
    return scenes if fitting == RENDER else _parser(verb, fitting)


def _parser(verb: str, fitting: str) -> Parser:
    made = composed(f"rayplay {verb}", verb_of(tracer_parser(), fitting))
    for action in made._actions:
        if action.dest in ("launch", "network") and action.type is Path:
            action.type = launch_file
    made.set_defaults(perform=perform, verb=fitting)
    return made
