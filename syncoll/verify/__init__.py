"""The independent verifier: replays an algorithm against its instance, and trusts nobody."""

from syncoll.verify.replay import require_valid, violations
from syncoll.verify.violation import Violation

__all__ = ["Violation", "require_valid", "violations"]
