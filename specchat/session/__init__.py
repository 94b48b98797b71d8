"""One conversation with one or two servers: asyncio, but no HTTP and no Textual."""
