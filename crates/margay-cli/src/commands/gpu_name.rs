// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of virtual GPUs on the command line.

use margay_arch::Gpu;

use crate::failure::Failure;

/// The GPU of a name; a wrong name's error tells those that look like it and lists all.
pub fn find(name: &str) -> Result<Gpu, Failure> {
    margay_arch::find(name).ok_or_else(|| {
        let near = near(name);
        let hint = if near.is_empty() {
            String::new()
        } else {
            format!(" Did you mean {}?", near.join(", "))
        };
        let known: Vec<&str> = margay_arch::cards().map(|gpu| gpu.card.alias).collect();
        Failure::Usage(format!(
            "no GPU is called `{name}`.{hint} `margay gpus` lists all.\n  Known: {}; compute capabilities 1.0 to 12.1 (`9.0`, `sm_90`)",
            known.join(" ")
        ))
    })
}

/// Checks a list of names, separated by commas.
pub fn check_list(list: &str) -> Result<(), Failure> {
    list.split(',').try_for_each(|name| find(name.trim()).map(drop))
}

/// Up to four names, the nearest first.
fn near(name: &str) -> Vec<String> {
    let wanted = name.to_ascii_lowercase();
    let mut names: Vec<String> = Vec::new();
    for gpu in margay_arch::cards() {
        names.push(gpu.card.alias.to_string());
        let capability = format!("sm_{}", gpu.cc().sm());
        if !names.contains(&capability) {
            names.push(capability);
        }
    }
    let mut scored: Vec<(f64, String)> = names
        .into_iter()
        .map(|n| (strsim::jaro_winkler(&wanted, &n), n))
        .filter(|(score, _)| *score > 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(4).map(|(_, n)| n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names() {
        assert!(near("h20").contains(&"h200".to_string()));
        assert!(near("sm_91").contains(&"sm_90".to_string()));
        assert!(near("").is_empty());
    }
}
