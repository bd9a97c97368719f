GLOSSARY: dict[str, str] = {}
