"""Routes for versions of vLLM that know no endpoint plugins (before 0.27): added where vLLM adds its own."""

import importlib.util
import os
from typing import Any

from specchat_vllm.fuse import need
from specchat_vllm.routes import plugin


def patch(module: Any) -> None:
    """Wrap the function that adds routes to the application; does nothing where vLLM loads endpoint plugins itself.

    As there, the routes must be named in VLLM_PLUGINS. The API server may run as `__main__`, where its own functions
    cannot be found, so this is the function that it imports when it builds the application.
    """
    if importlib.util.find_spec("vllm.plugins.endpoint_plugins") is not None:
        return
    routes = plugin()
    if routes.name not in os.environ.get("VLLM_PLUGINS", "").split(","):
        return
    need(module, "register_vllm_serve_api_routers")
    add_routes = module.register_vllm_serve_api_routers

    def wrapped(app: Any, *args: Any, **kwargs: Any) -> Any:
        result = add_routes(app, *args, **kwargs)
        routes.attach_router(app)
        return result

    module.register_vllm_serve_api_routers = wrapped
