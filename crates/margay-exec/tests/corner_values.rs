// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an H200 gave for the corner cases that PTX leaves open, against parser, lowering and lane
//! functions together. The forms and inputs are read from the program that recorded them.

mod lane;

use lane::Operand;

const PROGRAM: &str = include_str!("../../../tests/contract/corner_values.cu");
const RECORDED: &str = include_str!("../../../tests/contract/corner_values.h200.txt");

/// A recorded kernel: its PTX form, and the type of its result and operands.
struct Form {
    text: String,
    out: &'static str,
    operand: &'static str,
    operands: usize,
}

fn constraint(letter: &str) -> &'static str {
    match letter {
        "h" => "b16",
        "r" => "b32",
        "l" => "b64",
        "f" => "f32",
        "d" => "f64",
        other => panic!("constraint {other}"),
    }
}

/// Finds `MACRO(name, "form", …)` in the program.
fn form(name: &str) -> Form {
    for (macro_name, operands) in [("INT2", 2), ("F64OP", 2), ("F32OP", 2), ("F16OP", 2), ("UN", 1)]
    {
        let start = format!("{macro_name}({name}, \"");
        let Some(at) = PROGRAM.find(&start) else { continue };
        let rest = &PROGRAM[at + start.len()..];
        let call = &rest[..rest.find(')').unwrap()];
        let words: Vec<&str> = call.split('"').collect();
        let (out, operand) = match macro_name {
            "INT2" => (constraint(words[2]), constraint(words[2])),
            "F64OP" => ("f64", "f64"),
            "F32OP" => ("f32", "f32"),
            "F16OP" => ("b16", "b16"),
            _ => (constraint(words[2]), constraint(words[4])),
        };
        let text = match operands {
            1 => format!("{} %0, %1", words[0]),
            _ => format!("{} %0, %1, %2", words[0]),
        };
        return Form { text, out, operand, operands };
    }
    panic!("{name} is not in the program");
}

fn list(name: &str) -> Vec<u64> {
    let at = PROGRAM.find(&format!("{name}[] = {{")).unwrap();
    let body = &PROGRAM[at..at + PROGRAM[at..].find("};").unwrap()];
    let hex = |word: &str| {
        let digits = word.trim().strip_prefix("0x")?;
        u64::from_str_radix(digits, 16).ok()
    };
    body.split([',', '{']).filter_map(hex).collect()
}

/// Names of the program whose last bits are the card's own, for ordinary arguments and results.
const APPROXIMATE: [(&str, u64); 7] = [
    ("div_approx", 2),
    ("div_full", 2),
    ("rcp_ftz_d", 1 << 32),
    ("rsqrt_d", 2),
    ("rsqrt_ftz_d", 1 << 33),
    ("tanh_h", 1),
    ("tanh_b", 1),
];

/// Neither NaN, infinite, zero nor subnormal. Halves are f16 or, by the form's name, bf16.
fn ordinary(ty: &str, name: &str, bits: u64) -> bool {
    let (exponent, fraction) = match (ty, name) {
        ("f64", _) => (11, 52),
        ("f32", _) => (8, 23),
        ("b16", "tanh_b") => (8, 7),
        ("b16", _) => (5, 10),
        (other, _) => panic!("{name} has operands of {other}"),
    };
    let field = bits >> fraction & ((1 << exponent) - 1);
    field != 0 && field != (1 << exponent) - 1
}

#[test]
fn as_an_h200() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for line in RECORDED.lines() {
        let (head, results) = line.split_once(':').unwrap();
        let results: Vec<u64> =
            results.split_whitespace().map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
        let words: Vec<&str> = head.split(' ').collect();
        let name = words[words.len() - 1];
        let form = form(name);
        let inputs: Vec<Vec<u64>> = if words.len() == 3 {
            vec![words[..2].iter().map(|w| u64::from_str_radix(w, 16).unwrap()).collect()]
        } else {
            let values = match form.operand {
                "f64" => list("doubles"),
                "f32" => list("floats"),
                _ => list("halves"),
            };
            match form.operands {
                1 => values.iter().map(|&a| vec![a]).collect(),
                _ => values.iter().flat_map(|&a| values.iter().map(move |&b| vec![a, b])).collect(),
            }
        };
        assert_eq!(inputs.len(), results.len(), "{name}");
        let slack = APPROXIMATE.iter().find(|(n, _)| *n == name).map_or(0, |(_, slack)| *slack);
        for (input, card) in inputs.iter().zip(results) {
            let operands: Vec<Operand> =
                input.iter().map(|&bits| Operand { ty: form.operand, bits }).collect();
            let exact = slack == 0
                || !ordinary(form.out, name, card)
                || input.iter().any(|&bits| !ordinary(form.operand, name, bits));
            let slack = if exact { 0 } else { slack };
            let ours = lane::run(&form.text, &[form.out], &operands).unwrap()[0];
            count += 1;
            if ours.abs_diff(card) > slack {
                wrong.push(format!("{} {input:x?}: {ours:x}, card {card:x}", form.text));
            }
        }
    }
    assert!(count > 8000, "{count} values are too few");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(300)].join("\n")
    );
}
