"""Launchers of ranks: real ones, and what they put into the environment."""

import os

import pytest

from harness import need_command

HERE = os.path.dirname(os.path.abspath(__file__))

# MPICH's UCX writes code of its own into the program at run time to see memory come and go: rfprof does not count threads
# that come by such code.
MPIS = {
    "openmpi": {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                "OMPI_MCA_btl_vader_single_copy_mechanism": "cma"},
    "mpich": {"UCX_MEM_EVENTS": "n", "UCX_LOG_LEVEL": "error"},
}


def fake(rank, size, **more):
    """The environment of a rank, as Open MPI's mpirun has it."""
    return {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(size), "OMPI_COMM_WORLD_LOCAL_RANK": str(rank),
            "OMPI_COMM_WORLD_LOCAL_SIZE": str(size), **more}


class Mpi:
    """One of the MPIs, to compile and launch with."""

    def __init__(self, t, name):
        self.t, self.name, self.environment = t, name, MPIS[name]
        self.mpirun = need_command(f"/usr/bin/mpirun.{name}")
        self.compiler = need_command(f"/usr/bin/mpicc.{name}")

    def program(self, source="ranks.c", flags=()):
        return self.t.programs.build(os.path.join(HERE, "programs", source), flags, (), self.compiler)

    def run(self, n, *command, **options):
        return self.t.run([self.mpirun, "-np", str(n), *command], env=self.environment, **options)

    def profile(self, n, *words, **options):
        return self.run(n, self.t.rfprof_path, *words, **options)


@pytest.fixture(params=sorted(MPIS))
def mpi(t, request):
    return Mpi(t, request.param)
