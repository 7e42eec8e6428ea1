"""The eleven slots as data: names, shapes, catalogue, and the descriptor of every call."""

import pytest

from cacheon.contract.building import build_case, valid, work_of
from cacheon.contract.case import Case
from cacheon.contract.descriptor import (
    NUMBER_FIELDS,
    TEXT_FIELDS,
    Context,
    describe,
    with_derived,
)
from cacheon.contract.domain import Domain
from cacheon.contract.slots import SLOTS, slot
from cacheon.contract.slots.expression import ExpressionError, evaluate, names, whole
from cacheon.contract.targets import TARGETS, target
from cacheon.records.errors import InputError

CONTEXT = Context(dtype="bfloat16", architecture="sm90", graph_mode="cuda_graph")

ENTRIES = {
    "activation.silu_and_mul": "x out",
    "norm.rmsnorm": "x weight out eps",
    "attention.sdpa": "q k v out sm_scale causal",
    "attention.decode": "q k v seq_lens sm_scale out",
    "attention.msa_block_score": "q index_k seq_lens block_size out",
    "attention.msa_prefill_block_score": "q index_k prefix_len scale block_size out",
    "moe.fused_experts": "x topk_ids topk_weights prepared out",
    "moe.fused_experts_reduce": "x topk_ids topk_weights prepared out group",
    "collective.all_reduce": "x out group",
    "collective.ar_residual_rmsnorm": "x residual weight eps out_norm out_residual group",
    "collective.moe_finalize_ar_rmsnorm": (
        "gemm_out row_map scales residual weight eps out_norm out_residual group"
    ),
}
FIELDS: dict[str, dict[str, str | int]] = {
    "activation.silu_and_mul": {"num_tokens": 333, "last_dim": 5760, "intermediate_dim": 2880},
    "norm.rmsnorm": {"num_tokens": 333, "last_dim": 1536, "hidden_dim": 1536},
    "attention.sdpa": {
        "num_tokens": 16,
        "q_len": 16,
        "kv_len": 16,
        "num_q_heads": 8,
        "num_kv_heads": 2,
        "head_dim": 128,
        "last_dim": 128,
    },
    "attention.decode": {
        "num_tokens": 3,
        "batch_size": 3,
        "kv_len": 48,
        "num_q_heads": 8,
        "num_kv_heads": 1,
        "head_dim": 128,
        "last_dim": 128,
        "phase": "decode",
    },
    "attention.msa_block_score": {
        "num_tokens": 3,
        "batch_size": 3,
        "kv_len": 4096,
        "num_q_heads": 4,
        "head_dim": 128,
        "last_dim": 128,
        "block_size": 128,
        "top_k": 8,
        "phase": "decode",
    },
    "attention.msa_prefill_block_score": {
        "num_tokens": 512,
        "q_len": 512,
        "kv_len": 2087,
        "num_kv_heads": 1,
        "head_dim": 128,
        "last_dim": 128,
        "block_size": 128,
        "top_k": 8,
        "phase": "prefill",
        "graph_mode": "eager",
    },
    "moe.fused_experts": {
        "num_tokens": 33,
        "hidden_dim": 320,
        "last_dim": 320,
        "intermediate_dim": 160,
        "num_experts": 16,
        "top_k": 4,
    },
    "moe.fused_experts_reduce": {
        "num_tokens": 33,
        "hidden_dim": 320,
        "last_dim": 320,
        "intermediate_dim": 160,
        "num_experts": 16,
        "top_k": 4,
        "ep_size": 1,
    },
    "collective.all_reduce": {"num_tokens": 128, "hidden_dim": 7168, "last_dim": 7168},
    "collective.ar_residual_rmsnorm": {"num_tokens": 256, "hidden_dim": 6144, "last_dim": 6144},
    "collective.moe_finalize_ar_rmsnorm": {
        "num_tokens": 224,
        "exp_tokens": 256,
        "top_k": 5,
        "hidden_dim": 6144,
        "last_dim": 6144,
        "ep_size": 1,
    },
}
"""What the descriptor of each slot's last catalogue shape says beside the context."""


def last_case(name: str) -> Case:
    shape = SLOTS[name].catalogue[-1]
    return build_case(SLOTS[name], "v", shape.dims, shape.choices, CONTEXT, Domain(), "catalogue")


def test_the_slots_stand_in_the_published_order() -> None:
    assert list(SLOTS) == list(ENTRIES)


@pytest.mark.parametrize("name", SLOTS)
def test_entries_take_tensors_scalars_prepared_and_group(name: str) -> None:
    contract = SLOTS[name]
    assert " ".join(contract.entry) == ENTRIES[name]
    given = {t.name for t in contract.tensors} - set(contract.prepare)
    given |= {s.name for s in contract.scalars}
    given |= {"prepared"} if contract.prepare else set()
    given |= {"group"} if contract.kind == "collective" else set()
    assert given == set(contract.entry)
    assert contract.prepare in ((), ("w13", "w2"))
    assert {t.name for t in contract.inputs} | {t.name for t in contract.outputs} == {
        t.name for t in contract.tensors
    }
    assert {t.name for t in contract.activations} == {t.name for t in contract.tensors if t.dynamic}


@pytest.mark.parametrize("name", SLOTS)
def test_a_descriptor_says_what_the_specification_lists(name: str) -> None:
    expected = {
        "dtype": "bfloat16",
        "architecture": "sm90",
        "graph_mode": "cuda_graph",
        "layout": "dense",
        "tp_size": 1,
        "world_size": 1,
        **FIELDS[name],
    }
    descriptor = last_case(name).descriptor
    assert descriptor == expected
    assert all(isinstance(descriptor[field], str) for field in TEXT_FIELDS & descriptor.keys())
    assert all(isinstance(descriptor[field], int) for field in NUMBER_FIELDS & descriptor.keys())
    assert descriptor.keys() <= TEXT_FIELDS | NUMBER_FIELDS


@pytest.mark.parametrize("name", SLOTS)
def test_catalogue_shapes_respect_the_slot(name: str) -> None:
    contract = SLOTS[name]
    for shape in contract.catalogue:
        assert valid(contract, shape.dims)
        assert not valid(contract, {**shape.dims, contract.counts[0]: 0})


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("attention.sdpa", {"T": 4, "Hq": 8, "Hkv": 3, "D": 64}),
        ("attention.msa_block_score", {"B": 4, "Hq": 4, "D": 128, "S": 1500, "block": 128}),
        ("moe.fused_experts", {"M": 4, "E": 2, "H": 256, "I": 128, "K": 3}),
        ("collective.moe_finalize_ar_rmsnorm", {"T": 9, "Te": 8, "K": 5, "H": 64}),
    ],
)
def test_what_a_slot_cannot_have_is_not_valid(name: str, dims: dict[str, int]) -> None:
    assert not valid(SLOTS[name], dims)


def test_the_prefill_output_is_pitched_and_float32() -> None:
    out = last_case("attention.msa_prefill_block_score").tensor("out")
    assert (out.dtype, out.shape, out.strides) == ("float32", (512, 17), (25, 1))
    assert out.span == 511 * 25 + 17


def test_scalars_are_those_of_the_call() -> None:
    assert last_case("norm.rmsnorm").scalars == {"eps": 1e-6}
    assert last_case("attention.sdpa").scalars == {
        "sm_scale": pytest.approx(128**-0.5),
        "causal": False,
    }
    assert last_case("attention.msa_prefill_block_score").scalars == {
        "prefix_len": 1575,
        "scale": pytest.approx(128**-0.5),
        "block_size": 128,
    }


def test_labels_name_the_dimensions() -> None:
    assert last_case("activation.silu_and_mul").label == "num_tokens=333 intermediate_dim=2880"
    assert last_case("attention.sdpa").label == (
        "num_tokens=16 num_q_heads=8 num_kv_heads=2 head_dim=128 causal=false"
    )


def test_work_is_the_bytes_of_inputs_and_outputs() -> None:
    assert work_of(last_case("activation.silu_and_mul")) == 333 * 2880 * 3 * 2
    with pytest.raises(KeyError):
        last_case("norm.rmsnorm").tensor("nothing")


def test_a_slot_is_found_by_its_name() -> None:
    assert slot("norm.rmsnorm") is SLOTS["norm.rmsnorm"]
    assert [t.name for t in slot("norm.rmsnorm").weights] == ["weight"]


def test_weights_of_the_rank_sum_differ_by_rank() -> None:
    reduce = SLOTS["moe.fused_experts_reduce"]
    assert {t.name for t in reduce.tensors if t.rank_varying} == {"w13", "w2"}
    alone = SLOTS["moe.fused_experts"]
    assert not any(t.rank_varying for t in alone.tensors)


def test_given_context_is_part_of_the_descriptor_but_the_slot_has_the_last_word() -> None:
    context = Context(
        dtype="float32",
        architecture="sm90",
        graph_mode="eager",
        tp_size=4,
        world_size=4,
        given={"model": "M", "phase": "prefill", "alignment": 16},
    )
    contract = SLOTS["attention.decode"]
    dims = with_derived(contract, contract.catalogue[0].dims)
    descriptor = describe(contract, dims, context)
    assert (descriptor["model"], descriptor["alignment"], descriptor["tp_size"]) == ("M", 16, 4)
    assert descriptor["phase"] == "decode"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "norm.rmsnrm",
            "slot: expected a slot of `cacheon slots`, such as norm.rmsnorm, got 'norm.rmsnrm'",
        ),
        (
            "rmsnorm",
            "slot: expected a slot of `cacheon slots`, such as norm.rmsnorm, got 'rmsnorm'",
        ),
        ("???", "slot: expected a slot of `cacheon slots`, got '???'"),
    ],
)
def test_an_unknown_slot_is_answered_with_near_names(name: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        slot(name)
    assert str(caught.value) == line


def test_targets_are_the_slots_and_one_atomic_pair() -> None:
    assert set(TARGETS) == {*SLOTS, "collective.moe_epilogue.v1"}
    assert target("norm.rmsnorm").members == ("norm.rmsnorm",)
    epilogue = target("collective.moe_epilogue.v1")
    assert epilogue.atomic
    assert epilogue.members == (
        "collective.ar_residual_rmsnorm",
        "collective.moe_finalize_ar_rmsnorm",
    )
    with pytest.raises(InputError, match="expected a registered target, got 'x'"):
        target("x")


@pytest.mark.parametrize(
    ("expression", "value"),
    [("2*d", 10), ("d - 1 + 3", 7), ("ceildiv(d, 2)", 3), ("7 // 2", 3), ("1e-6", 1e-6)],
)
def test_expressions(expression: str, value: float) -> None:
    assert evaluate(expression, {"d": 5}) == value


@pytest.mark.parametrize(
    "expression",
    ["d +", "e", "d / 2", "True", "'x'", "d.real", "abs(d)", "ceildiv(d)", "rsqrt(x=d)", "-d"],
)
def test_nothing_else_is_an_expression(expression: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(expression, {"d": 5})


def test_a_dimension_is_a_whole_number() -> None:
    with pytest.raises(ExpressionError):
        whole("rsqrt(d)", {"d": 4})
    assert names("ceildiv(P*block + T, block)") == {"P", "block", "T"}
