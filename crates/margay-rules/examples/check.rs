// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks files with given headers: `cargo run -p margay-rules --example check -- INCLUDE[:INCLUDE] FILE… [-Iflags]`.
//! `margay check` is the real command; this one builds in seconds.

use margay_rules::{Environment, Settings, check, render};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let include = arguments.next().expect("folders of headers");
    let (flags, files): (Vec<String>, Vec<String>) = arguments.partition(|a| a.starts_with('-'));
    for file in files {
        let mut environment = Environment::new(
            include.split(':').map(Into::into).collect(),
            margay_arch::ComputeCapability::new(9, 0),
        );
        environment.flags = flags.clone();
        environment.precompiled = std::env::var_os("PRECOMPILED").map(Into::into);
        let report = check::file(file.as_ref(), &environment, &Settings::default());
        print!("{}", render::text::render(&report, false));
        if let Some(why) = &report.unreadable {
            println!("could not check: {why}\n");
        }
    }
}
