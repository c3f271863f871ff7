//! The pools that an error can name.

/// A fixed pool of the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pool {
    /// One node per live allocation.
    Nodes,
    /// One entry per allocation on a group list.
    GroupEntries,
    /// One record per model and core.
    Models,
    /// One record per placed variable.
    MemRefs,
    /// Tensor views.
    Tensors,
    /// Tensor backings.
    TensorStorages,
    /// Tensor sets.
    TensorSets,
    /// Names in tensor sets.
    TensorSetEntries,
    /// Tensors of one tensor list.
    TensorList,
    /// Inputs plus outputs of one model on one core.
    FeatureMaps,
    /// Reservations of device memory.
    Reservations,
    /// Carved ranges of the reservations, and the free runs between them.
    Ranges,
    /// Lists and tables of placed variables, and the functions of staged microcode libraries.
    Tables,
}

impl Pool {
    /// Name for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::GroupEntries => "group entries",
            Self::Models => "models",
            Self::MemRefs => "mem_refs",
            Self::Tensors => "tensors",
            Self::TensorStorages => "tensor storages",
            Self::TensorSets => "tensor sets",
            Self::TensorSetEntries => "names in tensor sets",
            Self::TensorList => "tensors of a list",
            Self::FeatureMaps => "feature maps of a model",
            Self::Reservations => "reservations",
            Self::Ranges => "ranges of the reservations",
            Self::Tables => "tables of variables and library functions",
        }
    }
}
