// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast PTX parses: a file named on the command line, or 5 MB made up of functions such as
//! compilers write, each with names of its own. Prints the best and the median of several runs.

use std::fmt::Write;
use std::time::{Duration, Instant};

fn main() {
    let text = match std::env::args().nth(1) {
        Some(path) => std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}")),
        None => made_up(5_000_000),
    };
    let mut times: Vec<Duration> = (0..11)
        .map(|_| {
            let start = Instant::now();
            let module = margay_ptx::parse(&text)
                .unwrap_or_else(|e| panic!("{}", e[0].render("text", &text)));
            let time = start.elapsed();
            assert!(module.functions().next().is_some());
            time
        })
        .collect();
    times.sort();
    let rate = text.len() as f64 / 1e6 / times[5].as_secs_f64();
    println!(
        "{:.1} MB: best {:.0?}, median {:.0?}, {rate:.0} MB/s",
        text.len() as f64 / 1e6,
        times[0],
        times[5]
    );
}

/// A module of at least `size` bytes.
fn made_up(size: usize) -> String {
    let mut text = String::from(".version 8.3\n.target sm_90\n.address_size 64\n\n");
    let mut n = 0;
    while text.len() < size {
        function(&mut text, n).expect("a string takes all that is written");
        n += 1;
    }
    text
}

fn function(text: &mut String, n: usize) -> std::fmt::Result {
    writeln!(
        text,
        ".visible .entry _Z6kernel{n}PfPKfi(\n\t.param .u64 .ptr .global .align 4 k{n}_param_0,"
    )?;
    writeln!(
        text,
        "\t.param .u64 k{n}_param_1,\n\t.param .u32 k{n}_param_2\n)\n.maxntid 256, 1, 1\n{{"
    )?;
    writeln!(
        text,
        "\t.reg .pred \t%p<8>;\n\t.reg .b32 \t%r<60>;\n\t.reg .f32 \t%f<80>;\n\t.reg .b64 \t%rd<40>;"
    )?;
    writeln!(text, "\t.shared .align 4 .b8 tile{n}[1024];\n\t.loc\t1 {} 0", n + 5)?;
    writeln!(
        text,
        "// %bb.0:                               // %entry\n\tld.param.u64 \t%rd1, [k{n}_param_0];"
    )?;
    writeln!(
        text,
        "\tld.param.u32 \t%r1, [k{n}_param_2];\n\tmov.u32 \t%r2, %ctaid.x;\n\tmov.u32 \t%r3, %tid.x;"
    )?;
    writeln!(
        text,
        "\tmad.lo.s32 \t%r4, %r2, 256, %r3;\n\tsetp.ge.s32 \t%p1, %r4, %r1;\n\t@%p1 bra \t$L__BB{n}_3;"
    )?;
    for i in 0..24 {
        writeln!(text, "\t.loc\t1 {} 12", n + i)?;
        writeln!(
            text,
            "\tmul.wide.s32 \t%rd{}, %r4, 4;\n\tadd.s64 \t%rd{}, %rd1, %rd{};",
            i + 2,
            i + 3,
            i + 2
        )?;
        writeln!(
            text,
            "\tld.global.nc.v2.f32 \t{{%f{i}, %f{}}}, [%rd{}+{}];",
            i + 1,
            i + 3,
            i * 8
        )?;
        writeln!(
            text,
            "\tfma.rn.f32 \t%f{}, %f{i}, 0f3F800000, %f{};\n\tst.shared.f32 \t[tile{n}+{}], %f{i};",
            i + 2,
            i + 1,
            i * 4
        )?;
    }
    writeln!(
        text,
        "\tbar.sync \t0;\n$L__BB{n}_3:                              // %exit\n\tret;\n}}\n"
    )
}
