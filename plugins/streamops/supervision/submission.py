"""From a claim to the one spark-submit that it stands for."""

from pathlib import Path

from streamops.control.state import Epoch
from streamops.launch import SubmitRequest
from streamops.spec import StreamSpec
from streamops.storage import join
from streamops.storage.address import local_path
from streamops.supervision.bundle import driver_bundle

FORCED_CONF = (
    # A manager's own restart would be a second driver behind our back.
    ("spark.yarn.maxAppAttempts", "1"),
    ("spark.driver.supervise", "false"),
)


def submit_request(spec: StreamSpec, epoch: Epoch, control: str, state_root: str) -> SubmitRequest:
    """What the launcher is asked for; the claim's own number, epoch and token are the driver's only arguments."""
    bundle = driver_bundle(state_root, user=control, access=spec.file_access)
    log = local_path(join(log_folder(state_root, spec.name), f"{epoch.number:06d}.log")) or ""
    return SubmitRequest(
        token=epoch.claim.token,
        name=f"streamops-{spec.name}-{epoch.number}",
        spark_submit=spec.launch.spark_submit,
        master=spec.launch.master,
        deploy_mode=spec.launch.deploy_mode,
        queue=spec.launch.queue,
        application=bundle.application,
        arguments=(
            *("--control", control),
            *("--record", str(epoch.record)),
            *("--epoch", str(epoch.number)),
            *("--token", epoch.claim.token),
            *("--log", log),
        ),
        conf=(*spec.conf, *FORCED_CONF),
        jars=spec.launch.jars,
        py_files=(bundle.library,),
        environment=_python_beside(spec.launch.spark_submit),
        variables=spec.launch.environment,
        log=log,
        access=spec.file_access,
        folder=spec.launch.folder or "/",
    )


def log_folder(state_root: str, stream: str) -> str:
    """Where the logs of a stream's drivers lie, one an epoch; each driver caps its own (`spark.logfile`)."""
    return join(state_root, "logs", stream)


def _python_beside(spark_submit: str) -> tuple[tuple[str, str], ...]:
    """spark-submit of a virtual environment needs its own interpreter, whatever `python3` the PATH names."""
    python = Path(spark_submit).parent / "python"
    return (("PYSPARK_PYTHON", str(python)), ("PYSPARK_DRIVER_PYTHON", str(python))) if python.is_file() else ()
