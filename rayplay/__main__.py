"""``python -m rayplay``, which is the command ``rayplay``."""

from rayplay.door.main import enter

if __name__ == "__main__":
    enter()
