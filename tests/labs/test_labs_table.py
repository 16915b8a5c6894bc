"""The labs' table of contents says what the worksheets say, and no lab lacks a part."""

import re

import pytest

from ddl_class.labs.command import LABS, lab_folders, title

PARTS = {"worksheet.md", "program.py", "job.sbatch", "checker.py", "instructor.md"}
ROW = re.compile(r"\| \[(.+)\]\((.+)/worksheet\.md\) \| (\d+) \|")


def test_every_lab_has_its_row_with_its_title_and_minutes():
    rows = ROW.findall((LABS / "README.md").read_text())
    said = []
    for name, folder in lab_folders().items():
        minutes = re.search(
            r"^\*\*Time\.\*\* (\d+) minutes", (folder / "worksheet.md").read_text(), re.M
        )
        said.append((title(folder).removeprefix("Lab "), name, minutes[1]))
    assert rows == said


@pytest.mark.parametrize("name", lab_folders())
def test_a_lab_is_whole_and_its_batch_script_runs_it(name):
    folder = lab_folders()[name]
    assert {path.name for path in folder.iterdir()} >= PARTS
    script = (folder / "job.sbatch").read_text()
    assert "cluster_setup/slurm/begin.sh" in script
    assert f"$DDL_TEACH_COURSE/labs/{name}/program.py" in script
    assert script.rstrip().endswith('"$@"')
    for other in re.findall(r"labs/(\w+)/(?:program\.py|job\.sbatch)", script):
        assert other == name
