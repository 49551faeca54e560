"""Files that a verb shall write: what stands in their way is said before any work, and stays as it is."""

import json
from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.zatel import __main__ as command
from rayplay.zatel.verbs import whatif as whatif_command
from rayplay.zatel.verbs.targets import PNG_SIGNATURE, check_json_target, check_png_target

SAMPLED = ("estimate", "whatif", "scale")


def refusal(arguments: list[str]) -> str:
    """Message of a verb to these arguments; the trace does not exist, so no work can have begun."""
    options = command.parser().parse_args(arguments)
    with pytest.raises(UserError) as caught:
        command.perform(options)
    return str(caught.value)


@pytest.mark.parametrize("verb", SAMPLED)
def test_a_sampled_verb_refuses_a_bad_file_before_it_reads_the_trace(verb: str, tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text('{"format": "rayplay trace"}')
    start = [verb, "none.trace", "--gpu", "mobile", "--out"]
    assert refusal([*start, str(tmp_path / "README.md")]) == f"--out {tmp_path}/README.md: must end in .json"
    assert f"{manifest}: must be a new file or one that zatel {verb} wrote" in refusal([*start, str(manifest)])
    assert manifest.read_text() == '{"format": "rayplay trace"}'
    assert "folder" in refusal([*start, str(tmp_path / "none" / "x.json")])
    assert "none.trace" in refusal([*start, str(tmp_path / "new.json")])


def test_a_report_refuses_a_bad_picture_before_it_reads_the_prediction(tmp_path: Path) -> None:
    start = ["report", str(tmp_path / "none.prediction"), "--out"]
    assert "x.jpg: must end in .png" in refusal([*start, str(tmp_path / "x.jpg")])
    (tmp_path / "text.png").write_text("no picture")
    assert "must be a new file or a PNG" in refusal([*start, str(tmp_path / "text.png")])
    assert "none.prediction/prediction.json" in refusal([*start, str(tmp_path / "new.png")])


def test_only_a_file_of_the_same_verb_is_replaced(tmp_path: Path) -> None:
    check_json_target(None, whatif_command.KEYS, "whatif")
    out = tmp_path / "x.json"
    out.write_text(json.dumps(dict.fromkeys(whatif_command.KEYS)))
    check_json_target(out, whatif_command.KEYS, "whatif")
    for other in ('{"designs": []}', "[1]", "no JSON", ""):
        out.write_text(other)
        with pytest.raises(UserError, match="wrote, but holds something else"):
            check_json_target(out, whatif_command.KEYS, "whatif")
    (tmp_path / "x.png").write_bytes(PNG_SIGNATURE)
    check_png_target(tmp_path / "x.png")


def test_a_folder_is_no_file_and_must_be_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.json").mkdir()
    with pytest.raises(UserError, match="must be a file, but is a folder"):
        check_json_target(tmp_path / "x.json", frozenset(), "scale")
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    with pytest.raises(UserError, match="must be writable, but is not"):
        check_png_target(tmp_path / "x.png")
