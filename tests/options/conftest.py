"""Tests of options call hundreds of commands in this process."""

from tests.cli.validators import _validators_are_kept as _validators_are_kept
