// SPDX-License-Identifier: MIT OR Apache-2.0
//! `call`: direct, indirect, the device library, and the services of the device run time.
//!
//! Guarded calls become branches. A declared function that some other module defines stays a
//! call; linking reports it if nobody does.

use margay_ptx::ast::{Call, Instruction, ModifierCursor, Operand, OperandKind, ScalarType, Span};

use super::function::Lower;
use super::libdevice;
use super::names::{Entity, RegVar, Slot, passed_sizes};
use super::operand::{bits_type, immediate, int_ty};
use super::params::slot_ty;
use super::{Lowered, Stop};
use crate::builtin::Builtin;
use crate::inst::*;
use crate::module::FuncId;
use crate::ops::Op;
use crate::types::{Space, Ty};

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    // A promise about divergence.
    m.take("uni");
    let Some(call) = inst.call() else {
        return Err(Stop::error(inst.opcode_span, "`call` needs a function"));
    };
    let OperandKind::Name(name) = call.target.kind else {
        return Err(Stop::error(call.target.span, "a function or a register is needed"));
    };
    match l.find(name) {
        Some(Entity::Func(id)) => {
            let text = l.name(name);
            if !l.cx.is_defined(id) {
                if let Some(service) = service(text) {
                    return l.branch_if_guarded(|l| l.service(&call, service));
                }
                if let Some(plain) = libdevice::by_name(text) {
                    return l.branch_if_guarded(|l| l.plain(&call, &plain));
                }
                if let Some(libdevice::Composed { args, ret, write }) = libdevice::composed(text) {
                    return l.branch_if_guarded(|l| l.written(&call, args, ret, write));
                }
                if let Some(builtin) = Builtin::by_name(text) {
                    return l.branch_if_guarded(|l| l.builtin(&call, builtin));
                }
            }
            l.branch_if_guarded(|l| l.direct(&call, id))
        }
        Some(Entity::Reg(RegVar { reg, ty })) => {
            let callee = l.widen_address(Value::Reg(reg), ty);
            if !matches!(ty.bits(), 32 | 64) {
                return Err(Stop::error(
                    call.target.span,
                    "a function's address has 32 or 64 bits",
                ));
            }
            l.branch_if_guarded(|l| l.indirect(&call, callee))
        }
        Some(Entity::Unusable(why)) => Err(Stop::unsupported(why)),
        Some(_) => Err(Stop::error(call.target.span, "a function or a register is needed")),
        None => Err(l.undeclared(name, call.target.span)),
    }
}

/// Functions of the device run time that the engine provides.
fn service(name: &str) -> Option<Syscall> {
    Some(match name {
        "vprintf" => Syscall::Vprintf,
        "printf" => Syscall::Printf,
        "malloc" => Syscall::Malloc,
        "free" => Syscall::Free,
        "__assertfail" | "__assert_fail" => Syscall::AssertFail,
        "__margay_device_runtime" => Syscall::Runtime,
        _ => return None,
    })
}

impl Lower<'_, '_> {
    fn direct(&mut self, call: &Call<'_>, id: FuncId) -> Lowered {
        let declared = self.cx.signature(id);
        if declared.is_some_and(|f| f.kind == margay_ptx::ast::FunctionKind::Entry) {
            return Err(Stop::unsupported("a call of a kernel"));
        }
        let params = declared.map(|f| passed_sizes(&f.params));
        let returns = declared.map(|f| passed_sizes(&f.returns));
        let (Some(Some(params)), Some(Some(returns))) = (params, returns) else {
            return Err(Stop::unsupported("a parameter of open size"));
        };
        self.emit_passing(call, Callee::Direct(id), Some((&params, &returns)))
    }

    fn indirect(&mut self, call: &Call<'_>, callee: Value) -> Lowered {
        let prototype = match call.targets.map(|t| &t.kind) {
            Some(OperandKind::Name(name)) => self.find(*name),
            _ => None,
        };
        let callee = Callee::Indirect(callee);
        match prototype {
            Some(Entity::Prototype { params, returns }) => {
                self.emit_passing(call, callee, Some((&params, &returns)))
            }
            Some(Entity::Unusable(why)) => Err(Stop::unsupported(why)),
            Some(_) | None => self.emit_passing(call, callee, None),
        }
    }

    /// Emits a call. `sizes` are those that the function or the prototype declares.
    fn emit_passing(
        &mut self,
        call: &Call<'_>,
        callee: Callee,
        sizes: Option<(&[u32], &[u32])>,
    ) -> Lowered {
        let span = call.target.span;
        let (params, returns) = (sizes.map(|s| s.0), sizes.map(|s| s.1));
        let args = self.passed(call.arguments, params, false)?;
        let rets = self.passed(call.returns, returns, true)?;
        agree(&args, params, "argument", span)?;
        agree(&rets, returns, "result", span)?;
        let attr = CallAttr { callee, args, rets, top: None };
        self.emit(Op::Call, Ty::Pred, &[], &[], Attr::Call(Box::new(attr)));
        Ok(())
    }

    fn passed(
        &mut self,
        operands: &[Operand],
        sizes: Option<&[u32]>,
        results: bool,
    ) -> Lowered<Vec<CallArg>> {
        let mut out = Vec::with_capacity(operands.len());
        for operand in operands {
            let size = sizes.and_then(|s| s.get(out.len())).copied();
            self.pass(operand, size, results, &mut out)?;
        }
        Ok(out)
    }

    /// One operand of a call; a vector register passes its elements.
    fn pass(
        &mut self,
        operand: &Operand,
        size: Option<u32>,
        is_result: bool,
        out: &mut Vec<CallArg>,
    ) -> Lowered {
        let span = operand.span;
        let scalar = size.filter(|s| matches!(s, 1 | 2 | 4 | 8));
        match &operand.kind {
            OperandKind::Name(name) => match self.find(*name) {
                Some(Entity::Slot(slot)) => out.push(slot.call_arg()),
                Some(Entity::Reg(var)) => {
                    out.push(CallArg::Value(Value::Reg(var.reg), int_ty(var.ty.bits())));
                }
                Some(Entity::Vector { ty, regs }) => {
                    let ty = int_ty(ty.bits());
                    out.extend(regs.into_iter().map(|r| CallArg::Value(Value::Reg(r), ty)));
                }
                Some(Entity::Unusable(why)) => return Err(Stop::unsupported(why)),
                Some(_) => return Err(Stop::unsupported("an argument of this kind")),
                None => return Err(self.undeclared(*name, span)),
            },
            // A result that nobody wants.
            OperandKind::Sink if is_result => match (size, scalar) {
                (_, Some(size)) => {
                    let ty = slot_ty(size);
                    let reg = self.temp(ty.class());
                    out.push(CallArg::Value(Value::Reg(reg), ty));
                }
                (Some(size), None) => {
                    let offset = self.frame(size.into(), 16, span).unwrap_or(0);
                    out.push(CallArg::Frame { offset, size });
                }
                (None, _) => return Err(Stop::unsupported("`_` for a result of unknown size")),
            },
            OperandKind::Immediate(imm) if !is_result => {
                let Some(size) = scalar else {
                    return Err(Stop::unsupported("a constant as an argument of unknown size"));
                };
                let bits = immediate(*imm, bits_type(size), span)?;
                out.push(CallArg::Value(Value::Imm(bits), slot_ty(size)));
            }
            _ => {
                return Err(Stop::error(
                    span,
                    "arguments and results are registers or `.param` variables",
                ));
            }
        }
        Ok(())
    }

    /// The value of an argument for a function that the engine computes, as type `ty`.
    fn value_argument(&mut self, operand: &Operand, ty: Ty) -> Lowered<Value> {
        let want = bits_type(ty.bits() / 8);
        if let OperandKind::Name(name) = operand.kind
            && let Some(Entity::Slot(Slot::Frame { offset, size })) = self.find(name)
        {
            if !matches!(size, 1 | 2 | 4 | 8) {
                return Err(Stop::error(operand.span, "the argument has another size"));
            }
            let base = self.frame_address(offset);
            let attr = memory(Space::Local);
            let loaded = self.value(Op::Ld, slot_ty(size), &[base], attr);
            let Value::Reg(reg) = loaded else { return Ok(loaded) };
            return self.read(RegVar { reg, ty: bits_type(size) }, want, operand.span);
        }
        self.src(operand, want)
    }

    fn frame_address(&mut self, offset: u32) -> Value {
        let of = AddrOf::Local(offset);
        self.value(Op::Addr, Ty::I64, &[], Attr::Address { of, addend: 0 })
    }

    fn value_arguments(&mut self, call: &Call<'_>, tys: &[Ty]) -> Lowered<Vec<Value>> {
        if call.arguments.len() != tys.len() {
            return Err(Stop::error(
                call.target.span,
                format!("the function takes {} arguments", tys.len()),
            ));
        }
        call.arguments.iter().zip(tys).map(|(a, ty)| self.value_argument(a, *ty)).collect()
    }

    /// Writes a result that an op gave to where the call wants it.
    fn value_result(&mut self, operand: &Operand, ty: Ty, value: Value) -> Lowered {
        if let OperandKind::Name(name) = operand.kind
            && let Some(Entity::Slot(Slot::Frame { offset, size })) = self.find(name)
        {
            if size != ty.bits() / 8 {
                return Err(Stop::error(operand.span, "the result has another size"));
            }
            let base = self.frame_address(offset);
            self.emit(Op::St, int_ty(ty.bits()), &[], &[base, value], memory(Space::Local));
            return Ok(());
        }
        let dst = self.dst(operand, bits_type(ty.bits() / 8))?;
        self.mov(int_ty(ty.bits()), dst, value);
        Ok(())
    }

    fn service(&mut self, call: &Call<'_>, service: Syscall) -> Lowered {
        let (mut arg_tys, ret) = service.signature();
        // The C library's `__assert_fail` leaves out the character size.
        let is_short = service == Syscall::AssertFail && call.arguments.len() == arg_tys.len() - 1;
        if is_short {
            arg_tys = &arg_tys[..arg_tys.len() - 1];
        }
        let address_bits = self.cx.module.address_bits;
        let mut srcs = if address_bits == 32 {
            // Addresses and sizes are 32 bits wide at the call.
            let narrow = vec![Ty::I32; arg_tys.len()];
            let values = self.value_arguments(call, &narrow)?;
            let widen = |(value, ty): (Value, &Ty)| match ty {
                Ty::I64 => self.widen_address(value, ScalarType::U32),
                _ => value,
            };
            values.into_iter().zip(arg_tys).map(widen).collect()
        } else {
            self.value_arguments(call, arg_tys)?
        };
        if is_short {
            srcs.push(Value::Imm(1));
        }
        match (call.returns, ret) {
            ([], _) => {
                let ty = ret.unwrap_or(Ty::Pred);
                self.emit(Op::Syscall, ty, &[], &srcs, Attr::Syscall(service));
            }
            ([one], Some(ty)) => {
                let value = self.value(Op::Syscall, ty, &srcs, Attr::Syscall(service));
                if ty == Ty::I64 && address_bits == 32 {
                    let low = self.value_from(Op::Trunc, Ty::I32, Ty::I64, &[value], Attr::None);
                    self.value_result(one, Ty::I32, low)?;
                } else {
                    self.value_result(one, ty, value)?;
                }
            }
            _ => return Err(Stop::error(call.target.span, "the function gives no such result")),
        }
        Ok(())
    }

    fn plain(&mut self, call: &Call<'_>, plain: &libdevice::Plain) -> Lowered {
        self.written(call, plain.args, plain.ret, |l, srcs| {
            let dst = l.temp(plain.ret.class());
            l.emit_from(plain.op, plain.ty, plain.from, &[dst], srcs, plain.attr.clone());
            Value::Reg(dst)
        })
    }

    /// A function of one result that ops stand for.
    fn written(
        &mut self,
        call: &Call<'_>,
        args: &[Ty],
        ret: Ty,
        write: impl FnOnce(&mut Self, &[Value]) -> Value,
    ) -> Lowered {
        let srcs = self.value_arguments(call, args)?;
        let [one] = call.returns else {
            return Err(Stop::error(call.target.span, "the function gives one result"));
        };
        let value = write(self, &srcs);
        self.value_result(one, ret, value)
    }

    fn builtin(&mut self, call: &Call<'_>, builtin: Builtin) -> Lowered {
        let span = call.target.span;
        let (args, rets) = (builtin.args(), builtin.rets());
        let direct = call.returns.len();
        if call.arguments.len() < args.len()
            || call.arguments.len() - args.len() + direct != rets.len()
            || direct > 1
        {
            let message = format!("`{}` has another signature", builtin.name());
            return Err(Stop::error(span, message));
        }
        let (values, pointers) = call.arguments.split_at(args.len());
        let mut srcs = Vec::with_capacity(args.len());
        for (operand, ty) in values.iter().zip(args) {
            srcs.push(self.value_argument(operand, *ty)?);
        }
        let address_ty = int_ty(self.cx.module.address_bits);
        let mut targets = Vec::with_capacity(pointers.len());
        for operand in pointers {
            let address = self.value_argument(operand, address_ty)?;
            targets.push(self.widen_address(address, self.address_type()));
        }
        let dsts: Vec<Reg> = rets.iter().map(|ty| self.temp(ty.class())).collect();
        let ty = rets.first().copied().unwrap_or(Ty::I32);
        self.emit(Op::Builtin, ty, &dsts, &srcs, Attr::Builtin(builtin));
        let (direct_dsts, stored) = dsts.split_at(direct);
        for ((dst, ty), address) in stored.iter().zip(&rets[direct..]).zip(targets) {
            let ty = int_ty(ty.bits());
            self.emit(Op::St, ty, &[], &[address, Value::Reg(*dst)], memory(Space::Generic));
        }
        for ((operand, dst), ty) in call.returns.iter().zip(direct_dsts).zip(rets) {
            self.value_result(operand, *ty, Value::Reg(*dst))?;
        }
        Ok(())
    }
}

/// Whether what a call passes is what is declared.
fn agree(passed: &[CallArg], declared: Option<&[u32]>, what: &str, span: Span) -> Lowered {
    let Some(declared) = declared else { return Ok(()) };
    if passed.len() != declared.len() {
        let (passed, declared) = (passed.len(), declared.len());
        return Err(Stop::error(span, format!("{passed} {what}s are passed, {declared} declared")));
    }
    for (i, (passed, size)) in passed.iter().zip(declared).enumerate() {
        let bytes = passed.size();
        if bytes != *size {
            let message = format!("{what} {} has {bytes} bytes, {size} are declared", i + 1);
            return Err(Stop::error(span, message));
        }
    }
    Ok(())
}

/// A plain access.
fn memory(space: Space) -> Attr {
    Attr::Mem(MemAttr::plain(space))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::lower::testing::{errors, last_function, module};

    #[test]
    fn whole_parameters_travel_in_registers() {
        expect![[r#"
            b0:
              %1 = mov.i64 %0
              %2 = addr {local=0}
              st.i32 {local} %2, %3
              %4 = addr {local=0}
              st.i32 {local offset=4} %4, %5
              call {fn=0 (%1:i64, frame[0, 8]) -> (%6:i32)}
              %3 = mov.i32 %6
              exit
        "#]].assert_eq(&last_function(&module(".func (.param .b32 r) f(.param .b64 x, .param .align 4 .b8 y[8]) { .reg .b32 %r<3>; .reg .b64 %d; ld.param.b64 %d, [x]; ld.param.b32 %r1, [y+4]; st.param.b32 [r], %r1; ret; }\n.entry k() { .reg .b32 %r<3>; .reg .b64 %d; { .param .b64 p0; st.param.b64 [p0], %d; .param .align 4 .b8 p1[8]; st.param.b32 [p1+0], %r1; st.param.b32 [p1+4], %r2; .param .b32 q; call.uni (q), f, (p0, p1); ld.param.b32 %r1, [q]; } }")));
    }

    #[test]
    fn registers_and_constants_as_arguments() {
        expect![[r#"
            b0:
              condbr %0, b1, b2
            b1:
              call {fn=0 (%1:i32, 0x3ff0000000000000:i64) -> (%2:i32)}
              br b2
            b2:
              call {fn=0 (0x7:i32, 0x0:i64) -> (%3:i32)}
              exit
        "#]].assert_eq(&last_function(&module(".func (.reg .u32 r) f(.reg .u32 x, .reg .f64 y) { mov.u32 r, x; ret; }\n.entry k() { .reg .b32 %r<3>; .reg .pred p; @p call (%r1), f, (%r2, 0d3FF0000000000000); call (_), f, (7, 0d0000000000000000); }")));
    }

    #[test]
    fn indirect_calls() {
        expect![[r#"
            b0:
              %2 = addr {fn=0}
              %0 = mov.i64 %2
              %3 = mov.i32 %1
              call {to=%0 (%3:i32) -> ()}
              exit
        "#]].assert_eq(&last_function(&module(".func f(.param .b32 x) { ret; }\n.entry k() { .reg .b64 d; .reg .b32 r; mov.u64 d, f; { .param .b32 p0; st.param.b32 [p0], r; P: .callprototype _ (.param .b32 _); call d, (p0), P; } }")));
    }

    #[test]
    fn the_device_library() {
        expect![[r#"
            b0:
              %2 = mov.i32 %0
              %4 = builtin.f32 {__nv_sinf} %2
              %3 = mov.i32 %4
              %0 = mov.i32 %3
              %5 = mov.i32 %0
              %6 = mov.i64 %1
              %7 = mov.i64 %1
              %8, %9 = builtin.f32 {__nv_sincosf} %5
              st.i32 {generic} %6, %8
              st.i32 {generic} %7, %9
              %10 = mov.i32 %0
              %12 = ftos.i32.f32 {rz} %10
              %11 = mov.i32 %12
              %0 = mov.i32 %11
              exit
        "#]].assert_eq(&last_function(&module(".extern .func (.param .b32 r) __nv_sinf(.param .b32 x);\n.extern .func __nv_sincosf(.param .b32 x, .param .b64 y, .param .b64 z);\n.extern .func (.param .b32 r) __nv_float2int_rz(.param .b32 x);\n.entry k() { .reg .f32 f; .reg .b64 d; { .param .b32 p0, q; st.param.f32 [p0], f; call (q), __nv_sinf, (p0); ld.param.f32 f, [q]; } { .param .b32 p0; .param .b64 p1, p2; st.param.f32 [p0], f; st.param.b64 [p1], d; st.param.b64 [p2], d; call __nv_sincosf, (p0, p1, p2); } { .param .b32 p0, q; st.param.f32 [p0], f; call (q), __nv_float2int_rz, (p0); ld.param.b32 f, [q]; } }")));
    }

    #[test]
    fn services_of_the_run_time() {
        expect![[r#"
            b0:
              %2 = mov.i64 %0
              %3 = mov.i64 %0
              %5 = syscall.i32 {vprintf} %2, %3
              %4 = mov.i32 %5
              %1 = mov.i32 %4
              %6 = mov.i64 %0
              %8 = syscall.i64 {malloc} %6
              %7 = mov.i64 %8
              %0 = mov.i64 %7
              %9 = mov.i64 %0
              syscall.pred {free} %9
              exit
        "#]].assert_eq(&last_function(&module(".extern .func (.param .b32 r) vprintf(.param .b64 x, .param .b64 y);\n.extern .func (.param .b64 r) malloc(.param .b64 x);\n.extern .func free(.param .b64 x);\n.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n.entry k() { .reg .b64 d; .reg .b32 r; { .param .b64 p0, p1; .param .b32 q; st.param.b64 [p0], d; st.param.b64 [p1], d; call (q), vprintf, (p0, p1); ld.param.b32 r, [q]; } { .param .b64 p0, q; st.param.b64 [p0], d; call (q), malloc, (p0); ld.param.b64 d, [q]; } { .param .b64 p0; st.param.b64 [p0], d; call free, (p0); } }")));
    }

    #[test]
    fn signatures_must_agree() {
        expect![[r#"
            PTX 6:32: argument 1 has 4 bytes, 8 are declared
            PTX 7:24: 0 results are passed, 1 declared
            PTX 8:6: `nobody` is not declared
        "#]].assert_eq(&errors(".func (.param .b32 r) f(.param .b64 x) { ret; }\n.entry k() { .reg .b32 r;\n{ .param .b32 p0, q; call (q), f, (p0); }\n{ .param .b64 p0; call f, (p0); }\ncall nobody; }"));
    }
}
