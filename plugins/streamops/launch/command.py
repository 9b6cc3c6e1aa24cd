"""The command line of spark-submit."""

from streamops.launch.port import SubmitRequest


def spark_submit_command(request: SubmitRequest) -> list[str]:
    """The argument list; nothing secret is in it, since every user of the host can read it."""
    command = [request.spark_submit, "--master", request.master, "--deploy-mode", request.deploy_mode]
    command += ["--name", request.name]
    if request.queue:
        command += ["--queue", request.queue]
    for key, value in request.conf:
        command += ["--conf", f"{key}={value}"]
    if request.jars:
        command += ["--jars", ",".join(request.jars)]
    if request.py_files:
        command += ["--py-files", ",".join(request.py_files)]
    return [*command, request.application, *request.arguments]
