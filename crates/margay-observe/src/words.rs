// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words of the language that a kernel is written in. Where OpenCL's word means another thing in CUDA (local
//! memory), CUDA's stands behind it.

use margay_ir::Module;
use serde::{Deserialize, Serialize};

use crate::profile::raw::RawKernel;
use crate::report::schema::Kernel;

/// Whose words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Words {
    #[default]
    Cuda,
    OpenCl,
}

impl Words {
    /// Of a file of OpenCL C.
    fn of_files<'a>(mut files: impl Iterator<Item = &'a str>) -> Words {
        if files.any(|file| file.ends_with(".cl")) { Words::OpenCl } else { Words::Cuda }
    }

    /// Of a kernel of a report.
    pub fn of(kernel: &Kernel) -> Words {
        Words::of_files(kernel.lines.iter().map(|line| &*line.file))
    }

    /// Of a kernel of a profile.
    pub fn of_raw(kernel: &RawKernel) -> Words {
        Words::of_files(kernel.code.iter().flat_map(|i| &i.places).map(|place| &*place.file))
    }

    /// Of a module's kernels.
    pub fn of_module(module: &Module) -> Words {
        Words::of_files(module.files.iter().map(|file| &**file))
    }

    /// Of the file that a fault is in.
    pub fn of_place(place: &margay_exec::fault::Place) -> Words {
        Words::of_files(place.file.as_deref().into_iter())
    }

    /// Whether they are CUDA's, as when nothing else is known.
    pub fn are_cuda(&self) -> bool {
        *self == Words::Cuda
    }

    /// A thread of a grid, or all of its block.
    pub fn who(self, [bx, by, bz]: [u32; 3], thread: Option<[u32; 3]>) -> String {
        let block = format!("{} ({bx},{by},{bz})", self.say("block", "work-group"));
        match thread {
            Some([x, y, z]) => {
                format!("{block}, {} ({x},{y},{z})", self.say("thread", "work-item"))
            }
            None => block,
        }
    }

    /// One of two ways to say the same.
    pub fn say<'a>(self, cuda: &'a str, opencl: &'a str) -> &'a str {
        match self {
            Words::Cuda => cuda,
            Words::OpenCl => opencl,
        }
    }

    /// The name of a space, which is CUDA's in a profile.
    pub fn space(self, space: &str) -> &str {
        match space {
            "shared" => self.say("shared", "local (shared)"),
            "local" => self.say("local", "private (local)"),
            "texture" => self.say("texture", "image (texture)"),
            "surface" => self.say("surface", "image (surface)"),
            "parameter" => self.say("parameter", "argument"),
            other => other,
        }
    }

    /// The name of a row of a report's table: `shared_load` is `local (shared) load`.
    pub fn row(self, row: &str) -> String {
        match row.split_once('_') {
            Some((space, kind)) => format!("{} {}", self.space(space), kind.replace('_', " ")),
            None => self.space(row).to_owned(),
        }
    }

    /// What limits a kernel's occupancy.
    pub fn limiter(self, limiter: &str) -> &str {
        match limiter {
            "shared" => self.say("shared memory", "local (shared) memory"),
            "blocks" => self.say("blocks", "work-groups"),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_is_not_local() {
        assert_eq!(Words::Cuda.row("shared_load"), "shared load");
        assert_eq!(Words::OpenCl.row("shared_load"), "local (shared) load");
        assert_eq!(Words::OpenCl.row("local_store"), "private (local) store");
        assert_eq!(Words::OpenCl.row("global_atomic"), "global atomic");
        assert_eq!(Words::OpenCl.limiter("registers"), "registers");
    }
}
