"""A Slurm of one node, with its own configuration in a directory: munged, slurmctld and slurmd, started by hand and ended by
their ids."""

import os
import secrets
import socket
import subprocess
import time

from harness import need_command

DAEMONS = ("/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd")
START_S = 30

CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={where}/munge.socket
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={where}/state
SlurmdSpoolDir={where}/spool
SlurmctldPidFile={where}/slurmctld.pid
SlurmdPidFile={where}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
SchedulerType=sched/builtin
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Slurm:
    def __init__(self, where):
        for path in (*DAEMONS, "/usr/bin/srun", "/usr/bin/sinfo"):
            need_command(path)
        self.where, self.running = where, []
        self.host = socket.gethostname().split(".")[0]
        self.environment = {"SLURM_CONF": os.path.join(where, "slurm.conf")}

    def __enter__(self):
        self.configure()
        try:
            self.start()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def path(self, name):
        return os.path.join(self.where, name)

    def write(self, name, data):
        with open(os.open(self.path(name), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(data)

    def configure(self):
        for name in ("state", "spool", "cgroup"):
            os.makedirs(self.path(name))
        self.write("munge.key", secrets.token_bytes(128))
        text = CONFIGURATION.format(where=self.where, host=self.host, ports=free_ports(2), cpus=os.cpu_count())
        self.write("slurm.conf", text.encode())
        # none is used, and yet one has to be named (22.05)
        self.write("cgroup.conf", f"CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nCgroupMountpoint={self.path('cgroup')}\n".encode())

    def daemon(self, *command):
        with open(self.path(os.path.basename(command[0]) + ".out"), "wb") as out:
            self.running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=self.where,
                                                 env={**os.environ, **self.environment}, start_new_session=True))

    def start(self):
        self.daemon(DAEMONS[0], "--foreground", "--force", *(f"--{option}={self.path('munge.' + name)}" for option, name in (
            ("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"), ("seed-file", "seed"))))
        self.wait(lambda: os.path.exists(self.path("munge.socket")))
        self.daemon(DAEMONS[1], "-D")
        self.daemon(DAEMONS[2], "-D", "-N", self.host)
        self.wait(self.is_idle)

    def wait(self, done):
        end = time.monotonic() + START_S
        while not done():
            assert time.monotonic() < end and all(each.poll() is None for each in self.running), self.said()
            time.sleep(0.2)

    def is_idle(self):
        result = subprocess.run(["sinfo", "-h", "-o", "%t"], env={**os.environ, **self.environment}, capture_output=True,
                                text=True, check=False)
        return result.stdout.strip() == "idle"

    def said(self):
        texts = []
        for name in sorted(os.listdir(self.where)):
            if name.endswith(".out"):
                with open(self.path(name), encoding="utf-8", errors="replace") as file:
                    texts.append(f"--- {name}\n{file.read()[-2000:]}")
        return "\n".join(texts)

    def end(self):
        for each in reversed(self.running):
            each.terminate()
        for each in reversed(self.running):
            try:
                each.wait(10)
            except subprocess.TimeoutExpired:
                each.kill()
                each.wait()
