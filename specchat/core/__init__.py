"""The pure heart of specchat: no I/O, no clock, no asyncio. Times come in as arguments."""
