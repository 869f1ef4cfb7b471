// SPDX-License-Identifier: MIT OR Apache-2.0
//! Initialisers to bytes and relocations (PTX ISA, "Initializers").

use margay_ptx::ast::{self, Init, InitKind};

use super::module::ModuleCx;
use super::names::ModuleName;
use super::operand::immediate;
use crate::module::{Global, Reloc, RelocTarget};
use crate::texture::SamplerFields;

/// Bytes of a variable that an initialiser may reach: more than any real module has.
const MOST_INITIAL_BYTES: u64 = 1 << 30;

/// Number of elements of an open array: how many its initialiser gives, in whole rows.
pub(super) fn open_elements(init: &Init, var: &ast::Variable) -> u64 {
    let inner: u64 = var.dims.iter().skip(1).map(|d| d.unwrap_or(1)).product();
    let row = inner.max(1) * u64::from(var.vector.unwrap_or(1));
    match &init.kind {
        InitKind::List(items) if items.iter().any(|i| matches!(i.kind, InitKind::List(_))) => {
            items.len() as u64 * row
        }
        InitKind::List(items) => (items.len() as u64).next_multiple_of(row),
        InitKind::Immediate(_)
        | InitKind::Address { .. }
        | InitKind::Mask { .. }
        | InitKind::Field { .. } => row,
    }
}

/// Deepest array that is accepted.
const MAX_EXTENTS: usize = 32;

impl ModuleCx<'_> {
    /// Fills in a variable's bytes and relocations.
    pub(super) fn initialise(&mut self, global: &mut Global, var: &ast::Variable, init: &Init) {
        if global.space == crate::types::Space::Shared {
            return self.error(init.span, "a shared variable cannot be initialised");
        }
        if global.opaque.is_some() {
            return self.sampler_fields(global, init);
        }
        // Extents from the outside in, the vector last; an open extent takes what comes.
        let mut extents: Vec<u64> = var.dims.iter().map(|d| d.unwrap_or(u64::MAX)).collect();
        extents.extend(var.vector.map(u64::from));
        if extents.len() > MAX_EXTENTS {
            return self.error(init.span, "an array of more dimensions than margay takes");
        }
        self.level(global, var, init, &extents, 0);
    }

    /// The fields of an opaque variable (PTX ISA, "Texture, Sampler and Surface Types").
    fn sampler_fields(&mut self, global: &mut Global, init: &Init) {
        let InitKind::List(items) = &init.kind else {
            return self.error(init.span, "an opaque variable is initialised by its fields");
        };
        let mut fields = SamplerFields::default();
        for item in items {
            let InitKind::Field { field, value } = &item.kind else {
                self.error(item.span, "an opaque variable is initialised by its fields");
                continue;
            };
            let field = self.ast.name(*field).to_owned();
            let word = match &value.kind {
                InitKind::Address { symbol, .. } => Some(self.ast.name(*symbol).to_owned()),
                _ => None,
            };
            let number = match &value.kind {
                InitKind::Immediate(imm) => imm.as_u64(),
                _ => None,
            };
            let flag = match (word.as_deref(), number) {
                (Some("true"), _) | (_, Some(1)) => Some(true),
                (Some("false"), _) | (_, Some(0)) => Some(false),
                _ => None,
            };
            let done = match (field.as_str(), word.as_deref()) {
                ("addr_mode_0" | "addr_mode_1" | "addr_mode_2", Some(word)) => {
                    let at = usize::from(field.as_bytes()[field.len() - 1] - b'0');
                    let words = ["wrap", "clamp_to_edge", "mirror", "clamp_to_border"];
                    // `clamp_ogl` clamps to the edge of the texels, too.
                    let word = if word == "clamp_ogl" { "clamp_to_edge" } else { word };
                    let mode = words.iter().position(|w| *w == word);
                    mode.map(|mode| fields.address[at] = mode as u8)
                }
                ("filter_mode", Some(word @ ("nearest" | "linear"))) => {
                    fields.linear = word == "linear";
                    Some(())
                }
                ("normalized_coords", _) => flag.map(|on| fields.normalized = Some(on)),
                ("force_unnormalized_coords", _) => flag.map(|on| {
                    if on {
                        fields.normalized = Some(false);
                    }
                }),
                // Sizes and formats come from what is bound.
                (
                    "width" | "height" | "depth" | "channel_data_type" | "channel_order"
                    | "num_mipmap_levels" | "num_samples" | "array_size" | "memory_layout",
                    _,
                ) => Some(()),
                _ => None,
            };
            if done.is_none() {
                self.error(item.span, format!("`{field}` does not take this value"));
            }
        }
        global.init = fields.to_bytes().to_vec();
    }

    /// Writes `init` from element `at` on. A list fills one row of the extents, in elements or in
    /// nested rows, and leaves the rest zero.
    fn level(
        &mut self,
        global: &mut Global,
        var: &ast::Variable,
        init: &Init,
        extents: &[u64],
        at: u64,
    ) {
        let InitKind::List(items) = &init.kind else {
            return self.element(global, var, init, at);
        };
        let Some((_, inner)) = extents.split_first() else {
            // `{ 5 }` for a scalar.
            return match &items[..] {
                [one] if !matches!(one.kind, InitKind::List(_)) => {
                    self.element(global, var, one, at);
                }
                _ => self.error(init.span, "the initialiser is nested too deeply"),
            };
        };
        let row: u64 = inner.iter().copied().fold(1, u64::saturating_mul);
        let mut next = at;
        for item in items {
            if matches!(item.kind, InitKind::List(_)) {
                self.level(global, var, item, inner, next);
                next = next.saturating_add(row);
            } else {
                self.element(global, var, item, next);
                next = next.saturating_add(1);
            }
        }
    }

    fn element(&mut self, global: &mut Global, var: &ast::Variable, init: &Init, at: u64) {
        let width = u64::from(var.ty.bits().div_ceil(8));
        let inside = |o: &u64| o.checked_add(width).is_some_and(|end| end <= global.size);
        let Some(offset) = at.checked_mul(width).filter(inside) else {
            return self.error(init.span, "the initialiser has more values than the variable");
        };
        // Bytes up to the last value given are kept; rows of huge arrays may lie far apart.
        if offset >= MOST_INITIAL_BYTES {
            return self.error(init.span, "the initialiser reaches too far into the variable");
        }
        match &init.kind {
            InitKind::Immediate(imm) => match immediate(*imm, var.ty, init.span) {
                Ok(bits) => {
                    let end = (offset + width) as usize;
                    if global.init.len() < end {
                        global.init.resize(end, 0);
                    }
                    let bytes = &mut global.init[offset as usize..end];
                    let sign = match imm.as_i64() {
                        Some(v) if v < 0 && width > 8 => 0xff,
                        _ => 0,
                    };
                    for (i, byte) in bytes.iter_mut().enumerate() {
                        *byte = bits.to_le_bytes().get(i).copied().unwrap_or(sign);
                    }
                }
                Err(super::Stop::Error { message, span }) => self.error(span, message),
                Err(super::Stop::Unsupported { reason }) => self.error(init.span, reason),
            },
            InitKind::Address { symbol, offset: addend, generic } => {
                self.reloc(global, init, (*symbol, *addend, *generic), offset, width, 0);
            }
            InitKind::Mask { mask, value } => {
                let shift = mask.trailing_zeros();
                if *mask == 0 || mask >> shift != 0xff || shift % 8 != 0 || width != 1 {
                    return self
                        .error(init.span, "a mask picks one byte, for a byte-sized element");
                }
                match &value.kind {
                    InitKind::Address { symbol, offset: addend, generic } => {
                        let target = (*symbol, *addend, *generic);
                        self.reloc(global, init, target, offset, width, shift as u8);
                    }
                    InitKind::Immediate(imm) => {
                        let Some(bits) = imm.as_u64() else {
                            return self.error(init.span, "a mask of a floating-point constant");
                        };
                        let end = offset as usize + 1;
                        if global.init.len() < end {
                            global.init.resize(end, 0);
                        }
                        global.init[offset as usize] = (bits >> shift) as u8;
                    }
                    InitKind::List(_) | InitKind::Mask { .. } | InitKind::Field { .. } => {
                        self.error(init.span, "a mask takes an address or a constant");
                    }
                }
            }
            InitKind::List(_) => self.error(init.span, "the initialiser is nested too deeply"),
            InitKind::Field { .. } => {
                self.error(init.span, "fields are for texture, sampler and surface references");
            }
        }
    }

    fn reloc(
        &mut self,
        global: &mut Global,
        init: &Init,
        (symbol, addend, generic): (margay_ptx::ast::Symbol, i64, bool),
        offset: u64,
        width: u64,
        shift: u8,
    ) {
        let target = match self.module_name(symbol) {
            Some(ModuleName::Global(id)) => RelocTarget::Global(*id),
            Some(ModuleName::Func(id)) => RelocTarget::Func(*id),
            Some(ModuleName::Unusable(why)) => {
                let message = format!("an initialiser refers to {why}");
                return self.error(init.span, message);
            }
            None => {
                let message = format!("`{}` is not declared", self.ast.name(symbol));
                return self.error(init.span, message);
            }
        };
        if !matches!(width, 1 | 2 | 4 | 8) {
            return self.error(init.span, "an address needs an integer element of up to 8 bytes");
        }
        if let RelocTarget::Func(id) = target {
            self.module.functions[id.0 as usize].address_taken = true;
        }
        global.relocs.push(Reloc { offset, width: width as u8, shift, target, addend, generic });
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::lower::testing::{errors, module};

    #[test]
    fn bytes_and_relocations() {
        let module = module(
            ".global .align 4 .b8 text[6] = {104, 105, -1};\n\
             .global .u32 grid[2][3] = {{1, 2}, {4}};\n\
             .const .f32 half = 0f3F000000;\n.global .f64 pi = 3.5;\n\
             .global .u64 at[3] = {text, generic(grid)+4, f};\n\
             .global .u8 low[2] = {0xFF(text), 0xFF00(text)};\n\
             .global .v2 .u16 v[] = {1, 2, 3, 4};\n\
             .func f() { ret; }\n",
        );
        let text = module.to_string();
        let vars: String =
            text.lines().filter(|l| l.starts_with("var")).map(|l| format!("{l}\n")).collect();
        expect![[r#"
            var "text" global internal size=6 align=4 init="6869ff"
            var "grid" global internal size=24 align=4 init="01000000020000000000000004000000"
            var "half" const internal size=4 align=4 init="0000003f"
            var "pi" global internal size=8 align=8 init="0000000000000c40"
            var "at" global internal size=24 align=8 reloc(var=0 offset=0 width=8 shift=0 addend=0) reloc(var=1 offset=8 width=8 shift=0 addend=4 generic) reloc(fn=0 offset=16 width=8 shift=0 addend=0)
            var "low" global internal size=2 align=1 reloc(var=0 offset=0 width=1 shift=0 addend=0) reloc(var=0 offset=1 width=1 shift=8 addend=0)
            var "v" global internal size=8 align=4 init="0100020003000400"
        "#]].assert_eq(&vars);
        assert!(module.functions[0].address_taken);
    }

    #[test]
    fn wrong_initialisers() {
        expect![[r#"
            PTX 4:28: the initialiser has more values than the variable
            PTX 5:18: `nobody` is not declared
            PTX 6:1: a variable needs a size or an initialiser
            PTX 7:18: this constant does not fit an operand of type `.u32`
            PTX 8:18: a shared variable cannot be initialised
        "#]]
        .assert_eq(&errors(
            ".global .u32 a[2] = {1, 2, 3};\n.global .u32 b = nobody;\n.global .u32 c[];\n\
             .global .u32 d = 1.5;\n.shared .u32 e = 1;\n.global .f32 f = a;\n",
        ));
    }
}
