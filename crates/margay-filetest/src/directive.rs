// SPDX-License-Identifier: MIT OR Apache-2.0
//! The launch described in a file's header comments.
//!
//! ```text
//! // launch: add grid=2 block=32,2 sm=60,90 shared=64
//! // buffer in a: u32 = [1, 2, 3*30]
//! // buffer out sum: u32 = [3, 5*31]
//! // buffer inout c: s32 = [0] -> [-1]
//! // scalar n: f32 = 1.5
//! // texture t: a width=16 height=2 channels=1
//! // surface s: sum width=32
//! // print: "hello\n"
//! ```
//!
//! Buffers, scalars, textures and surfaces are the kernel's parameters, in their order. A list may go on over several
//! comment lines until its bracket closes.

use crate::element::{Element, parse_list};

#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub shared: u32,
    /// Compute capabilities times ten that must all agree.
    pub sm: Vec<u32>,
    pub cooperative: bool,
    pub stack: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Param {
    Buffer(Buffer),
    Scalar {
        name: String,
        element: Element,
        value: u64,
    },
    /// The handle of a texture or surface.
    Image(ImageParam),
}

/// A texture or surface over a buffer among the parameters before it, whose elements are its
/// channels; rows lie without gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageParam {
    pub name: String,
    /// A surface rather than a texture.
    pub surface: bool,
    /// Index among the buffers.
    pub buffer: usize,
    pub element: Element,
    /// Texels; a height or depth of 0 is a dimension that there is not.
    pub dimensions: [u32; 3],
    pub channels: u32,
    /// Read with linear filtering rather than the nearest texel.
    pub linear: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    pub name: String,
    pub element: Element,
    /// `None`: filled with the byte 0xCD, so that what is not written shows.
    pub before: Option<Vec<u64>>,
    pub after: Vec<u64>,
    /// For an expectation that may be rewritten: the lines it stands on (from 0, end exclusive),
    /// and the text before the list.
    pub place: Option<(std::ops::Range<usize>, String)>,
}

/// Everything but the annotations of single lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    pub launches: Vec<Launch>,
    pub params: Vec<Param>,
    /// What the device must print, if anything is said of it.
    pub print: Option<String>,
}

/// What an unwritten byte of an output buffer holds.
pub const UNWRITTEN: u8 = 0xcd;

fn dims(text: &str) -> Result<[u32; 3], String> {
    let mut dims = [1; 3];
    for (i, part) in text.split(',').enumerate() {
        *dims.get_mut(i).ok_or("more than three dimensions")? =
            part.parse().map_err(|_| format!("`{part}` is not a dimension"))?;
    }
    Ok(dims)
}

fn launch(text: &str) -> Result<Launch, String> {
    let mut words = text.split_whitespace();
    let kernel = words.next().ok_or("a launch names its kernel")?.to_string();
    let mut launch = Launch {
        kernel,
        grid: [1; 3],
        block: [1; 3],
        cluster: [1; 3],
        shared: 0,
        sm: vec![90],
        cooperative: false,
        stack: 1024,
    };
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse::<u32>().map_err(|_| format!("`{word}` is not a number"));
        match key {
            "grid" => launch.grid = dims(value)?,
            "block" => launch.block = dims(value)?,
            "cluster" => launch.cluster = dims(value)?,
            "shared" => launch.shared = number()?,
            "stack" => launch.stack = number()?,
            "cooperative" => launch.cooperative = true,
            "sm" => {
                let sm: Result<_, _> = value.split(',').map(str::parse).collect();
                launch.sm = sm.map_err(|_| format!("`{word}` lists no compute capabilities"))?;
            }
            _ => return Err(format!("`{key}` is not a property of a launch")),
        }
    }
    Ok(launch)
}

fn buffer(text: &str, lines: std::ops::Range<usize>) -> Result<Buffer, String> {
    let (head, lists) = text.split_once('=').ok_or("a buffer has `= [...]`")?;
    let (names, element) = head.split_once(':').ok_or("a buffer has `name: type`")?;
    let (mode, name) = names.trim().split_once(' ').ok_or("a buffer is `in`, `out` or `inout`")?;
    let element = Element::of_name(element.trim())
        .ok_or_else(|| format!("`{}` is not an element type", element.trim()))?;
    let name = name.trim().to_string();
    let list = |t: &str| parse_list(element, t);
    match mode {
        "in" => {
            let values = list(lists)?;
            Ok(Buffer { name, element, before: Some(values.clone()), after: values, place: None })
        }
        "out" => Ok(Buffer {
            place: Some((lines, format!("// buffer out {name}: {element} ="))),
            after: list(lists)?,
            before: None,
            name,
            element,
        }),
        "inout" => {
            let (before, after) = lists.split_once("->").ok_or("`inout` has `[...] -> [...]`")?;
            let (before, after) = (before.trim(), list(after)?);
            let values = list(before)?;
            if values.len() != after.len() {
                return Err(format!("{} values become {}", values.len(), after.len()));
            }
            Ok(Buffer {
                place: Some((lines, format!("// buffer inout {name}: {element} = {before} ->"))),
                before: Some(values),
                after,
                name,
                element,
            })
        }
        other => Err(format!("a buffer is `in`, `out` or `inout`, not `{other}`")),
    }
}

fn scalar(text: &str) -> Result<Param, String> {
    let (head, value) = text.split_once('=').ok_or("a scalar has `= value`")?;
    let (name, element) = head.split_once(':').ok_or("a scalar has `name: type`")?;
    let element = Element::of_name(element.trim())
        .ok_or_else(|| format!("`{}` is not a type", element.trim()))?;
    let value = element
        .literal(value.trim())
        .ok_or_else(|| format!("`{}` is not a value of {element}", value.trim()))?;
    Ok(Param::Scalar { name: name.trim().to_string(), element, value })
}

fn image(surface: bool, text: &str, params: &[Param]) -> Result<ImageParam, String> {
    let (name, rest) = text.split_once(':').ok_or("a texture has `name: buffer width=n`")?;
    let mut words = rest.split_whitespace();
    let wanted = words.next().ok_or("a texture or surface names its buffer")?;
    let buffers = params.iter().filter_map(|p| match p {
        Param::Buffer(b) => Some(b),
        Param::Scalar { .. } | Param::Image(_) => None,
    });
    let (buffer, under) = buffers
        .enumerate()
        .find(|(_, b)| b.name == wanted)
        .ok_or_else(|| format!("no buffer `{wanted}` stands above"))?;
    let name = name.trim().to_string();
    let element = under.element;
    let (mut dimensions, mut channels, mut linear) = ([0; 3], 1, false);
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse::<u32>().map_err(|_| format!("`{word}` is not a number"));
        match (key, surface) {
            ("width", _) => dimensions[0] = number()?,
            ("height", _) => dimensions[1] = number()?,
            ("depth", _) => dimensions[2] = number()?,
            ("channels", _) => channels = number()?,
            ("linear", false) if value.is_empty() => linear = true,
            _ => return Err(format!("`{word}` is not a property of a texture or surface")),
        }
    }
    let sizes = dimensions.map(|d| u64::from(d.max(1)));
    let elements = sizes.iter().try_fold(u64::from(channels), |n, d| n.checked_mul(*d));
    if dimensions[0] == 0 || elements != Some(under.after.len() as u64) {
        let held = under.after.len();
        return Err(format!("`{wanted}` has {held} elements, which these sizes do not take up"));
    }
    Ok(ImageParam { name, surface, buffer, element, dimensions, channels, linear })
}

fn print(text: &str) -> Result<String, String> {
    let inner = text
        .trim()
        .strip_prefix('"')
        .and_then(|t| t.strip_suffix('"'))
        .ok_or("printed text stands in quotes")?;
    Ok(inner.replace("\\n", "\n").replace("\\\"", "\""))
}

impl Header {
    /// Reads the directives; the error names its line, from 1.
    pub fn parse(text: &str) -> Result<Header, String> {
        let mut header = Header::default();
        let lines: Vec<&str> = text.lines().collect();
        let mut at = 0;
        while at < lines.len() {
            let start = at;
            let Some(comment) = lines[at].trim().strip_prefix("//") else {
                at += 1;
                continue;
            };
            at += 1;
            let comment = comment.trim();
            let words = ["launch:", "buffer ", "scalar ", "texture ", "surface ", "print:"];
            let Some(word) = words.into_iter().find(|w| comment.starts_with(w)) else { continue };
            let mut body = comment[word.len()..].to_string();
            while body.matches('[').count() > body.matches(']').count() && at < lines.len() {
                let Some(more) = lines[at].trim().strip_prefix("//") else { break };
                body.push_str(more);
                at += 1;
            }
            let wrong = |e: String| format!("line {}: {e}", start + 1);
            match word {
                "launch:" => header.launches.push(launch(&body).map_err(wrong)?),
                "buffer " => {
                    let buffer = buffer(&body, start..at).map_err(wrong)?;
                    header.params.push(Param::Buffer(buffer));
                }
                "scalar " => header.params.push(scalar(&body).map_err(wrong)?),
                "texture " | "surface " => {
                    let image = image(word == "surface ", &body, &header.params);
                    header.params.push(Param::Image(image.map_err(wrong)?));
                }
                _ => header.print = Some(print(&body).map_err(wrong)?),
            }
        }
        Ok(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read() {
        let text = "// What it tests.\n// launch: k grid=2 block=32,2 sm=60,90\n// buffer in a: u8 = [1,\n//   2]\n// buffer inout b: s32 = [0] -> [-1]\n// scalar n: f32 = 1.5\n.version 8.0\n";
        let header = Header::parse(text).unwrap();
        assert_eq!(header.launches[0].block, [32, 2, 1]);
        assert_eq!(header.launches[0].sm, [60, 90]);
        let Param::Buffer(a) = &header.params[0] else { panic!() };
        assert_eq!((a.after.as_slice(), &a.place), ([1, 2].as_slice(), &None));
        let Param::Buffer(b) = &header.params[1] else { panic!() };
        assert_eq!(b.place.as_ref().unwrap().0, 4..5);
        assert!(matches!(header.params[2], Param::Scalar { value: 0x3fc0_0000, .. }));
    }

    #[test]
    fn mistakes_name_their_line() {
        for text in [
            "\n// launch: k grid=x",
            "\n// launch: k speed=9",
            "\n// buffer a: u32 = [1]",
            "\n// buffer in a: u33 = [1]",
            "\n// buffer inout a: u32 = [1] -> [1, 2]",
            "\n// scalar n: u8 = 300",
            "\n// texture t: a width=2",
            "// buffer in a: u8 = [1, 2]\n// texture t: a width=3",
            "// buffer in a: u8 = [1, 2]\n// surface t: a width=2 linear",
        ] {
            assert!(Header::parse(text).unwrap_err().starts_with("line 2"), "{text}");
        }
    }
}
