// SPDX-License-Identifier: MIT OR Apache-2.0
//! One PTX instruction on given register values: parsed, lowered, and evaluated op by op through
//! `semantics::eval`, without an engine.

use margay_exec::semantics::eval::eval;
use margay_ir::{Inst, Op, Reg, Value};

/// A register operand: PTX type and bits.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    pub ty: &'static str,
    pub bits: u64,
}

fn width(ty: &str) -> u32 {
    match ty {
        "pred" => 1,
        "b128" => 128,
        _ => ty[1..].parse().expect("a type such as b32"),
    }
}

/// Runs `text`, whose operands are `%0`, `%1`, …: results of types `outs` first, then `ins`. A
/// predicate result comes back as 0 or 1.
pub fn run(text: &str, outs: &[&'static str], ins: &[Operand]) -> Result<Vec<u64>, String> {
    let mut ptx = String::from(
        ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 p) {\n\
         .reg .b64 %at;\nld.param.u64 %at, [p];\n",
    );
    let types = outs.iter().copied().chain(ins.iter().map(|i| i.ty));
    for (i, ty) in types.enumerate() {
        ptx += &format!(".reg .{ty} %x{i};\n");
    }
    for (i, operand) in ins.iter().enumerate() {
        let x = outs.len() + i;
        ptx += &match operand.ty {
            "pred" => format!("setp.ne.u32 %x{x}, {}, 0;\n", operand.bits),
            ty => format!("mov.b{} %x{x}, {:#x};\n", width(ty), operand.bits),
        };
    }
    let mut named = text.to_string();
    for i in (0..outs.len() + ins.len()).rev() {
        named = named.replace(&format!("%{i}"), &format!("%x{i}"));
    }
    ptx += &format!("{named};\n");
    for (i, ty) in outs.iter().enumerate() {
        ptx += &match *ty {
            "pred" => format!(
                ".reg .b32 %y{i};\nselp.b32 %y{i}, 1, 0, %x{i};\nst.global.b32 [%at], %y{i};\n"
            ),
            ty => format!("st.global.b{} [%at], %x{i};\n", width(ty)),
        };
    }
    ptx += "ret;\n}\n";
    let ast = margay_ptx::parse(&ptx).map_err(|e| format!("{e:?}\n{ptx}"))?;
    let module = margay_ir::lower(&ast).map_err(|e| format!("{e:?}\n{ptx}"))?;
    let function = &module.functions[0];
    if let Some(gap) = function.unsupported.first() {
        return Err(gap.to_string());
    }
    let mut registers = vec![0u64; function.regs.len()];
    let mut stored = Vec::new();
    for inst in function.blocks.iter().flat_map(|b| &b.insts) {
        step(inst, &mut registers, &mut stored)?;
    }
    Ok(stored)
}

fn step(inst: &Inst, registers: &mut [u64], stored: &mut Vec<u64>) -> Result<(), String> {
    if let Some(guard) = inst.guard
        && (registers[guard.pred.0 as usize] != 0) == guard.negated
    {
        return Ok(());
    }
    let value = |v: &Value| match v {
        Value::Reg(Reg(r)) => registers[*r as usize],
        Value::Imm(bits) => *bits,
    };
    let srcs: Vec<u64> = inst.srcs.iter().map(value).collect();
    match inst.op {
        Op::Ld => Ok(()),
        Op::St => {
            stored.push(srcs[1] & (u64::MAX >> (64 - inst.ty.bits())));
            Ok(())
        }
        _ => {
            let result = eval(inst.op, inst.ty, inst.from, &inst.attr, &srcs)
                .ok_or_else(|| format!("no lane function: {inst:?}"))?;
            registers[inst.dsts[0].0 as usize] = result;
            Ok(())
        }
    }
}
