"""The independent verifier: replays an algorithm against its instance, and trusts nobody."""

from syncoll.verify.replay import Violation, require_valid, violations

__all__ = ["Violation", "require_valid", "violations"]
