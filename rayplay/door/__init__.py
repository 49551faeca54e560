"""The command ``rayplay``: one front door to the verbs of all packages."""
