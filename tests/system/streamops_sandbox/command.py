"""`streamops-sandbox …`: a broker, Airflow and an order generator on this machine, for trying things out."""

import contextlib
import json
import shlex
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from streamops.errors import StreamOpsError
from streamops_sandbox.orders import DEFAULT_MALFORMED_EVERY, DEFAULT_RATE, OrdersState
from streamops_sandbox.sandbox import Sandbox
from streamops_sandbox.status import SandboxStatus

app = typer.Typer(no_args_is_help=True, help=__doc__)
orders_app = typer.Typer(no_args_is_help=True, help="The order generator.")
app.add_typer(orders_app, name="orders")


@app.command()
def up(
    airflow: Annotated[bool, typer.Option(help="Start Airflow too, not the broker alone.")] = True,
) -> None:
    """Start what is not running and wait until it answers."""
    with _errors_told():
        _print_status(Sandbox.of_project().up(with_airflow=airflow))


@app.command()
def down() -> None:
    """Stop everything; data stays. Running streams are not stopped."""
    with _errors_told():
        Sandbox.of_project().down()


@app.command()
def reset() -> None:
    """Remove all data of the sandbox; refused while a part of it runs."""
    with _errors_told():
        Sandbox.of_project().reset()


@app.command()
def status(as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False) -> None:
    """Show what runs and where it answers."""
    with _errors_told():
        found = Sandbox.of_project().status()
        if as_json:
            typer.echo(json.dumps(asdict(found), default=str, indent=2))
        else:
            _print_status(found)


@app.command()
def env() -> None:
    """Print the variables the streams need, for `eval "$(streamops-sandbox env)"`."""
    with _errors_told():
        for name, value in Sandbox.of_project().environment().items():
            typer.echo(f"export {name}={shlex.quote(value)}")


@orders_app.command("start")
def start_orders(
    rate: Annotated[float, typer.Option(help="Orders a second.")] = DEFAULT_RATE,
    malformed_every: Annotated[
        int, typer.Option(help="Orders for one malformed record; 0: none.")
    ] = DEFAULT_MALFORMED_EVERY,
    count: Annotated[int | None, typer.Option(help="End after so many orders.")] = None,
) -> None:
    """Start the generator; it goes on where it ended."""
    with _errors_told():
        Sandbox.of_project().start_orders(rate=rate, malformed_every=malformed_every, count=count)


@orders_app.command("stop")
def stop_orders() -> None:
    """Stop the generator and show how far it got."""
    with _errors_told():
        _print_orders(Sandbox.of_project().stop_orders())


@orders_app.command("status")
def orders_status() -> None:
    """Show how far the generator has got, about a second behind."""
    with _errors_told():
        _print_orders(Sandbox.of_project().orders_state())


@contextlib.contextmanager
def _errors_told() -> Iterator[None]:
    try:
        yield
    except StreamOpsError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error


def _print_status(found: SandboxStatus) -> None:
    for daemon in found.daemons:
        pid = "" if daemon.pid is None else f"pid {daemon.pid}"
        typer.echo(f"{daemon.name:<24}{daemon.condition:<11}{pid:<12}{daemon.log}")
    if found.kafka_bootstrap:
        typer.echo(f"kafka    {found.kafka_bootstrap}")
    if found.airflow_url:
        typer.echo(f"airflow  {found.airflow_url}  user and password: {found.airflow_passwords}")
    _print_orders(found.orders)


def _print_orders(state: OrdersState | None) -> None:
    if state is None:
        typer.echo("orders   none yet")
    else:
        typer.echo(
            f"orders   {state.sent} acknowledged, {state.malformed} malformed, next number {state.next_order_id}"
            # The record of a killed generator says this too: the list of daemons tells the two apart.
            f"{', not ended' if state.running else ''}"
        )
