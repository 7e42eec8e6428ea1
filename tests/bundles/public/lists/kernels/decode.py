import torch
import triton
import triton.language as tl

KEYS = 64


@triton.jit
def decode_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    seq_lens_ptr,
    out_ptr,
    sm_scale,
    group,
    k_row,
    k_key,
    k_head,
    v_row,
    v_key,
    v_head,
    D: tl.constexpr,
    BLOCK_D: tl.constexpr,
    KEYS: tl.constexpr,
):
    """One row and one head of q: softmax over the visible keys in a single pass."""
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    heads = tl.num_programs(1)
    kv_head = head // group
    # The length is read here, on the device, at every replay.
    length = tl.load(seq_lens_ptr + row)

    d = tl.arange(0, BLOCK_D)
    inside = d < D
    q = tl.load(q_ptr + (row * heads + head) * D + d, mask=inside, other=0.0).to(tl.float32)
    q *= sm_scale

    best = tl.full((), float("-inf"), tl.float32)
    total = tl.zeros((), tl.float32)
    answer = tl.zeros((BLOCK_D,), tl.float32)
    for start in range(0, length, KEYS):
        key = (start + tl.arange(0, KEYS)).to(tl.int64)
        visible = key < length
        cells = visible[:, None] & inside[None, :]
        k_cells = k_ptr + row * k_row + key[:, None] * k_key + kv_head * k_head + d[None, :]
        k = tl.load(k_cells, mask=cells, other=0.0).to(tl.float32)
        scores = tl.where(visible, tl.sum(k * q[None, :], axis=1), float("-inf"))
        # What was summed up so far is rescaled to the new maximum.
        peak = tl.maximum(best, tl.max(scores, axis=0))
        keep = tl.exp(best - peak)
        shares = tl.exp(scores - peak)
        v_cells = v_ptr + row * v_row + key[:, None] * v_key + kv_head * v_head + d[None, :]
        v = tl.load(v_cells, mask=cells, other=0.0).to(tl.float32)
        answer = answer * keep + tl.sum(shares[:, None] * v, axis=0)
        total = total * keep + tl.sum(shares, axis=0)
        best = peak

    answer = (answer / total).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + (row * heads + head) * D + d, answer, mask=inside)


def decode(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    seq_lens: torch.Tensor,
    sm_scale: float,
    out: torch.Tensor,
) -> None:
    """q (B, Hq, D), k and v (B, S, Hkv, D), seq_lens int32 (B) → out (B, Hq, D).

    Row b attends to its first seq_lens[b] keys.
    """
    batch, q_heads, head_dim = q.shape
    decode_kernel[(batch, q_heads)](
        q,
        k,
        v,
        seq_lens,
        out,
        sm_scale,
        q_heads // k.shape[2],
        *k.stride()[:3],
        *v.stride()[:3],
        D=head_dim,
        BLOCK_D=triton.next_power_of_2(head_dim),
        KEYS=KEYS,
    )
