// SPDX-License-Identifier: MIT OR Apache-2.0
//! The evaluator knows every op of the table, in every type that its row allows.

use super::*;
use margay_ir::{AttrKind, IntCmp, Slot};

#[test]
fn every_lane_op_has_a_function_in_every_type() {
    let mut count = 0;
    for &op in Op::ALL {
        let info = op.info();
        let attr = match info.attr {
            AttrKind::None => Attr::None,
            AttrKind::Float => Attr::Float(FloatAttr::default()),
            AttrKind::MinMax => Attr::MinMax(MinMaxAttr::default()),
            AttrKind::IntCmp => Attr::IntCmp(IntCmp::Eq),
            AttrKind::FloatCmp => Attr::FloatCmp { cmp: FloatCmp::Eq, ftz: false },
            AttrKind::Clamp => Attr::Clamp(true),
            AttrKind::Lop3 => Attr::Lop3(0x96),
            // Not a matter of lanes.
            _ => continue,
        };
        if eval(op, info.types[0], info.types[0], &attr, &[1, 1, 1, 1]).is_none()
            && !info.srcs.contains(&Slot::F)
        {
            assert!(matches!(info.attr, AttrKind::None), "{op:?} has no lane function");
            continue;
        }
        let floats = [Ty::F16, Ty::BF16, Ty::F32, Ty::F64];
        let integers = [Ty::I8, Ty::I16, Ty::I32, Ty::I64];
        for &ty in info.types {
            let froms: &[Ty] = match op {
                Op::SExt | Op::ZExt | Op::Trunc | Op::SToF | Op::UToF => &integers,
                Op::FToF | Op::FToS | Op::FToU | Op::FToE4M3 | Op::FToE5M2 => &floats,
                _ => &[ty],
            };
            for &from in froms {
                let found = eval(op, ty, from, &attr, &[1, 1, 1, 1]).is_some();
                assert!(found, "{op:?} {ty:?} {from:?}");
                count += 1;
            }
        }
    }
    assert!(count > 200);
}

#[test]
fn modifiers_reach_the_lane_functions() {
    let float = |f: FloatAttr| Attr::Float(f);
    let base = FloatAttr::default();
    let (one, tiny) = (1f32.to_bits() as u64, 1u64);
    let add = |f| eval(Op::FAdd, Ty::F32, Ty::F32, &float(f), &[one, tiny]);
    assert_eq!(add(base), Some(one));
    assert_eq!(add(FloatAttr { round: margay_ir::Round::Up, ..base }), Some(one + 1));
    let up = FloatAttr { round: margay_ir::Round::Up, ftz: true, ..base };
    assert_eq!(add(up), Some(one));
    let sat = FloatAttr { round: margay_ir::Round::Up, sat: true, ..base };
    assert_eq!(add(sat), Some(one));
    let away = FloatAttr { round: margay_ir::Round::NearestAway, ..base };
    assert_eq!(add(away), None);
    let relu = FloatAttr { relu: true, ..base };
    assert_eq!(eval(Op::FToF, Ty::F16, Ty::F32, &float(relu), &[0xbf80_0000]), Some(0));
}
