"""A small packaged world for ``kgrag demo``: texts and mapped data about growing crops in an invented valley."""
