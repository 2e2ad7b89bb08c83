"""``skipstack serve``: serves the predictions of a bundle over HTTP."""

from skipstack.dashboards.commands.options import BundlePath, Code, ComputeDevice, Hosts, Port
from skipstack.dashboards.reports.printing import say
from skipstack.data.basis.parts import need


def serve(
    bundle: BundlePath,
    port: Port = None,
    host: Hosts = None,
    device: ComputeDevice = "auto",
    code: Code = None,
) -> None:
    """Serve the predictions of a bundle over HTTP.

    POST /predict takes {"texts": ["..."]}, or {"tokens": [["...", "..."]]} for texts that are split already, and
    answers with the words and tags of each, as `skipstack predict` predicts them. GET / shows the model card, and a
    field to try a text; GET /schema describes it all (OpenAPI). Only this machine can reach the server. Ctrl-C ends it.
    """
    need("starlette", "serve")
    from skipstack.dashboards.web.serving import address_of, check_hosts, listening, serve_until_interrupted

    check_hosts(host or ())
    with listening(port) as listener:
        from skipstack.dashboards.web.predictions import predictions
        from skipstack.models.ground.device import choose_device
        from skipstack.search.publishing.bundles.bundle import load_bundle

        loaded = load_bundle(bundle, choose_device(device), code or ())
        loaded.predict([["first"]])  # compiles the kernels, and raises UserError for a network that does not read text
        address = address_of(listener)
        print(address, flush=True)
        say(f"""try it: curl {address}/predict -d '{{"texts": ["the old dogs sleep"]}}'""")
        serve_until_interrupted(predictions(loaded), listener, host or ())
