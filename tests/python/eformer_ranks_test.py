"""eformer's functions that several JAX processes call together."""

import unittest

import distributed_case

BEGIN = """
    import warnings
    warnings.simplefilter("ignore")
    from tessera.eformer.escale.partition import constraints as c
    from tessera.eformer.serialization import sharding_utils as s, utils as u
    values = np.arange(16 * 4, dtype=np.float32).reshape(16, 4)
    grid = mesh(count, 2)
"""


class RanksTest(distributed_case.DistributedCase):
    def test_an_array_of_several_processes_is_gathered_on_each(self):
        told = self.processes(BEGIN + """
    answers = []
    for spec in (P("dp", "tp"), P(("tp", "dp")), P(None, "tp"), P()):
        whole = u.to_host(spread(values, grid, spec), None, grid, False)
        answers.append(whole.tobytes() == values.tobytes())
    half = u.to_host(spread(values, grid, P("dp")), "bf16", grid, False)
    answers.append(half.tobytes() == values.astype(ml_dtypes.bfloat16).tobytes())
    state = u.apply_gather_functions({"w": spread(values, grid, P("dp"))}, True, False, False)
    answers.append(state["w"].tobytes() == values.tobytes())
    tell(*answers)
    """, 2)
        self.assertEqual(told, [[[True] * 6]] * 2)

    def test_host_arrays_are_placed_without_a_word_to_the_others(self):
        told = self.processes(BEGIN + """
    shard, gather = c.make_shard_and_gather_fns({"w": P("dp", "tp")}, grid)
    placed = shard["w"](values)
    tell(placed.sharding == NamedSharding(grid, P("dp", "tp")), here(placed)(values),
         gather["w"](placed).tobytes() == values.tobytes(),
         outcome(lambda: shard["w"](values[:15])).split(":")[0])
    """, 2)
        self.assertEqual(told, [[[True, True, True, "IndivisibleError"]]] * 2)

    def test_a_tensor_of_the_first_process_comes_to_all(self):
        told = self.processes(BEGIN + """
    values[0, 0], values[1, 1] = -0.0, np.nan
    mine = values if rank == 0 else np.zeros_like(values)
    sent = u.broadcast_tensor(mine, 48)
    placed = u.broadcast_tensor(mine, 1 << 20, NamedSharding(grid, P("dp")))
    tell(sent.tobytes() == values.tobytes(), here(placed)(values),
         outcome(lambda: u.broadcast_tensor(values[:8 + rank], 100)).split(":")[0])
    """, 2)
        self.assertEqual(told, [[[True, True, "ValueError"]]] * 2)

    def test_arrays_of_one_process_stay_its_own(self):
        told = self.processes(BEGIN + """
    own = jax.device_put(values, jax.local_devices()[1])
    far = spread(values, grid, P("dp"))
    if rank == 0:  # nobody else needs to come
        tell(u.to_host(own, None, grid, False).tobytes() == values.tobytes())
    made = s.make_itsharded({"own": own, "far": far, "n": 3}, grid)
    tell(made["far"] is far, made["own"].sharding == NamedSharding(grid, P()),
         here(made["own"])(values))
    """, 2)
        self.assertEqual([row[-1] for row in told], [[True, True, True]] * 2)
        self.assertEqual(told[0][0], [True])

    def test_arrays_of_several_processes_move(self):
        told = self.processes(BEGIN + """
    placed = spread(values, grid, P("dp"))
    moved = u.reshard(placed, NamedSharding(grid, P("tp")))
    with grid:
        fitted = c.with_sharding_constraint(placed, P(None, ("dp", "tp")))
    tell(here(moved)(values), here(fitted)(values), fitted.sharding.shard_shape((16, 4)))
    """, 2)
        self.assertEqual(told, [[[True, True, [16, 1]]]] * 2)


if __name__ == "__main__":
    unittest.main()
