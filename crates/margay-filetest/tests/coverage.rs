// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every row of the op table occurs in the IR of some filetest.

use std::collections::BTreeSet;
use std::path::PathBuf;

use margay_filetest::compile::compile;
use margay_ir::{AtomOp, Attr, Op};

/// Rows that no filetest can reach, each with its reason.
const UNREACHED: &[(Op, &str)] = &[
    (Op::Unsupported, "a launch that reaches it is refused: see parse/tensor_unsupported.ptx"),
    (Op::Brkpt, "a trap by another name"),
];

#[test]
fn every_op_has_a_filetest() {
    let (mut seen, mut atomics) = (BTreeSet::new(), BTreeSet::new());
    for directory in ["run", "pass", "fail"] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests");
        for entry in std::fs::read_dir(path.join(directory)).unwrap() {
            let source = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let module = compile(&source).expect("the file compiles");
            let blocks = module.functions.iter().flat_map(|f| &f.blocks);
            for inst in blocks.flat_map(|b| &b.insts) {
                seen.insert(inst.op);
                if let Attr::Atom { op, .. } = inst.attr {
                    atomics.insert(format!("{op:?}"));
                }
            }
        }
    }
    let unreached: BTreeSet<Op> = UNREACHED.iter().map(|u| u.0).collect();
    let missing: Vec<&str> = Op::ALL
        .iter()
        .filter(|op| !seen.contains(op) && !unreached.contains(op))
        .map(|op| op.info().mnemonic)
        .collect();
    assert!(missing.is_empty(), "no filetest has {missing:?}");
    let stale: Vec<_> = unreached.intersection(&seen).collect();
    assert!(stale.is_empty(), "{stale:?} is reached after all");
    for op in [AtomOp::Inc, AtomOp::Dec, AtomOp::Cas, AtomOp::FAdd, AtomOp::MinS, AtomOp::MaxS] {
        assert!(atomics.contains(&format!("{op:?}")), "no filetest has {op:?}");
    }
}
