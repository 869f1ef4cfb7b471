// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names under which one function is known: the plain name, its numbered versions, and the variants
//! for the per-thread default stream (`_ptsz` for functions that take a stream, `_ptds` for the others).
//!
//! Limit: the bindings were made after the preprocessor had replaced the plain names, so the mapping is
//! derived: a plain name that a version's bindings lack stands for the lowest numbered one they have,
//! because a header never changes a plain name's meaning between two minor versions.

use crate::condition::Version;
use crate::model::{Model, Type};
use crate::source::{Source, SourceError};
use std::collections::{BTreeMap, BTreeSet};

/// Splits `cuMemAlloc_v2` into `cuMemAlloc` and 2.
pub fn split_version(name: &str) -> Option<(&str, u32)> {
    let (plain, number) = name.rsplit_once("_v")?;
    Some((plain, number.parse().ok()?))
}

/// What `cuGetProcAddress` gives for a plain name: `symbol` from CUDA `since` on, until a later row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub plain: String,
    pub since: Version,
    pub symbol: String,
}

/// Functions that drivers gave out under a version older than the first bindings that declare them:
/// `cudaTypedefs.h` asks with these versions (its `PFN_<name>_v<version>` types).
const GIVEN_EARLIER: &[(&str, Version)] = &[
    ("cuGreenCtxGetId", 12090),
    ("cuLaunchHostFunc_v2", 13010),
    ("cuLaunchKernelEx", 11060),
    ("cuMemBatchDecompressAsync", 12060),
    ("cuOccupancyMaxActiveClusters", 11070),
    ("cuOccupancyMaxPotentialClusterSize", 11070),
    ("cuStreamBeginCaptureToCig", 13010),
    ("cuStreamEndCaptureToCig", 13010),
];

/// Functions that took the place of one with other parameters which the oldest bindings no longer have:
/// who asks for an older version wants that one. `cudaTypedefs.h` has their versions.
const GIVEN_LATER: &[(&str, Version)] = &[
    ("cuCtxDestroy_v2", 4000),
    ("cuCtxPopCurrent_v2", 4000),
    ("cuCtxPushCurrent_v2", 4000),
    ("cuEventDestroy_v2", 4000),
    ("cuLinkAddData_v2", 6050),
    ("cuLinkAddFile_v2", 6050),
    ("cuLinkCreate_v2", 6050),
    ("cuMemHostRegister_v2", 6050),
    ("cuStreamBeginCapture_v2", 10010),
    ("cuStreamDestroy_v2", 4000),
    ("cuTexRefSetAddress2D_v3", 4010),
];

/// The first version whose device pointers and sizes have 64 bits: the other numbered functions of the
/// oldest bindings date from it.
const WIDE_POINTERS: Version = 3020;

/// The rows for `cuGetProcAddress`, sorted by plain name, then from the oldest form to the newest. A caller that
/// asks with version V gets the last row of the name whose `since` is at most V, so unlike a
/// header's macros this follows every minor version. `since` is 0 for what the oldest bindings have.
pub fn entries(source: &Source) -> Result<Vec<Entry>, SourceError> {
    let mut first_seen: BTreeMap<String, Version> = BTreeMap::new();
    let oldest = source.versions().next();
    for version in source.versions() {
        for function in source.model(version)?.functions {
            let since = if Some(version) == oldest { 0 } else { version };
            first_seen.entry(function.name).or_insert(since);
        }
    }
    for (name, since) in GIVEN_EARLIER {
        if let Some(seen) = first_seen.get_mut(*name) {
            *seen = (*seen).min(*since);
        }
    }
    let known: BTreeSet<String> = first_seen.keys().cloned().collect();
    let numbered_plain: BTreeSet<String> =
        first_seen.keys().filter_map(|name| Some(split_version(name)?.0.to_owned())).collect();
    for (name, since) in &mut first_seen {
        let numbered = split_version(name).is_some_and(|(plain, number)| {
            number > 1 && plain.starts_with("cu") && !known.contains(plain)
        });
        if *since == 0 && numbered {
            let later = GIVEN_LATER.iter().find(|(later, _)| later == name);
            *since = later.map_or(WIDE_POINTERS, |(_, since)| *since);
        }
    }
    let mut rows: Vec<(u32, Entry)> = first_seen
        .into_iter()
        .map(|(symbol, since)| {
            let (plain, number) = split_version(&symbol)
                .filter(|(plain, _)| numbered_plain.contains(*plain))
                .unwrap_or((&symbol, 1));
            (number, Entry { plain: plain.to_owned(), since, symbol: symbol.clone() })
        })
        .collect();
    rows.sort_by(|(number, row), (other_number, other)| {
        (&row.plain, number).cmp(&(&other.plain, other_number))
    });
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// Plain names that stand for a numbered function in the header of the model's version, as
/// (plain, numbered).
pub fn renamed(model: &Model) -> Vec<(String, String)> {
    let mut lowest: BTreeMap<&str, (u32, &str)> = BTreeMap::new();
    for function in &model.functions {
        if let Some((plain, number)) = split_version(&function.name) {
            let entry = lowest.entry(plain).or_insert((number, &function.name));
            if number < entry.0 {
                *entry = (number, &function.name);
            }
        }
    }
    lowest
        .into_iter()
        .filter(|(plain, _)| model.function(plain).is_none())
        .map(|(plain, (_, numbered))| (plain.to_owned(), numbered.to_owned()))
        .collect()
}

/// Functions without a stream parameter that work in the default stream.
const IN_DEFAULT_STREAM: &[&str] = &[
    "cudaMemcpy",
    "cudaMemcpyToSymbol",
    "cudaMemcpyFromSymbol",
    "cudaMemcpy2D",
    "cudaMemcpyToArray",
    "cudaMemcpy2DToArray",
    "cudaMemcpyFromArray",
    "cudaMemcpy2DFromArray",
    "cudaMemcpyArrayToArray",
    "cudaMemcpy2DArrayToArray",
    "cudaMemcpy3D",
    "cudaMemcpy3DPeer",
    "cudaMemset",
    "cudaMemset2D",
    "cudaMemset3D",
    "cuMemcpy",
    "cuMemcpyPeer",
    "cuMemcpyHtoD_v2",
    "cuMemcpyDtoH_v2",
    "cuMemcpyDtoD_v2",
    "cuMemcpyDtoA_v2",
    "cuMemcpyAtoD_v2",
    "cuMemcpyHtoA_v2",
    "cuMemcpyAtoH_v2",
    "cuMemcpyAtoA_v2",
    "cuMemcpy2D_v2",
    "cuMemcpy2DUnaligned_v2",
    "cuMemcpy3D_v2",
    "cuMemcpy3DPeer",
    "cuMemsetD8_v2",
    "cuMemsetD16_v2",
    "cuMemsetD32_v2",
    "cuMemsetD2D8_v2",
    "cuMemsetD2D16_v2",
    "cuMemsetD2D32_v2",
];

/// Functions that take a stream and yet have no variant: destroying the default stream is an error.
const WITHOUT_VARIANT: &[&str] = &["cudaStreamDestroy", "cuStreamDestroy_v2"];

/// Functions whose variant reads the stream from elsewhere than from a parameter.
const STREAM_ELSEWHERE: &[&str] = &[
    "cudaLaunchKernelExC",
    "cuLaunchKernelEx",
    "cudaGetDriverEntryPoint",
    "cudaGetDriverEntryPointByVersion",
];

/// How a function's per-thread variant differs from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerThread {
    /// `_ptsz`: the parameter of this index is the stream, whose 0 means the thread's own.
    Parameter(usize),
    /// `_ptsz`: a structure behind a pointer names the stream, or a flag does.
    Elsewhere,
    /// `_ptds`: it works in the thread's default stream.
    Implied,
}

impl PerThread {
    pub fn suffix(self) -> &'static str {
        match self {
            PerThread::Parameter(_) | PerThread::Elsewhere => "_ptsz",
            PerThread::Implied => "_ptds",
        }
    }
}

/// The per-thread variant that a function has, if any.
pub fn per_thread(function: &crate::model::Function) -> Option<PerThread> {
    let name = function.name.as_str();
    if IN_DEFAULT_STREAM.contains(&name) {
        return Some(PerThread::Implied);
    }
    if STREAM_ELSEWHERE.contains(&name) {
        return Some(PerThread::Elsewhere);
    }
    if WITHOUT_VARIANT.contains(&name) {
        return None;
    }
    let is_stream =
        |ty: &Type| matches!(ty, Type::Named(name) if name == "cudaStream_t" || name == "CUstream");
    function
        .signature
        .parameters
        .iter()
        .position(|parameter| is_stream(&parameter.ty))
        .map(PerThread::Parameter)
}
