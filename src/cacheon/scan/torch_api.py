"""What the scan knows of torch's names: where a result lies and what it shares."""

CREATIONS = frozenset(
    "empty zeros ones full arange linspace logspace eye rand randn randint randperm "
    "empty_strided empty_permuted scalar_tensor tril_indices triu_indices "
    "hann_window hamming_window".split()
)
"""They fill memory on the device that they are told; without one, the host's."""

LIKES = frozenset(
    "empty_like zeros_like ones_like full_like rand_like randn_like randint_like".split()
)
NEWS = frozenset("new_empty new_zeros new_ones new_full new_empty_strided".split())

MAKERS = frozenset("tensor as_tensor asarray from_numpy frombuffer Tensor FloatTensor".split())
"""They read Python objects."""

METADATA = frozenset(
    "shape dtype device ndim is_cuda nbytes itemsize layout requires_grad grad_fn is_leaf "
    "is_sparse is_quantized names is_nested is_meta is_cpu is_xpu is_mps is_mtia is_xla is_mkldnn "
    "is_sparse_csr retains_grad output_nr _version".split()
)
"""Attributes that ask nothing of the contents."""

QUESTIONS = frozenset(
    "size stride dim numel nelement element_size is_contiguous storage_offset ndimension "
    "is_floating_point is_complex get_device data_ptr is_pinned is_shared type dim_order "
    "has_names __len__ is_signed is_inference __dlpack_device__ __dlpack__ is_same_size is_set_to "
    "is_conj is_neg is_coalesced is_distributed sparse_dim dense_dim _nnz _use_count _is_view "
    "_is_zerotensor sym_size sym_stride sym_numel sym_storage_offset".split()
)
"""Methods of a tensor that ask nothing of its contents."""

READS = {
    "item": "`.item()`",
    "tolist": "`.tolist()`",
    "numpy": "`.numpy()`",
    "__array__": "`__array__`",
    "is_nonzero": "`.is_nonzero()`",
    "equal": "`.equal()`",
    "allclose": "`.allclose()`",
    "__int__": "`int()`",
    "__float__": "`float()`",
    "__index__": "the use as an index",
    "__repr__": "printing",
    "__format__": "formatting",
    "__contains__": "`in`",
}
"""Methods whose answer is a Python object made of the contents."""

FILLS = {
    "masked_fill": 2,
    "masked_fill_": 2,
    "index_fill": 3,
    "index_fill_": 3,
    "full": 1,
    "full_like": 1,
    "new_full": 2,
}
"""A tensor that they are given as the value, at this place, is read on the host."""

CHECKED = frozenset("cholesky inv inverse solve eigh eigvalsh lu_factor ldl_factor".split())
"""Of linear algebra: they ask the device whether all went well. Documented by torch."""

SHAPES = frozenset(
    "nonzero argwhere masked_select unique unique_consecutive unique_dim bincount "
    "nonzero_static_ combinations".split()
)
"""The size of their result hangs on contents."""

VIEWS = frozenset(
    "view view_as transpose permute expand expand_as unsqueeze squeeze narrow select chunk "
    "split unbind tensor_split unfold as_strided detach swapaxes swapdims movedim moveaxis "
    "t diagonal real imag view_as_real view_as_complex unflatten hsplit vsplit dsplit "
    "split_with_sizes alias slice_scatter_ __getitem__".split()
)
"""Their result lies in the memory of their argument, whatever the argument is."""

ATTRIBUTE_VIEWS = frozenset("T mT H mH data real imag".split())

SEVERAL = frozenset(
    "chunk split unbind tensor_split hsplit vsplit dsplit split_with_sizes topk sort kthvalue "
    "mode meshgrid aminmax svd qr eigh slogdet cummax cummin frexp split_with_sizes_copy "
    "unbind_copy broadcast_tensors atleast_2d_".split()
)
"""They give several tensors."""

BY_DIM = frozenset("max min median nanmedian".split())
"""They give two tensors once a dim is given."""

MASKS = frozenset(
    "any all eq ne lt gt le ge isnan isinf isfinite isclose logical_and logical_or "
    "logical_not logical_xor signbit isin isneginf isposinf equal_ bool greater less "
    "greater_equal less_equal not_equal".split()
)
"""Their result is of booleans."""

HOST_ANSWERS = frozenset(
    "is_tensor is_floating_point is_complex numel finfo iinfo device dtype Size get_default_dtype "
    "promote_types result_type can_cast is_grad_enabled is_inference_mode_enabled "
    "is_autocast_enabled get_autocast_dtype get_num_threads broadcast_shapes "
    "are_deterministic_algorithms_enabled is_storage typename get_default_device "
    "get_float32_matmul_precision get_num_interop_threads get_deterministic_debug_mode "
    "is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled is_anomaly_enabled "
    "is_anomaly_check_nan_enabled is_autocast_cpu_enabled is_autocast_cache_enabled "
    "is_vulkan_available get_autocast_gpu_dtype get_autocast_cpu_dtype cudnn_is_acceptable "
    "_is_functional_tensor _is_functional_tensor_base _has_compatible_shallow_copy_type "
    "_debug_has_internal_overlap".split()
)
"""Functions of torch that answer from metadata or settings."""

NAMESPACES = (
    "torch.nn.functional.",
    "torch.linalg.",
    "torch.special.",
    "torch.fft.",
    "torch.ops.aten.",
    "torch._C._nn.",
)
"""Beside torch itself: functions of tensors that give tensors."""

CLASSES = {
    "torch.cuda.Stream": "torch.cuda.Stream",
    "torch.cuda.ExternalStream": "torch.cuda.Stream",
    "torch.Stream": "torch.cuda.Stream",
    "torch.cuda.Event": "torch.cuda.Event",
    "torch.Event": "torch.cuda.Event",
    "torch.Generator": "torch.Generator",
    "torch.cuda.CUDAGraph": "torch.cuda.CUDAGraph",
    "logging.getLogger": "logging.Logger",
    "itertools.count": "itertools.count",
    "itertools.cycle": "itertools.cycle",
    "numpy.random.default_rng": "numpy.random.Generator",
    "numpy.random.RandomState": "numpy.random.RandomState",
    "random.Random": "random.Random",
}
GRAPHED = "torch.compile in this mode"
"""A call of what `torch.compile` made, with graphs of its own."""
DESCRIPTORS = ("TensorDescriptor", "make_tensor_descriptor", "create_2d_tma_descriptor")
"""Ends of names whose result holds the address of a tensor."""

STREAM, EVENT = "torch.cuda.Stream", "torch.cuda.Event"
PROCESS_GROUP = "torch.distributed.ProcessGroup"
OF_A_GROUP = frozenset(
    "allgather allgather_into_tensor_coalesced allreduce allreduce_coalesced alltoall "
    "alltoall_base barrier broadcast gather monitored_barrier reduce reduce_scatter "
    "reduce_scatter_tensor_coalesced scatter send recv recv_anysource".split()
)
"""Methods of a process group that other ranks have to call too."""
CURRENT, DEFAULT = "current", "default"
CAPTURE_QUESTIONS = frozenset(
    {
        "torch.cuda.is_current_stream_capturing",
        "torch.cuda.graphs.is_current_stream_capturing",
        "torch._C._cuda_isCurrentStreamCapturing",
    }
)
ALIASES = {
    "torch.cuda.streams.": "torch.cuda.",
    "torch.cuda.graphs.": "torch.cuda.",
    "torch.functional.": "torch.",
    "torch.distributed.distributed_c10d.": "torch.distributed.",
    "torch.accelerator.": "torch.cuda.",
    "torch.random.": "torch.",
    "torch.cuda.random.": "torch.cuda.",
}
"""Longer ways to the same names."""


def canonical(name: str) -> str:
    """The shortest public spelling of a name of torch."""
    for prefix, short in ALIASES.items():
        if name.startswith(prefix):
            return short + name[len(prefix) :]
    return name


def function_of_tensors(name: str) -> str:
    """`add` of `torch.add` or `torch.nn.functional.silu`; "" for any other name."""
    for prefix in NAMESPACES:
        if name.startswith(prefix):
            return name[len(prefix) :].partition(".")[0]
    first, _, last = name.rpartition(".")
    return last if first == "torch" else ""
