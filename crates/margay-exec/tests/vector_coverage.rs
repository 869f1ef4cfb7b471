// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every syntax line of PTX that computes, compares, converts, or meets other lanes, and every alternative of
//! its modifiers, has answers of a card in `tests/vectors`, or stands below with the reason why not.

mod warp;

use std::collections::BTreeSet;
use std::io::Read;

use margay_ptx::ast::Statement;
use margay_ptx::isa::table;

const OPS: [&[u8]; 3] = [
    include_bytes!("../../../tests/vectors/h200/op_vectors.txt.zst"),
    include_bytes!("../../../tests/vectors/h200/op_vectors_2.txt.zst"),
    include_bytes!("../../../tests/vectors/h200/approx_specials.txt.zst"),
];

/// First words of the instructions in question.
const HEADS: &str = "abs add addc and atom bar barrier bfe bfi bfind bmsk brev clz cnot copysign cos cvt div dp2a dp4a \
    elect ex2 fma fns ld ldu lg2 lop3 mad mad24 madc match max min mul mul24 neg not or popc prmt rcp red redux rem rsqrt sad \
    selp set setp shf shfl shl shr sin slct sqrt st sub subc szext tanh testp vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 \
    vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4 xor";

/// Modifiers that say who sees an access and when, or where it is kept: not what it gives. The vectors have
/// each order and scope with one operation.
const ORDER: [&str; 10] = [
    "sem",
    "scope",
    "hint",
    "weak",
    "cop",
    "prefetch_size",
    "unified",
    "L1::priority",
    "L2::priority",
    "cluster",
];

/// Rows, or all that begin so; `all` or alternatives of modifiers; and the reason. Rows for later cards than an H200
/// need none.
const EXCUSED: &[(&str, &str, &str)] = &[
    ("atom{.sem}{.scope}{.space}.cas*", "u32 u64 s32 s64", "ptxas takes the untyped ones only"),
    ("atom{.space}{.sem}{.scope}.cas*", "u32 u64 s32 s64", "ptxas takes the untyped ones only"),
    (
        "atom{.space}{.sem}*",
        "shared shared::cta shared::cluster and or xor inc dec min max b16 b64 b128 u64 s32 s64 f32 f64 f16x2 bf16x2",
        "the row before in another order, of which one type is recorded",
    ),
    (
        "red{.space}{.sem}*",
        "shared shared::cta shared::cluster and or xor inc dec min max b32 b64 u64 s32 s64 f32 f64 f16x2 bf16x2",
        "the row before in another order, of which one type is recorded",
    ),
    ("st.async*", "b128", "ptxas 13.0 does not take it"),
    ("set.CmpOp*", "lo ls hi hs", "unsigned comparisons, and this row's operands are floats"),
    ("setp.CmpOp*", "lo ls hi hs", "unsigned comparisons, and this row's operands are floats"),
    (
        "cvt{.frnd}{.ftz}{.sat}.dtype.atype d, a",
        "u8 u16 u32 u64 s8 s16 s32 s64",
        "to an integer the rounding is an integer's: the row before",
    ),
    ("cvt.frnd2{.satfinite}{.relu}.tf32.f32 d, a", "satfinite", "of PTX 8.6, for sm_100"),
    (
        "ld*",
        "const[0] const[1] const[2] const[3] const[4] const[5] const[6] const[7] const[8] const[9] const[10]",
        "of PTX before 2.2, whose targets this card's driver does not take",
    ),
    ("ld*", "v8", "for sm_100"),
    ("st*", "v8", "for sm_100"),
    ("st{.weak}.const*", "all", "clang writes it where C++ casts const away: it faults"),
    ("st.volatile.const*", "all", "clang writes it where C++ casts const away: it faults"),
    ("st.sem.scope.const*", "all", "clang writes it where C++ casts const away: it faults"),
];

#[test]
fn every_form_has_answers_of_a_card() {
    let mut texts: Vec<String> = Vec::new();
    for packed in OPS {
        let mut text = String::new();
        ruzstd::decoding::StreamingDecoder::new(packed).unwrap().read_to_string(&mut text).unwrap();
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("# ") {
                texts.push(heading.split(" : ").next().unwrap().replace('%', "%x"));
            } else if line.contains('.') {
                // `form argument... result`
                let words: Vec<&str> = line.split(' ').collect();
                let operands: Vec<String> = (1..words.len()).map(|i| format!("%x{i}")).collect();
                texts.push(format!("{} {}", words[0], operands.join(", ")));
            }
        }
    }
    texts
        .extend(warp::forms::all().into_iter().chain(warp::forms::further()).map(|form| form.body));
    texts.extend(warp::forms::further().into_iter().filter_map(|form| match form.kind {
        warp::Kind::Warps { other } => Some(other),
        warp::Kind::Plain | warp::Kind::Cluster { .. } | warp::Kind::Old => None,
    }));
    for form in ["ex2.approx", "tanh.approx"] {
        texts.extend(["f16", "f16x2", "bf16", "bf16x2"].map(|ty| {
            let ftz = if form.starts_with("ex2") && ty.starts_with('b') { ".ftz" } else { "" };
            format!("{form}{ftz}.{ty} %x0, %x1")
        }));
    }
    texts.sort();
    texts.dedup();
    let mut ptx = String::from(".version 9.0\n.target sm_100a\n.address_size 64\n.entry k()\n{\n");
    for text in &texts {
        let text = text.trim().trim_end_matches(';');
        // A block of its own, with a variable: only the function's own statements are looked at.
        let inside = text.strip_prefix("{ .").and_then(|t| t.strip_suffix('}'));
        match inside {
            Some(inside) => ptx += &format!(".{inside}\n"),
            None => ptx += &format!("{text};\n"),
        }
    }
    ptx += "}\n";
    let module = margay_ptx::parse(&ptx).unwrap_or_else(|e| panic!("{e:?}"));
    let mut rows = BTreeSet::new();
    // For loads and stores: the type, length or space with any of the rows.
    let mut anywhere = BTreeSet::new();
    let mut alternatives = BTreeSet::new();
    let body = module.functions().next().and_then(|f| f.body.as_ref()).unwrap();
    for statement in &body.statements {
        if let Statement::Instruction(inst) = statement {
            rows.insert(inst.form.id);
            let head = inst.form.name;
            anywhere.extend(
                inst.modifiers
                    .iter()
                    .map(|m| (head, inst.form.slots[m.slot as usize].name, m.name)),
            );
            alternatives.extend(inst.modifiers.iter().map(|m| (inst.form.id, m.slot, m.name)));
        }
    }
    let heads: BTreeSet<&str> = HEADS.split_whitespace().collect();
    let mut missing = Vec::new();
    let mut used = BTreeSet::new();
    let mut asked = 0;
    for form in &table().forms {
        if !heads.contains(form.name.split('.').next().unwrap()) || form.sm.0 > 90 {
            continue;
        }
        let mut excused = |what: &str| {
            let found = EXCUSED.iter().find(|(row, which, _)| {
                (*row == form.text
                    || row.strip_suffix('*').is_some_and(|r| form.text.starts_with(r)))
                    && which.split(' ').any(|w| w == what)
            });
            used.extend(found.map(|(row, which, _)| (*row, *which)));
            found.is_some()
        };
        asked += 1;
        if !rows.contains(&form.id) {
            if !excused("all") {
                missing.push(form.text.to_owned());
            }
            continue;
        }
        for (i, slot) in form.slots.iter().enumerate() {
            for alternative in &slot.alternatives {
                asked += 1;
                let access = ["ld", "st", "ldu"].contains(&form.name);
                let has = alternatives.contains(&(form.id, i as u8, *alternative))
                    || ORDER.contains(&slot.name)
                    || (access && anywhere.contains(&(form.name, slot.name, *alternative)));
                if !has && !excused(alternative) {
                    missing.push(format!("{}: .{alternative}", form.text));
                }
            }
        }
    }
    println!("{} instructions, {asked} lines and alternatives of PTX", texts.len());
    assert!(texts.len() > 3000 && asked > 1000, "{} of {asked}", texts.len());
    assert!(missing.is_empty(), "without a card's answers:\n{}", missing.join("\n"));
    let unused: Vec<_> = EXCUSED.iter().filter(|(r, w, _)| !used.contains(&(*r, *w))).collect();
    assert!(unused.is_empty(), "no longer needed: {unused:?}");
}
