"""The methods of class Tensor that are about layouts. torch.sparse has what they do."""

from mindtorch_v2._C import Tensor

_METHODS = {
    "_coalesced_": "Says whether each place is named once, in order.",
    "_dimI": "The number of sparse dims.",
    "_dimV": "The number of dense dims.",
    "_indices": "The coordinates of a COO tensor, as they are.",
    "_nnz": "The number of entries.",
    "_values": "The values of a COO tensor, as they are, without their history.",
    "ccol_indices": "Where the columns of a CSC tensor begin.",
    "coalesce": "The COO tensor with each place named once, in order.",
    "col_indices": "The columns of the entries of a CSR tensor.",
    "crow_indices": "Where the rows of a CSR tensor begin.",
    "dense_dim": "The number of dims that the values have.",
    "hspmm": "torch.hspmm.",
    "indices": "The coordinates of a coalesced COO tensor, one column for each entry.",
    "is_coalesced": "Whether each place is named once, in order.",
    "row_indices": "The rows of the entries of a CSC tensor.",
    "smm": "torch.smm.",
    "sparse_dim": "The number of dims that have coordinates.",
    "sparse_mask": "The elements at the places of a sparse tensor.",
    "sparse_resize_": "Other sizes of a COO tensor, in place.",
    "sparse_resize_and_clear_": "Other sizes of a COO tensor, in place, without entries.",
    "sspaddmm": "torch.sspaddmm.",
    "to_sparse": "The tensor in a sparse layout, COO where none is named.",
    "to_sparse_bsc": "The matrix by its columns of blocks.",
    "to_sparse_bsr": "The matrix by its rows of blocks.",
    "to_sparse_coo": "The tensor by the coordinates of what is not zero.",
    "to_sparse_csc": "The matrix by its columns.",
    "to_sparse_csr": "The matrix by its rows.",
    "values": "The values of a coalesced sparse tensor.",
}


def _method(name, doc):
    def method(self, *args, **kwargs):
        from mindtorch_v2 import sparse
        from mindtorch_v2.sparse._tensor import HANDLERS

        del sparse  # imported for what it registers
        return HANDLERS[name](self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = doc
    return method


def _to_dense(self, dtype=None, *, masked_grad=None):
    """The strided tensor.

    >>> torch.eye(2).to_sparse().to_dense()
    tensor([[1., 0.],
            [0., 1.]])
    """
    return self if dtype is None else self.to(dtype)


for _name, _doc in _METHODS.items():
    setattr(Tensor, _name, _method(_name, _doc))
Tensor.to_dense = _to_dense
