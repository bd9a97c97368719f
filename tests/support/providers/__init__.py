"""Model providers of our own on loopback that speak the real wire formats, well or badly, as each test says."""
