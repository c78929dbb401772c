"""What programs hold, move and send, on programs that can be counted by hand."""

import jax
import jax.numpy as jnp
import pytest

from sociarium.arena.program_costs import bytes_held, bytes_moved, kernels, messages

TEXT = """
  %ppermute.1 = u32[2,320]{1,0} collective-permute(%slice.1), channel_id=1
  %ppermute.2 = pred[320]{0} collective-permute-start(%slice.2), channel_id=1
  %sum.1 = s32[] all-reduce(%fusion.1), channel_id=1
  %fusion.1 = s32[320]{0} fusion(%ppermute.1), kind=kLoop
  %copy.1 = s32[320]{0} copy(%fusion.1)
"""


class Told:
    """A program of which the text is known."""

    def as_text(self):
        return TEXT


def test_messages_are_counted_with_the_bytes_of_each():
    assert messages(Told()) == [2 * 320 * 4, 320, 4]
    assert kernels(Told()) == 1


@pytest.mark.parametrize("donated", [False, True])
def test_what_is_written_over_is_held_once(donated):
    program = jax.jit(lambda x: x + 1, donate_argnums=0 if donated else ())
    compiled = program.lower(jnp.zeros(1000)).compile()
    assert bytes_held(compiled) == (4000 if donated else 8000)
    assert bytes_held(compiled, 3) == 3 * bytes_held(compiled)
    assert bytes_moved(compiled) == 8000 and messages(compiled) == []
