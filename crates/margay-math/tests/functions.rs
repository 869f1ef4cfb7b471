// SPDX-License-Identifier: MIT OR Apache-2.0
//! All levels of vectors give the same bits, and `emit` what the loops give.

use margay_math::planes::{Level, PlaneFn, plane_fn};
use margay_math::{Emitted, Function, Scalar, Type, Value, emit};

/// Pseudo-random bits, of which many are special values of a type.
fn sample(state: &mut u64, ty: Type) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    let r = *state ^ *state >> 29;
    let (special, bits): (&[f64], u64) = match ty {
        Type::F32 | Type::F64 => (
            &[0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.5, 2.0, 1e-310],
            r,
        ),
        Type::I32 => return r >> 32,
        Type::I64 => return r,
    };
    let near = f64::from_bits(0x3fb0_0000_0000_0000 + (r >> 3 & 0x00ff_ffff_ffff_ffff));
    let value = match r % 8 {
        0 => special[(r >> 8) as usize % special.len()],
        1..5 => near.copysign(if r & 64 != 0 { -1.0 } else { 1.0 }),
        _ => f64::from_bits(bits),
    };
    match ty {
        Type::F32 if r % 8 >= 5 => r & 0xffff_ffff,
        Type::F32 => u64::from((value as f32).to_bits()),
        Type::F64 | Type::I32 | Type::I64 => value.to_bits(),
    }
}

fn untyped(v: Value<Scalar>) -> u64 {
    match v {
        Value::F32(v) => v.to_bits().into(),
        Value::F64(v) => v.to_bits(),
        Value::I32(v) => v as u32 as u64,
        Value::I64(v) => v as u64,
    }
}

fn typed(ty: Type, bits: u64) -> Value<Scalar> {
    match ty {
        Type::F32 => Value::F32(f32::from_bits(bits as u32)),
        Type::F64 => Value::F64(f64::from_bits(bits)),
        Type::I32 => Value::I32(bits as i32),
        Type::I64 => Value::I64(bits as i64),
    }
}

#[test]
fn levels_and_emit_agree() {
    let mut state = 7;
    for &function in Function::ALL {
        let runs: Vec<PlaneFn> = [Level::Baseline, Level::Avx2, Level::Avx512]
            .map(|level| plane_fn(function, level))
            .to_vec();
        for _ in 0..300 {
            let args: Vec<[u64; 32]> = function
                .args()
                .iter()
                .map(|ty| std::array::from_fn(|_| sample(&mut state, *ty)))
                .collect();
            let mask = (state >> 32) as u32;
            let results: Vec<Vec<[u64; 32]>> = runs
                .iter()
                .map(|run| {
                    let mut rets = vec![[0x5a5a; 32]; function.rets().len()];
                    run(&args, mask, &mut rets);
                    rets
                })
                .collect();
            for l in 0..32 {
                let lane = |planes: &[[u64; 32]]| planes.iter().map(|p| p[l]).collect::<Vec<_>>();
                let expected = lane(&results[0]);
                let inputs = lane(&args);
                for other in &results[1..] {
                    assert_eq!(lane(other), expected, "{}{inputs:x?}", function.name());
                }
                if mask >> l & 1 == 0 {
                    assert!(expected.iter().all(|v| *v == 0x5a5a), "{} wrote", function.name());
                    continue;
                }
                let values: Vec<_> =
                    function.args().iter().zip(&inputs).map(|(ty, v)| typed(*ty, *v)).collect();
                let Emitted { results, slow } = emit(Scalar, function, &values).unwrap();
                assert_eq!(results.len(), function.rets().len());
                if slow != Some(true) {
                    let emitted: Vec<u64> = results.into_iter().map(untyped).collect();
                    assert_eq!(emitted, expected, "{}{inputs:x?}", function.name());
                }
            }
        }
    }
}

#[test]
fn names_and_types() {
    for &function in Function::ALL {
        assert_eq!(Function::by_name(function.name()), Some(function));
        assert!(emit(Scalar, function, &[]).is_none());
    }
    assert_eq!(Function::by_name("__nv_nothing"), None);
    assert_eq!(Function::Sincosf.rets(), [Type::F32, Type::F32]);
    assert!(emit(Scalar, Function::Expf, &[Value::F64(1.0)]).is_none());
}
