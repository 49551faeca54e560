"""The documentation as a site: the repository's pages, and a reference of the public names from their docstrings."""
