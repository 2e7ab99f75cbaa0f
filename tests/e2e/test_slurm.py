"""srun rfprof, in a Slurm of one node that the test starts."""

import os
import tempfile

import pytest

from launchers import Mpi
from slurm import Slurm
from test_ranks import check_sum, flop_of_work, report, truths

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def slurm():
    if os.geteuid() != 0:
        pytest.skip("Slurm's daemons are started as root")
    with tempfile.TemporaryDirectory(prefix="rfprof-slurm-") as where, Slurm(where) as started:
        yield started


@pytest.mark.parametrize("name, manager", [("openmpi", "pmix"), ("mpich", "pmi2")])
def test_ranks_below_srun(t, slurm, name, manager):
    mpi = Mpi(t, name)
    program = mpi.program()
    environment = {**mpi.environment, **slurm.environment}
    srun = ["srun", f"--mpi={manager}", "-n", "2", "--overcommit"]
    native = t.run([*srun, program, "500"], env=environment)
    result = t.run([*srun, t.rfprof_path, "--keep-roofs", program, "500"], env=environment)
    assert result.status == native.status == 0, f"{native}\n{result}"
    assert truths(result.stdout) == truths(native.stdout)
    assert result.stderr.count(b" s wall") == 1, str(result)
    paths = [os.path.join(t.work, f"rfprof-ranks.{rank}.rfp") for rank in (0, 1)]
    merged = report(t, t.work)
    assert flop_of_work(merged) == sum(truths(native.stdout).values())
    check_sum(t, paths, merged)


def test_statuses_below_srun(t, slurm):
    """One of the ranks fails: as natively.  Ranks need not be of MPI."""
    words = ["/bin/sh", "-c", "exit $SLURM_PROCID"]
    srun = ["srun", "-n", "3", "--overcommit"]
    native = t.run([*srun, *words], env=slurm.environment)
    result = t.run([*srun, t.rfprof_path, "-q", "--keep-roofs", *words], env=slurm.environment)
    assert result.status == native.status == 2, f"{native}\n{result}"
    assert [row["exit_status"] for row in report(t, t.work)["ranks"]] == ["0", "1", "2"]


def test_one_task_is_no_rank(t, slurm):
    result = t.run(["srun", "-n", "1", t.rfprof_path, "--keep-roofs", "/bin/true"], env=slurm.environment)
    assert result.status == 0 and b"run 2/2 counts it" in result.stderr, str(result)
    assert os.path.exists(os.path.join(t.work, "rfprof-true.rfp"))
