// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is told of the constant cache: a row for each kernel and variable, and its hint.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// What one kernel read of one variable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    pub kernel: String,
    /// The variable's name, or the call that made the buffer and the argument's position.
    pub variable: String,
    /// Bytes.
    pub size: u64,
    pub launches: u64,
    /// Different words that warps asked for, one request each.
    pub hits: u64,
    pub misses: u64,
    /// Times that the host wrote the variable between launches that read it.
    pub emptied: u64,
}

impl Row {
    /// Hits of all that was asked for.
    pub fn rate(&self) -> f64 {
        self.hits as f64 / (self.hits + self.misses).max(1) as f64
    }

    /// What is wrong with keeping this in constant memory, if anything is. `cache`: bytes.
    pub fn hint(&self, cache: u32) -> Option<String> {
        if self.emptied + 1 >= self.launches && self.launches > 1 {
            return Some(
                "the host writes it before every launch, and each write throws the cache away: `global const` \
                 would serve better"
                    .into(),
            );
        }
        if self.rate() < 0.5 && self.size > u64::from(cache) {
            return Some(format!(
                "its {} bytes do not fit the cache's {cache}, and most reads miss: `global const` would serve better",
                self.size
            ));
        }
        None
    }
}

/// The report as data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constants {
    /// Of each multiprocessor's cache.
    pub bytes: u32,
    pub rows: Vec<Row>,
}

impl Constants {
    /// As text.
    pub fn text(&self) -> String {
        let mut text = format!("constant cache of {} bytes for each multiprocessor\n", self.bytes);
        if self.rows.is_empty() {
            text += "  no kernel read constant memory\n";
        }
        for row in &self.rows {
            // Text always takes more.
            let _ = writeln!(
                text,
                "  {}: {} ({} bytes): {} reads in {} launches, {:.1} % hits; the host wrote it {} times between",
                row.kernel,
                row.variable,
                row.size,
                row.hits + row.misses,
                row.launches,
                100.0 * row.rate(),
                row.emptied
            );
            if let Some(hint) = row.hint(self.bytes) {
                let _ = writeln!(text, "    hint: {hint}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(launches: u64, emptied: u64, hits: u64, misses: u64, size: u64) -> Row {
        Row { launches, emptied, hits, misses, size, ..Row::default() }
    }

    #[test]
    fn hints_are_for_what_does_not_stay() {
        assert_eq!(row(5, 0, 900, 100, 4096).hint(16 << 10), None);
        assert!(row(5, 4, 900, 100, 4096).hint(16 << 10).unwrap().contains("every launch"));
        assert!(row(1, 0, 1, 99, 1 << 16).hint(16 << 10).unwrap().contains("do not fit"));
        // A single launch has nothing to keep it for.
        assert_eq!(row(1, 0, 0, 10, 64).hint(16 << 10), None);
    }
}
