// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every row of the instruction table parses, prints and parses again, in every alternative.

use margay_ptx::ast::{Instruction, Module, Statement};
use margay_ptx::isa::{sample, table};
use std::collections::HashSet;

fn in_a_function(instructions: &str) -> String {
    format!(".version 9.0\n.target sm_100a\n.address_size 64\n.entry k()\n{{\n{instructions}\n}}\n")
}

fn parse(text: &str) -> Module {
    margay_ptx::parse(text).unwrap_or_else(|errors| {
        panic!("{}", errors.iter().map(|e| e.render("sample", text)).collect::<String>());
    })
}

fn instructions(module: &Module) -> Vec<&Instruction> {
    let body = module.functions().next().and_then(|f| f.body.as_ref()).expect("a body");
    let mut found: Vec<&Instruction> = Vec::new();
    for statement in &body.statements {
        if let Statement::Instruction(inst) = statement {
            found.push(inst);
        }
    }
    found
}

#[test]
fn every_alternative_of_every_row_survives_the_round_trip() {
    for form in &table().forms {
        let samples = sample::samples(form);
        let text = in_a_function(&samples.join("\n"));
        let mut module = parse(&text);
        let printed = margay_ptx::print(&module);
        for sample in &samples {
            assert!(
                printed.contains(sample.as_str()),
                "`{sample}` of `{}` printed as:\n{printed}",
                form.text
            );
        }
        let mut again = parse(&printed);
        assert_eq!(margay_ptx::print(&again), printed, "printing is not stable: {}", form.text);
        module.erase_spans();
        again.erase_spans();
        assert_eq!(module, again, "the round trip changed it: {}", form.text);
    }
}

#[test]
fn no_row_is_hidden_by_the_rows_before_it() {
    let all: Vec<String> = table().forms.iter().flat_map(sample::samples).collect();
    let module = parse(&in_a_function(&all.join("\n")));
    let reached: HashSet<u16> = instructions(&module).iter().map(|i| i.form.id).collect();
    let hidden: Vec<&str> =
        table().forms.iter().filter(|f| !reached.contains(&f.id)).map(|f| f.text).collect();
    assert!(hidden.is_empty(), "rows that nothing matches: {hidden:#?}");
}

#[test]
fn modifiers_have_their_spans_and_slots() {
    for form in &table().forms {
        for sample in sample::samples(form) {
            let text = in_a_function(&sample);
            let module = parse(&text);
            let insts = instructions(&module);
            let inst = insts[0];
            assert_eq!(inst.span.text(&text), sample);
            let mut cursor = inst.cursor();
            for modifier in &inst.modifiers {
                assert_eq!(modifier.span.text(&text), format!(".{}", modifier.name), "{sample}");
                let slot = &inst.form.slots[modifier.slot as usize];
                assert!(slot.alternatives.contains(&modifier.name), "{sample}");
                assert!(cursor.take(modifier.name), "{sample}");
            }
            assert_eq!(cursor.unconsumed(), None, "{sample}");
        }
    }
}

#[test]
fn every_heading_names_a_section_of_the_manual() {
    for form in &table().forms {
        assert!(
            form.section.contains("-instructions-"),
            "`{}` links to `{}`",
            form.text,
            form.section
        );
        assert!((1..=9).contains(&form.ptx.0) && form.sm.0 >= 10, "since of `{}`", form.text);
    }
}
