// SPDX-License-Identifier: MIT OR Apache-2.0
//! Print, parse, print: the same. Every op of the table takes part.

use smallvec::smallvec;

use super::names::{sreg_from_text, sreg_text};
use super::{parse_inst, parse_module};
use crate::inst::*;
use crate::module::*;
use crate::ops::{AttrKind, Op};
use crate::types::*;

/// Every shape of attribute that an op of this kind may carry, at its least and its fullest.
fn attrs(kind: AttrKind) -> Vec<Attr> {
    let plain = MemAttr {
        space: Space::Generic,
        signed: false,
        sem: Sem::Weak,
        scope: Scope::Gpu,
        cache: Cache::Default,
        offset: 0,
    };
    let full = MemAttr {
        space: Space::Shared,
        signed: true,
        sem: Sem::AcqRel,
        scope: Scope::Cluster,
        cache: Cache::NonCoherent,
        offset: -24,
    };
    match kind {
        AttrKind::None => vec![Attr::None],
        AttrKind::Float => vec![
            Attr::Float(FloatAttr::default()),
            Attr::Float(FloatAttr { round: Round::Down, ftz: true, sat: true, relu: true }),
            Attr::Float(FloatAttr { relu: true, ..FloatAttr::default() }),
        ],
        AttrKind::MinMax => vec![
            Attr::MinMax(MinMaxAttr::default()),
            Attr::MinMax(MinMaxAttr { ftz: true, nan: true, xorsign_abs: true, abs: true }),
        ],
        AttrKind::IntCmp => vec![Attr::IntCmp(IntCmp::LtS), Attr::IntCmp(IntCmp::Eq)],
        AttrKind::FloatCmp => vec![
            Attr::FloatCmp { cmp: FloatCmp::LtU, ftz: false },
            Attr::FloatCmp { cmp: FloatCmp::Nan, ftz: true },
        ],
        AttrKind::Clamp => vec![Attr::Clamp(true), Attr::Clamp(false)],
        AttrKind::Lop3 => vec![Attr::Lop3(0xe8)],
        AttrKind::Mem => vec![Attr::Mem(plain), Attr::Mem(full)],
        AttrKind::Atom => vec![
            Attr::Atom { op: AtomOp::Cas, mem: plain, ftz: false },
            Attr::Atom { op: AtomOp::FAdd, mem: full, ftz: true },
        ],
        AttrKind::Copy => {
            vec![Attr::Copy { bytes: 16, shared_offset: -4, global_offset: 8, cache: Cache::Cg }]
        }
        AttrKind::Space => vec![Attr::Space(Space::Const)],
        AttrKind::Address => vec![
            Attr::Address { of: AddrOf::Global(GlobalId(2)), addend: -1 },
            Attr::Address { of: AddrOf::Func(FuncId(0)), addend: 0 },
            Attr::Address { of: AddrOf::Local(16), addend: 4 },
            Attr::Address { of: AddrOf::Param(8), addend: 0 },
        ],
        AttrKind::Sreg => vec![Attr::Sreg(Sreg::Tid(1)), Attr::Sreg(Sreg::Clock64)],
        AttrKind::Vote => vec![Attr::Vote(VoteMode::Uni)],
        AttrKind::Shfl => vec![Attr::Shfl(ShflMode::Bfly)],
        AttrKind::Redux => vec![
            Attr::Redux(ReduxOp::MinS),
            Attr::Redux(ReduxOp::FMax { abs: true, nan: false }),
            Attr::Redux(ReduxOp::FMin { abs: false, nan: true }),
        ],
        AttrKind::Barrier => vec![
            Attr::Barrier { kind: BarKind::RedAnd, aligned: false, orders: BarOrder::All },
            Attr::Barrier { kind: BarKind::Arrive, aligned: true, orders: BarOrder::Nothing },
            Attr::Barrier { kind: BarKind::Arrive, aligned: true, orders: BarOrder::Shared },
        ],
        AttrKind::Fence => vec![Attr::Fence { sem: Sem::SeqCst, scope: Scope::Cta }],
        AttrKind::Mbarrier => vec![
            Attr::Mbarrier { op: MbarrierOp::Wait, mem: plain },
            Attr::Mbarrier { op: MbarrierOp::ArriveNoComplete, mem: full },
        ],
        AttrKind::Call => vec![
            Attr::Call(Box::new(CallAttr {
                callee: Callee::Direct(FuncId(3)),
                args: vec![
                    CallArg::Value(Value::Reg(Reg(4)), Ty::F32),
                    CallArg::Frame { offset: 16, size: 12 },
                    CallArg::Value(Value::Imm(7), Ty::I64),
                ],
                rets: vec![CallArg::Value(Value::Reg(Reg(5)), Ty::I64)],
                top: None,
            })),
            Attr::Call(Box::new(CallAttr {
                callee: Callee::Indirect(Value::Reg(Reg(9))),
                args: vec![],
                rets: vec![],
                top: Some(48),
            })),
        ],
        AttrKind::Builtin => {
            crate::builtin::Builtin::ALL.iter().map(|b| Attr::Builtin(*b)).collect()
        }
        AttrKind::Syscall => vec![Attr::Syscall(Syscall::AssertFail)],
        AttrKind::Texture => vec![Attr::Texture(crate::texture::TextureAttr::query(
            crate::texture::TextureQuery::Width,
            true,
        ))],
        AttrKind::Message => vec![Attr::Message("wgmma: \"no\" \\ tensor\n\u{7}cores".into())],
    }
}

fn all_insts() -> Vec<Inst> {
    let mut insts = Vec::new();
    for &op in Op::ALL {
        let info = op.info();
        for &ty in info.types {
            for attr in attrs(info.attr) {
                for (guard, from, loc) in [
                    (None, ty, LocId(0)),
                    (Some(Guard { pred: Reg(7), negated: true }), Ty::BF16, LocId(12)),
                    (Some(Guard { pred: Reg(8), negated: false }), ty, LocId(0)),
                ] {
                    insts.push(Inst {
                        op,
                        ty,
                        from,
                        dsts: info.dsts.iter().map(|_| Reg(1)).collect(),
                        srcs: info.srcs.iter().map(|_| Value::Reg(Reg(2))).collect(),
                        guard,
                        attr: attr.clone(),
                        loc,
                    });
                }
            }
        }
    }
    insts
}

#[test]
fn every_op_round_trips() {
    let insts = all_insts();
    assert!(insts.len() > 500);
    for inst in insts {
        let text = inst.to_string();
        assert!(!text.contains('\n'), "an instruction is one line: {text}");
        let parsed = parse_inst(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(parsed, inst, "{text}");
    }
}

#[test]
fn instructions_read_as_documented() {
    let add = Inst {
        op: Op::Add,
        ty: Ty::I32,
        from: Ty::I32,
        dsts: smallvec![Reg(3)],
        srcs: smallvec![Value::Reg(Reg(1)), Value::Imm(5)],
        guard: Some(Guard { pred: Reg(2), negated: true }),
        attr: Attr::None,
        loc: LocId(7),
    };
    assert_eq!(add.to_string(), "%3 = add.i32 %1, 0x5 @!%2 !7");
    let ld = parse_inst("%4, %5 = ld.i32 {global signed offset=16} %1").unwrap();
    assert_eq!(ld.dsts.len(), 2);
    assert!(matches!(ld.attr, Attr::Mem(MemAttr { signed: true, offset: 16, .. })));
    assert_eq!(ld.to_string(), "%4, %5 = ld.i32 {global signed offset=16} %1");
}

#[test]
fn bad_text_is_an_error_with_its_line() {
    for (text, line) in [
        ("", 1),
        ("%1 = frobnicate.i32 %2", 1),
        ("%1 = add %2, %3", 1),
        ("%1 = add.i32 %2, ", 1),
        ("%1 = icmp.i32 %2, %3", 1),
        ("%99999999999 = mov.i32 %1", 1),
        ("%1 = mov.i32 0x1ffffffffffffffff", 1),
        ("unsupported {\"no end}", 1),
        ("%1 = sreg.i32 {tid.q}", 1),
    ] {
        let error = parse_inst(text).expect_err(text);
        assert_eq!(error.line, line, "{text}: {error}");
    }
    let text = "module version=8.0 sm=90 target=\"sm_90\" address_bits=64\nentry \"k\" visible {\nb0:\n  %0 = what\n  ret\n}\n";
    assert_eq!(parse_module(text).unwrap_err().line, 4);
    let text = "module version=8.0 sm=90 target=\"sm_90\" address_bits=64\nentry \"k\" visible {\nregs w*99999999999\n";
    assert_eq!(parse_module(text).unwrap_err().line, 3);
}

#[test]
fn special_registers_round_trip() {
    let mut seen = 0;
    for sreg in [
        Sreg::Tid(0),
        Sreg::NTid(2),
        Sreg::ClusterNCtaId(1),
        Sreg::Pm(7),
        Sreg::EnvReg(31),
        Sreg::ReservedSmemOffset(1),
        Sreg::LaneMaskGt,
        Sreg::Tid(200),
    ] {
        assert_eq!(sreg_from_text(&sreg_text(sreg)), Some(sreg));
        seen += 1;
    }
    assert_eq!(seen, 8);
}

#[test]
fn a_module_round_trips() {
    let module = Module {
        ptx_version: (8, 3),
        sm: 90,
        target: "sm_90a".to_string(),
        address_bits: 64,
        files: vec!["a \"b\".cu".into(), "c.h".into()],
        sources: Default::default(),
        locs: vec![
            SrcLoc::default(),
            SrcLoc {
                file: Some(1),
                line: 3,
                column: 9,
                ptx_line: 44,
                inlined_at: Some(0),
                function: Some("f".into()),
            },
        ],
        globals: vec![
            Global {
                name: "table".into(),
                space: Space::Const,
                size: 16,
                align: 8,
                init: vec![0, 255, 16],
                relocs: vec![Reloc {
                    offset: 8,
                    width: 8,
                    shift: 0,
                    target: RelocTarget::Func(FuncId(1)),
                    addend: -3,
                    generic: true,
                }],
                linkage: Linkage::Visible,
                managed: false,
                dynamic_shared: false,
                opaque: Some(crate::texture::Opaque::Sampler),
            },
            Global {
                name: "dyn".into(),
                space: Space::Shared,
                size: 0,
                align: 16,
                init: vec![],
                relocs: vec![],
                linkage: Linkage::Extern,
                managed: true,
                dynamic_shared: true,
                opaque: None,
            },
        ],
        functions: vec![
            Function {
                name: "kernel".into(),
                is_entry: true,
                linkage: Linkage::Visible,
                params: vec![Param {
                    name: "kernel_param_0".into(),
                    offset: 8,
                    size: 8,
                    align: 8,
                    place: None,
                    pointee: Some(Space::Global),
                }],
                param_size: 16,
                frame_size: 32,
                frame_align: 16,
                locals: vec![(0, 4), (16, 12)],
                regs: vec![Class::W, Class::W, Class::P, Class::D],
                blocks: vec![
                    Block {
                        label: Some("entry".into()),
                        insts: all_insts(),
                        term: Term::CondBr {
                            pred: Reg(2),
                            negated: true,
                            then: BlockId(1),
                            els: BlockId(2),
                        },
                        term_loc: LocId(1),
                    },
                    Block {
                        label: None,
                        insts: vec![],
                        term: Term::BrTable {
                            index: Value::Reg(Reg(0)),
                            targets: vec![BlockId(0), BlockId(2)],
                        },
                        term_loc: LocId(0),
                    },
                    Block {
                        label: None,
                        insts: vec![],
                        term: Term::Br(BlockId(3)),
                        term_loc: LocId(0),
                    },
                    Block { label: None, insts: vec![], term: Term::Exit, term_loc: LocId(0) },
                ],
                limits: LaunchLimits {
                    maxntid: Some([256, 1, 1]),
                    reqntid: None,
                    minnctapersm: Some(2),
                    maxnreg: Some(64),
                    maxclusterrank: None,
                    reqnctapercluster: Some([2, 1, 1]),
                    explicit_cluster: true,
                },
                unsupported: vec![Unsupported {
                    form: "wgmma.x".into(),
                    reason: "tensor".into(),
                    ptx_line: 9,
                }],
                ..Function::default()
            },
            Function {
                name: "f".into(),
                rets: vec![Param {
                    name: "r".into(),
                    offset: 0,
                    size: 4,
                    align: 4,
                    place: Some(CallArg::Value(Value::Reg(Reg(0)), Ty::F32)),
                    pointee: None,
                }],
                address_taken: true,
                ..Function::default()
            },
        ],
    };
    let text = module.to_string();
    let parsed = parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(parsed.to_string(), text);
    assert_eq!(format!("{parsed:?}"), format!("{module:?}"));
}
