"""Pure functions from a server's description to the command that runs it, one module for each kind of server."""
