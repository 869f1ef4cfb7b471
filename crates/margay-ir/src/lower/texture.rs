// SPDX-License-Identifier: MIT OR Apache-2.0
//! `tex`, `tld4`, `txq`, `suld`, `sust`, `sured`, `suq`, `istypep`.
//!
//! A handle is a 64-bit value: what the driver gave out, or the address of a `.texref`, `.samplerref`
//! or `.surfref` variable. Elements of a coordinate vector beyond those of the geometry are padding.

use margay_ptx::ast::{Base, Instruction, ModifierCursor, Operand, OperandKind, ScalarType};
use smallvec::SmallVec;

use super::function::Lower;
use super::memory::word;
use super::names::{Entity, Slot};
use super::{Lowered, Stop};
use crate::inst::*;
use crate::ops::Op;
use crate::texture::*;
use crate::types::{Space, Ty};

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    match inst.opcode().split('.').next().unwrap_or_default() {
        "tex" => l.sample(inst, m),
        "tld4" => l.gather(inst, m),
        "txq" | "suq" => l.texture_query(inst, m),
        "istypep" => l.is_type(inst, m),
        "suld" | "sust" | "sured" => l.surface(inst, m),
        other => Err(Stop::unsupported(format!("the engine has no `{other}` yet"))),
    }
}

const GEOMETRIES: &[&str] = &["1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "2dms", "a2dms"];

fn geometry(inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered<Geometry> {
    let name = GEOMETRIES.iter().find(|name| word(inst, m, name));
    let name = name.ok_or_else(|| Stop::error(inst.opcode_span, "a geometry is missing"))?;
    Geometry::from_word(name).ok_or_else(|| {
        Stop::unsupported("multi-sampled textures come from graphics only; margay has none")
    })
}

fn texel_type(ty: ScalarType) -> Lowered<TexelType> {
    TexelType::from_word(ty.name())
        .ok_or_else(|| Stop::unsupported(format!("texels of type `.{}`", ty.name())))
}

/// The scalar type that a data register is read or written as.
fn register_type(texel: TexelType) -> ScalarType {
    match texel {
        TexelType::U32 => ScalarType::U32,
        TexelType::S32 => ScalarType::S32,
        TexelType::F32 => ScalarType::F32,
        TexelType::F16 => ScalarType::F16,
        TexelType::F16x2 => ScalarType::F16x2,
        TexelType::B8 => ScalarType::B8,
        TexelType::B16 => ScalarType::B16,
        TexelType::B32 => ScalarType::B32,
        TexelType::B64 => ScalarType::B64,
        TexelType::U64 => ScalarType::U64,
        TexelType::S64 => ScalarType::S64,
    }
}

/// The parts of `[a, b, {c}]`, or of `[a]` that the parser reads as an address.
fn parts(operand: &Operand) -> Lowered<Vec<Operand>> {
    match &operand.kind {
        OperandKind::Bracket(parts) => Ok(parts.clone()),
        OperandKind::Address(address) if address.offset == 0 => {
            let Base::Name(name) = address.base else {
                return Err(Stop::error(operand.span, "a handle is a register or a variable"));
            };
            Ok(vec![Operand { kind: OperandKind::Name(name), span: operand.span }])
        }
        _ => Err(Stop::error(operand.span, "a texture or surface operand stands in brackets")),
    }
}

type Sources = SmallVec<[Value; 16]>;

impl Lower<'_, '_> {
    /// A texture, sampler or surface as a 64-bit value.
    fn texture_handle(&mut self, operand: &Operand) -> Lowered<Value> {
        let OperandKind::Name(name) = &operand.kind else {
            return self.src(operand, ScalarType::B64);
        };
        match self.find(*name) {
            Some(Entity::KernelParam { offset }) => {
                let address = self.value(
                    Op::Addr,
                    Ty::I64,
                    &[],
                    Attr::Address { of: AddrOf::Param(offset), addend: 0 },
                );
                let attr = Attr::Mem(MemAttr::plain(Space::Param));
                Ok(self.value(Op::Ld, Ty::I64, &[address], attr))
            }
            Some(Entity::Slot(Slot::Frame { .. })) => {
                Err(Stop::unsupported("a handle in a parameter that is not one register"))
            }
            _ => self.src(operand, ScalarType::B64),
        }
    }

    /// Handle, sampler, layer and coordinates; whether there was a sampler.
    fn texture_place(
        &mut self,
        operand: &Operand,
        geometry: Geometry,
        coordinate: ScalarType,
        srcs: &mut Sources,
    ) -> Lowered<bool> {
        let parts = parts(operand)?;
        let (sampler, coords) = match &parts[..] {
            [_, coords] => (None, coords),
            [_, sampler, coords] => (Some(sampler), coords),
            _ => return Err(Stop::error(operand.span, "coordinates are missing")),
        };
        srcs.push(self.texture_handle(&parts[0])?);
        if let Some(sampler) = sampler {
            srcs.push(self.texture_handle(sampler)?);
        }
        let layers = usize::from(geometry.layered());
        let needed = layers + geometry.coordinates();
        let list: Vec<Operand> = match &coords.kind {
            OperandKind::Vector(list) => list.clone(),
            // A vector register, or one coordinate alone.
            _ => {
                let values = self.src_elements(coords, coordinate)?;
                if values.len() < needed {
                    return Err(Stop::error(coords.span, format!("{needed} coordinates needed")));
                }
                srcs.extend(values.into_iter().take(needed));
                return Ok(sampler.is_some());
            }
        };
        if list.len() < needed {
            return Err(Stop::error(coords.span, format!("{needed} coordinates are needed")));
        }
        for (at, part) in list.iter().take(needed).enumerate() {
            let ty = if at < layers { ScalarType::U32 } else { coordinate };
            srcs.push(self.src(part, ty)?);
        }
        Ok(sampler.is_some())
    }

    /// Offsets and the depth comparison, which may follow the other operands.
    fn texture_tail(
        &mut self,
        inst: &Instruction,
        from: usize,
        geometry: Geometry,
        srcs: &mut Sources,
    ) -> Lowered<bool> {
        let mut offset = false;
        for operand in inst.operands.iter().skip(from) {
            let OperandKind::Vector(list) = &operand.kind else {
                return Err(Stop::unsupported("depth comparison"));
            };
            let dims = geometry.coordinates();
            if list.len() < dims || matches!(geometry, Geometry::Cube | Geometry::ACube) {
                return Err(Stop::error(operand.span, "an offset for each coordinate is needed"));
            }
            for part in list.iter().take(dims) {
                srcs.push(self.src(part, ScalarType::S32)?);
            }
            offset = true;
        }
        Ok(offset)
    }

    /// The data registers of `d` or `d|p`.
    fn texel_results(
        &mut self,
        operand: &Operand,
        ty: ScalarType,
        count: usize,
    ) -> Lowered<(SmallVec<[Reg; 5]>, bool)> {
        let (data, pred) = match &operand.kind {
            OperandKind::Pair(halves) => (&halves.0, Some(&halves.1)),
            _ => (operand, None),
        };
        let mut regs: SmallVec<[Reg; 5]> = self.dst_elements(data, ty)?.into_iter().collect();
        if regs.len() != count {
            let message = format!("{count} registers take the result");
            return Err(Stop::error(operand.span, message));
        }
        if let Some(pred) = pred {
            regs.push(match pred.kind {
                OperandKind::Sink => self.temp(crate::types::Class::P),
                _ => self.dst(pred, ScalarType::Pred)?,
            });
        }
        Ok((regs, pred.is_some()))
    }

    fn sample(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let level = match () {
            () if word(inst, m, "level") => Level::Given,
            () if word(inst, m, "grad") => Level::Gradient,
            () => {
                word(inst, m, "base");
                Level::Base
            }
        };
        let geometry = geometry(inst, m)?;
        let count = m.vector();
        let (Some(dtype), Some(ctype)) = (m.next_type(), m.next_type()) else {
            return Err(Stop::error(inst.opcode_span, "`tex` has two types"));
        };
        let texel = texel_type(dtype)?;
        let float_coords = ctype == ScalarType::F32;
        let mut srcs = Sources::new();
        let place = self.operand(inst, 1)?;
        let sampler = self.texture_place(place, geometry, ctype, &mut srcs)?;
        let mut next = 2;
        match level {
            Level::Base => {}
            Level::Given => {
                srcs.push(self.src_at(inst, 2, ctype)?);
                next = 3;
            }
            Level::Gradient => {
                for at in [2, 3] {
                    let operand = self.operand(inst, at)?;
                    let list = self.src_elements(operand, ScalarType::F32)?;
                    let dims = geometry.coordinates();
                    if list.len() < dims {
                        let message = format!("{dims} derivatives are needed");
                        return Err(Stop::error(operand.span, message));
                    }
                    srcs.extend(list.into_iter().take(dims));
                }
                next = 4;
            }
        }
        let offset = self.texture_tail(inst, next, geometry, &mut srcs)?;
        let (dsts, resident) =
            self.texel_results(self.operand(inst, 0)?, register_type(texel), count.into())?;
        let attr = TextureAttr {
            op: TextureOp::Sample(level),
            geometry,
            texel,
            count,
            float_coords,
            sampler,
            offset,
            resident,
            outside: OutOfBounds::Trap,
        };
        self.emit(Op::Tex, Ty::I32, &dsts, &srcs, Attr::Texture(attr));
        Ok(())
    }

    fn gather(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let component = ["r", "g", "b", "a"].iter().position(|c| word(inst, m, c));
        let component = component.ok_or_else(|| Stop::error(inst.opcode_span, "no component"))?;
        let geometry = geometry(inst, m)?;
        m.vector();
        let (Some(dtype), Some(_)) = (m.next_type(), m.next_type()) else {
            return Err(Stop::error(inst.opcode_span, "`tld4` has two types"));
        };
        let texel = texel_type(dtype)?;
        let mut srcs = Sources::new();
        let place = self.operand(inst, 1)?;
        let sampler = self.texture_place(place, geometry, ScalarType::F32, &mut srcs)?;
        let offset = self.texture_tail(inst, 2, geometry, &mut srcs)?;
        let (dsts, resident) =
            self.texel_results(self.operand(inst, 0)?, register_type(texel), 4)?;
        let attr = TextureAttr {
            op: TextureOp::Gather(component as u8),
            geometry,
            texel,
            count: 4,
            float_coords: true,
            sampler,
            offset,
            resident,
            outside: OutOfBounds::Trap,
        };
        self.emit(Op::Tex, Ty::I32, &dsts, &srcs, Attr::Texture(attr));
        Ok(())
    }

    fn texture_query(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let level = word(inst, m, "level");
        let what = TextureQuery::ALL.iter().find(|q| word(inst, m, q.word()));
        let what = *what.ok_or_else(|| Stop::error(inst.opcode_span, "nothing is asked"))?;
        m.next_type();
        let handle = parts(self.operand(inst, 1)?)?;
        let mut srcs = Sources::new();
        srcs.push(self.texture_handle(&handle[0])?);
        if level {
            srcs.push(self.src_at(inst, 2, ScalarType::U32)?);
        }
        let dst = self.dst_at(inst, 0, ScalarType::B32)?;
        let attr = Attr::Texture(TextureAttr::query(what, level));
        self.emit(Op::Tex, Ty::I32, &[dst], &srcs, attr);
        Ok(())
    }

    fn is_type(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let what = match m.next_type() {
            Some(ScalarType::Texref) => TextureQuery::IsTexture,
            Some(ScalarType::Samplerref) => TextureQuery::IsSampler,
            Some(ScalarType::Surfref) => TextureQuery::IsSurface,
            _ => return Err(Stop::error(inst.opcode_span, "`istypep` takes an opaque type")),
        };
        let handle = self.operand(inst, 1)?.clone();
        let handle = self.texture_handle(&handle)?;
        let dst = self.dst_at(inst, 0, ScalarType::Pred)?;
        let attr = Attr::Texture(TextureAttr::query(what, false));
        self.emit(Op::Tex, Ty::I32, &[dst], &[handle], attr);
        Ok(())
    }

    fn surface(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let formatted = word(inst, m, "p");
        if !formatted {
            word(inst, m, "b");
        }
        let kind = inst.opcode().split('.').next().unwrap_or_default();
        let reduction = match kind {
            "sured" => ["add", "min", "max", "and", "or"].into_iter().find(|r| word(inst, m, r)),
            _ => None,
        };
        let geometry = geometry(inst, m)?;
        // Cache operators change no result.
        m.take_any(&["ca", "cg", "cs", "cv", "wb", "wt"]);
        let count = m.vector();
        let ty = m.next_type();
        let ty = ty.ok_or_else(|| Stop::error(inst.opcode_span, "a type is missing"))?;
        let texel = texel_type(ty)?;
        let outside = match m.take_any(&["trap", "clamp", "zero"]) {
            Some("clamp") => OutOfBounds::Clamp,
            Some("zero") => OutOfBounds::Zero,
            Some(_) | None => OutOfBounds::Trap,
        };
        let op = match (kind, reduction) {
            ("suld", _) => TextureOp::Load { formatted },
            ("sust", _) => TextureOp::Store { formatted },
            (_, Some(name)) => {
                let signed = ty.is_signed();
                let op = match name {
                    "add" => SurfaceReduction::Add,
                    "min" if signed => SurfaceReduction::MinS,
                    "min" => SurfaceReduction::MinU,
                    "max" if signed => SurfaceReduction::MaxS,
                    "max" => SurfaceReduction::MaxU,
                    "and" => SurfaceReduction::And,
                    _ => SurfaceReduction::Or,
                };
                TextureOp::Reduce { op, formatted }
            }
            (_, None) => return Err(Stop::error(inst.opcode_span, "an operation is missing")),
        };
        let place = self.operand(inst, if kind == "suld" { 1 } else { 0 })?;
        let mut srcs = Sources::new();
        self.texture_place(place, geometry, ScalarType::S32, &mut srcs)?;
        let mut attr = TextureAttr {
            op,
            geometry,
            texel,
            count,
            float_coords: false,
            sampler: false,
            offset: false,
            resident: false,
            outside,
        };
        if !attr.writes() {
            let (dsts, _) =
                self.texel_results(self.operand(inst, 0)?, register_type(texel), count.into())?;
            attr.resident = false;
            self.emit(Op::Tex, Ty::I32, &dsts, &srcs, Attr::Texture(attr));
            return Ok(());
        }
        let data = self.operand(inst, 1)?;
        let values = self.src_elements(data, register_type(texel))?;
        if values.len() != usize::from(count) {
            return Err(Stop::error(data.span, format!("{count} registers are stored")));
        }
        srcs.extend(values);
        self.emit(Op::SurfStore, Ty::I32, &[], &srcs, Attr::Texture(attr));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::lower::testing::{errors, last_function, module};

    #[test]
    fn forms() {
        let module = module(
            ".global .texref t;\n\
             .global .samplerref s = { addr_mode_0 = clamp_to_border, filter_mode = linear };\n\
             .entry k(.param .surfref u) {\n\
             .reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p<2>; .reg .b16 %h<4>;\n\
             tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [t, {%f4,%f5}];\n\
             tex.a2d.v4.u32.s32 {%r0,%r1,%r2,_}, [%d0, {%r3,%r4,%r5,%r6}];\n\
             tex.level.3d.v4.f32.f32 {%f0,%f1,%f2,%f3}|%p1, [t, s, {%f4,%f5,%f6,%f7}], %f0;\n\
             tex.grad.1d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [%d1, {%f4}], {%f5}, {%f6};\n\
             tld4.b.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [%d1, {%f4,%f5}], {1,-1};\n\
             txq.width.b32 %r1, [t];\n\
             suq.height.b32 %r1, [u];\n\
             istypep.surfref %p1, %d1;\n\
             suld.b.2d.v2.b16.clamp {%h0,%h1}, [u, {%r0,%r1}];\n\
             sust.p.1d.v4.b32.zero [%d1, {%r0}], {%r1,%r2,%r3,%r4};\n\
             sured.b.min.2d.s32 [u, {%r0,%r1}], %r2;\n ret; }\n",
        );
        let text = module.to_string();
        let vars = text.lines().filter(|l| l.starts_with("var")).map(|l| format!("{l}\n"));
        let text = vars.collect::<String>() + &last_function(&module);
        expect![[r#"
            var "t" global internal size=8 align=8 texref
            var "s" global internal size=8 align=8 samplerref init="0300000100000000"
            b0:
              %0 = addr {var=0}
              %3, %4, %5, %6 = tex {"tex.base.g2d.v4.f32.trap.xf"} %0, %1, %2
              %11, %12, %13, %14 = tex {"tex.base.ga2d.v4.u32.trap.x"} %7, %8, %9, %10
              %15 = addr {var=0}
              %16 = addr {var=1}
              %3, %4, %5, %6, %18 = tex {"tex.level.g3d.v4.f32.trap.xfsr"} %15, %16, %1, %2, %17, %3
              %3, %4, %5, %6 = tex {"tex.grad.g1d.v4.f32.trap.xf"} %19, %1, %2, %17
              %3, %4, %5, %6 = tex {"tld4.2.g2d.v4.f32.trap.xfo"} %19, %1, %2, 0x1, 0xffffffff
              %20 = addr {var=0}
              %12 = tex {"query.width.g1d.v1.b32.trap.x"} %20
              %21 = addr {param=0}
              %22 = ld.i64 {param} %21
              %12 = tex {"query.height.g1d.v1.b32.trap.x"} %22
              %18 = tex {"query.surfref.g1d.v1.b32.trap.x"} %19
              %23 = addr {param=0}
              %24 = ld.i64 {param} %23
              %25, %26 = tex {"suld.b.g2d.v2.b16.clamp.x"} %24, %11, %12
              surf.store {"sust.p.g1d.v4.b32.zero.x"} %19, %11, %12, %13, %8, %9
              %27 = addr {param=0}
              %28 = ld.i64 {param} %27
              surf.store {"sured.b.min_s.g2d.v1.s32.trap.x"} %28, %11, %12, %13
              exit
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn wrong_operands() {
        expect![[r#"
            PTX 7:42: 2 coordinates are needed
        "#]]
        .assert_eq(&errors(
            ".global .texref t;\n.entry k() {\n .reg .f32 %f<8>;\n\
             tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [t, {%f4}];\n ret; }\n",
        ));
    }
}
