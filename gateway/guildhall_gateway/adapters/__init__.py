"""How the gateway reaches external tools. What a server says is material here: cut, escaped, never believed."""
