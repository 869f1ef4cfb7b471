// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay gpus`: the virtual GPUs.

use margay_arch::Gpu;

use super::gpu_name;
use crate::failure::Failure;

/// List the virtual GPUs, or describe one.
#[derive(clap::Args)]
pub struct Args {
    /// A name (`h200`) or an architecture (`sm_90`).
    name: Option<String>,
    /// Every figure as JSON, with its source.
    #[arg(long)]
    json: bool,
}

/// Prints the table, or one card.
pub fn run(args: Args) -> Result<u8, Failure> {
    match &args.name {
        None if args.json => println!("{}", json(&margay_arch::cards().collect::<Vec<Gpu>>())),
        None => {
            println!("{:<10} {:<7} {:>4} {:>9} {:>9}  NAME", "GPU", "ARCH", "SMs", "MHz", "MiB");
            for gpu in margay_arch::cards() {
                let card = gpu.card;
                println!(
                    "{:<10} {:<7} {:>4} {:>9} {:>9}  {}",
                    card.alias,
                    format!("sm_{}{}", card.cc.major, card.cc.minor),
                    card.sm_count.value,
                    card.clock_khz.value / 1000,
                    card.memory_bytes.value >> 20,
                    card.name
                );
            }
        }
        Some(name) => {
            let gpu = gpu_name::find(name)?;
            if args.json {
                println!("{}", json(&gpu));
            } else {
                describe(&serde_json::to_value(gpu).expect("a card is plain data"), "");
            }
        }
    }
    Ok(0)
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("a card is plain data")
}

/// One line a figure; a figure's source follows it when it is not the manual.
fn describe(value: &serde_json::Value, prefix: &str) {
    let Some(fields) = value.as_object() else { return };
    for (name, field) in fields {
        let label = format!("{prefix}{}", name.replace('_', " "));
        match field {
            serde_json::Value::Object(inner) if inner.contains_key("value") => {
                let source =
                    inner.get("source").map(|s| s.to_string().trim_matches('"').to_lowercase());
                match source {
                    Some(s) if s != "manual" => println!("{label:<44} {} ({s})", inner["value"]),
                    Some(_) | None => println!("{label:<44} {}", inner["value"]),
                }
            }
            serde_json::Value::Object(_) => {
                println!("{name}:");
                describe(field, "  ");
            }
            serde_json::Value::String(text) => println!("{label:<44} {text}"),
            other => println!("{label:<44} {other}"),
        }
    }
}
