"""Submits and stops jobs by Ray's job manager, as `ray job submit` and `ray job stop` do, but without the web server.

``python -m tests.search.jobs ADDRESS submit|stop|wait ID [ENTRYPOINT]``. The web server needs ``ray[default]``; the
manager is part of every Ray.
"""

import asyncio
import sys

import ray
from ray._private import worker
from ray.dashboard.modules.job.job_manager import JobManager


async def main(verb: str, name: str, entrypoint: str = "") -> str:
    """Return the status of the job."""
    connected = worker.global_worker
    manager = JobManager(connected.gcs_client, connected.node.get_logs_dir_path())
    if verb == "submit":
        await manager.submit_job(submission_id=name, entrypoint=entrypoint)
    elif verb == "stop":
        manager.stop_job(name)
    while True:
        status = await manager.get_job_status(name)
        if status is not None and (status.is_terminal() or (verb == "submit" and status.name == "RUNNING")):
            return str(status.name)
        await asyncio.sleep(0.2)


if __name__ == "__main__":
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level="error")
    print(asyncio.run(main(*sys.argv[2:])))
