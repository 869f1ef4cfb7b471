// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which launches are checked, as the command line says.

use super::names::demangled;

/// Which launches are checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// A part of the kernel's name, as it is in PTX or as it was written in C++.
    pub kernels: Option<String>,
    /// Numbers of launches, first to last, from 1 in the order in which they start; those of kernels that
    /// the name leaves out do not count.
    pub launches: Option<Vec<(u64, u64)>>,
}

impl Filter {
    /// Reads `1,5-8,20-`; `None` if the text is not like that.
    pub fn parse_launches(text: &str) -> Option<Vec<(u64, u64)>> {
        text.split(',')
            .map(|part| {
                let part = part.trim();
                let number = |t: &str| t.trim().parse::<u64>().ok().filter(|n| *n > 0);
                let (first, last) = match part.split_once('-') {
                    None => (number(part)?, number(part)?),
                    Some((first, "")) => (number(first)?, u64::MAX),
                    Some((first, last)) => (number(first)?, number(last)?),
                };
                (first <= last).then_some((first, last))
            })
            .collect()
    }

    pub(super) fn names(&self, kernel: &str) -> bool {
        let has =
            |f: &String| kernel.contains(f.as_str()) || demangled(kernel).contains(f.as_str());
        self.kernels.as_ref().is_none_or(has)
    }

    pub(super) fn numbers(&self, launch: u64) -> bool {
        let within = |r: &Vec<(u64, u64)>| r.iter().any(|&(a, b)| (a..=b).contains(&launch));
        self.launches.as_ref().is_none_or(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_by_number() {
        let read = Filter::parse_launches;
        assert_eq!(read("1, 5-8,20-"), Some(vec![(1, 1), (5, 8), (20, u64::MAX)]));
        for wrong in ["", "0", "3-1", "a", "1,,2", "-4"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        let filter = Filter { kernels: Some("add".into()), launches: read("2-3") };
        assert!(filter.names("vector_add") && !filter.names("scale"));
        let written = Filter { kernels: Some("tree(int*)".into()), launches: None };
        assert!(written.names("_Z4treePi") && !written.names("_Z4treePf"));
        assert!(!filter.numbers(1) && filter.numbers(3) && !filter.numbers(4));
    }
}
