// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an instruction says of itself: slots, types, optional operands, the parts of a call.

use margay_ptx::ast::{Instruction, Module, Operand, OperandKind, ScalarType, Statement};

fn module(body: &str) -> Module {
    let text = format!(".version 8.6 .target sm_100a .address_size 64 .entry k() {{ {body} }}");
    margay_ptx::parse(&text).unwrap_or_else(|e| panic!("{}", e[0].render("test", &text)))
}

fn first(module: &Module) -> &Instruction {
    let body = module.functions().next().and_then(|f| f.body.as_ref()).expect("a body");
    match &body.statements[0] {
        Statement::Instruction(inst) => inst,
        other => panic!("{other:?}"),
    }
}

fn name<'a>(module: &'a Module, operand: Option<&Operand>) -> Option<&'a str> {
    match operand?.kind {
        OperandKind::Name(symbol) => Some(module.name(symbol)),
        _ => None,
    }
}

#[test]
fn modifiers_are_consumed_once() {
    let module = module("ld.acquire.gpu.shared::cta.L1::no_allocate.v4.f32 {a,b,c,d}, [p];");
    let inst = first(&module);
    let mut m = inst.cursor();
    assert_eq!(
        (m.slot("sem"), m.slot("scope"), m.slot("ss")),
        (Some("acquire"), Some("gpu"), Some("shared::cta"))
    );
    assert_eq!((m.slot("sem"), m.vector(), m.next_type()), (None, 4, Some(ScalarType::F32)));
    assert_eq!(m.unconsumed().map(|m| m.name), Some("L1::no_allocate"));
    assert!(m.take("L1::no_allocate") && !m.take("L1::no_allocate"));
    assert_eq!(m.unconsumed(), None);
}

#[test]
fn a_modifier_behind_the_address_is_one_of_the_modifiers() {
    let module = module("ld.global.u32 a, [p].unified;");
    let mut m = first(&module).cursor();
    assert!(m.take("global") && m.take("unified"));
    assert_eq!(m.types().as_slice(), [ScalarType::U32]);
    assert_eq!(m.unconsumed(), None);
}

#[test]
fn words_of_a_name_may_stand_apart() {
    for text in [
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 d, a, b, c, e, 0;",
        "mma.sync.aligned.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32 d, a, b, c, e, 0;",
    ] {
        let module = module(text);
        assert_eq!(first(&module).opcode(), "mma.sp::ordered_metadata");
        assert_eq!(
            first(&module).types().as_slice(),
            [ScalarType::F32, ScalarType::F16, ScalarType::F16, ScalarType::F32]
        );
    }
}

/// Types and spaces keep their order where others may move.
#[test]
fn order_that_carries_meaning_is_kept() {
    let module_a = module("cvt.f32.rn.s32 a, b;");
    assert_eq!(first(&module_a).types().as_slice(), [ScalarType::F32, ScalarType::S32]);
    let text = ".version 8.6 .target sm_90 .entry k() { cp.async.ca.global.shared [a], [b], 16; }";
    assert!(margay_ptx::parse(text).is_err());
}

#[test]
fn optional_operands_go_with_their_modifiers() {
    let copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
    let module_both = module(&format!(
        "{copy}.multicast::cluster.L2::cache_hint [d], [s], n, [m], mask, policy;"
    ));
    let inst = first(&module_both);
    assert_eq!(name(&module_both, inst.operand("ctaMask")), Some("mask"));
    assert_eq!(name(&module_both, inst.operand("cache-policy")), Some("policy"));
    let module_hint = module(&format!("{copy}.L2::cache_hint [d], [s], n, [m], policy;"));
    let inst = first(&module_hint);
    assert_eq!(name(&module_hint, inst.operand("ctaMask")), None);
    assert_eq!(name(&module_hint, inst.operand("cache-policy")), Some("policy"));
    for wrong in ["", ".multicast::cluster.L2::cache_hint"] {
        let text = format!(
            ".version 8.6 .target sm_90 .entry k() {{ {copy}{wrong} [d], [s], n, [m], x; }}"
        );
        let errors = margay_ptx::parse(&text).unwrap_err();
        assert!(errors[0].message.contains("operand"), "{}", errors[0]);
    }
}

#[test]
fn optional_operands_in_the_middle_are_told_apart() {
    let module_all = module("bar.red.popc.u32 d, a, b, !p;");
    assert_eq!(name(&module_all, first(&module_all).operand("b")), Some("b"));
    let module_few = module("bar.red.popc.u32 d, a, p;");
    assert_eq!(name(&module_few, first(&module_few).operand("b")), None);
    assert_eq!(name(&module_few, first(&module_few).operand("c")), Some("p"));
    let module_mma = module("tcgen05.mma.cta_group::1.kind::f16 [d], a, b, i, {x, y, z, w}, p, 3;");
    assert!(first(&module_mma).operand("disable-output-lane").is_some());
    let module_short = module("tcgen05.mma.cta_group::1.kind::f16 [d], a, b, i, p;");
    assert!(first(&module_short).operand("disable-output-lane").is_none());
    assert_eq!(name(&module_short, first(&module_short).operand("enable-input-d")), Some("p"));
}

#[test]
fn a_call_has_its_parts() {
    let parts = |text: &str| {
        let module = module(text);
        let call = first(&module).call().expect("a call");
        let target = name(&module, Some(call.target)).expect("a name").to_string();
        (
            call.returns.len(),
            target,
            call.arguments.len(),
            name(&module, call.targets).map(str::to_string),
        )
    };
    assert_eq!(parts("call (r), f, (a, b);"), (1, "f".into(), 2, None));
    assert_eq!(parts("call.uni f;"), (0, "f".into(), 0, None));
    assert_eq!(parts("call f, (a);"), (0, "f".into(), 1, None));
    assert_eq!(parts("call (r), f, (a), p;"), (1, "f".into(), 1, Some("p".into())));
    assert_eq!(parts("call f, p;"), (0, "f".into(), 0, Some("p".into())));
    assert_eq!(parts("call (r), f;"), (1, "f".into(), 0, None));
}
