// SPDX-License-Identifier: MIT OR Apache-2.0
//! Evaluates `#[cfg(...)]` for one CUDA version, and lists the versions that a file knows.
//!
//! Invariant: the only feature that holds is `cuda-NNNNN` of the version asked for.

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Lit, Meta, Token};

/// A CUDA version as `CUDART_VERSION` has it: 1000 × major + 10 × minor.
pub type Version = u32;

/// Whether every `cfg` among the attributes holds for `version`.
pub fn holds(attributes: &[Attribute], version: Version) -> syn::Result<bool> {
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")) {
        if !evaluate(&attribute.parse_args::<Meta>()?, version)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn evaluate(condition: &Meta, version: Version) -> syn::Result<bool> {
    match condition {
        Meta::NameValue(pair) if pair.path.is_ident("feature") => {
            Ok(feature_version(&pair.value) == Some(version))
        }
        Meta::List(list) => {
            let inner = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
            let values = inner
                .iter()
                .map(|meta| evaluate(meta, version))
                .collect::<syn::Result<Vec<_>>>()?;
            if list.path.is_ident("any") {
                Ok(values.contains(&true))
            } else if list.path.is_ident("all") {
                Ok(!values.contains(&false))
            } else if list.path.is_ident("not") {
                Ok(values == [false])
            } else {
                Err(syn::Error::new_spanned(list, "an operator of cfg that is not known here"))
            }
        }
        Meta::NameValue(_) | Meta::Path(_) => {
            Err(syn::Error::new_spanned(condition, "a condition of cfg that is not known here"))
        }
    }
}

fn feature_version(value: &Expr) -> Option<Version> {
    let Expr::Lit(literal) = value else { return None };
    let Lit::Str(text) = &literal.lit else { return None };
    text.value().strip_prefix("cuda-")?.parse().ok()
}

/// All versions that conditions on the attributes name.
pub fn mentioned(attributes: &[Attribute]) -> Vec<Version> {
    fn walk(condition: &Meta, found: &mut Vec<Version>) {
        match condition {
            Meta::NameValue(pair) => found.extend(feature_version(&pair.value)),
            Meta::List(list) => {
                let inner = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
                inner.into_iter().flatten().for_each(|meta| walk(&meta, found));
            }
            Meta::Path(_) => {}
        }
    }
    let mut found = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")) {
        if let Ok(condition) = attribute.parse_args::<Meta>() {
            walk(&condition, &mut found);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(text: &str) -> Vec<Attribute> {
        syn::parse_str::<syn::ItemConst>(&format!("{text} const A: u32 = 0;")).unwrap().attrs
    }

    #[test]
    fn a_version_must_be_listed() {
        let listed = attributes(r#"#[cfg(any(feature = "cuda-12080", feature = "cuda-12090"))]"#);
        assert!(holds(&listed, 12090).unwrap());
        assert!(!holds(&listed, 13000).unwrap());
        assert_eq!(mentioned(&listed), [12080, 12090]);
    }

    #[test]
    fn other_features_are_off_and_not_turns_them() {
        assert!(!holds(&attributes(r#"#[cfg(feature = "no-std")]"#), 12090).unwrap());
        assert!(holds(&attributes(r#"#[cfg(not(feature = "no-std"))]"#), 12090).unwrap());
        assert!(holds(&attributes(r#"#[cfg(unix)]"#), 12090).is_err());
    }
}
