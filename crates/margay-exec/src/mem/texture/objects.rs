// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles of textures, samplers and surfaces.
//!
//! Invariant: a handle that was given out is never given out again, so that a stale one is noticed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use margay_ir::Opaque;
use parking_lot::RwLock;

use super::address::Sampler;
use super::filter::View;
use super::format::Texel;
use super::image::Image;

/// A texture with its sampler.
#[derive(Clone)]
pub struct Texture {
    pub view: View,
    pub sampler: Sampler,
}

/// An image as OpenCL has it: one handle to sample, to read, to write and to ask.
#[derive(Clone)]
pub struct Both {
    pub view: View,
    /// What writes see: layers are one dimension more.
    pub surface: Image,
    /// The colour outside of the image, whatever the sampler says of it.
    pub border: Texel,
}

impl Both {
    pub fn new(view: View, border: Texel) -> Both {
        let surface = view.image.layers_as_dimension();
        Both { view, surface, border }
    }
}

/// What a handle stands for.
pub enum Object {
    Texture(Texture),
    Sampler(Sampler),
    Surface(Image),
    /// Sampled with samplers of their own, and written.
    Image(Both),
    /// A module's variable that nothing is bound to yet.
    Unbound(Opaque),
}

impl Object {
    /// What kind of variable could hold it.
    pub fn kind(&self) -> Opaque {
        match self {
            Object::Texture(_) | Object::Image(_) => Opaque::Texture,
            Object::Sampler(_) => Opaque::Sampler,
            Object::Surface(_) => Opaque::Surface,
            Object::Unbound(kind) => *kind,
        }
    }
}

/// All live handles of a process.
pub struct Objects {
    map: RwLock<HashMap<u64, Arc<Object>>>,
    next: AtomicU64,
}

impl Default for Objects {
    fn default() -> Objects {
        Objects { map: RwLock::default(), next: AtomicU64::new(1) }
    }
}

impl Objects {
    /// A fresh handle for an object.
    pub fn insert(&self, object: Object) -> u64 {
        let handle = self.next.fetch_add(1, Ordering::Relaxed);
        self.map.write().insert(handle, Arc::new(object));
        handle
    }

    /// Makes a handle of the caller's, such as a variable's address, stand for an object.
    pub fn bind(&self, handle: u64, object: Object) {
        self.map.write().insert(handle, Arc::new(object));
    }

    /// Ends a handle; what it stood for.
    pub fn remove(&self, handle: u64) -> Option<Arc<Object>> {
        self.map.write().remove(&handle)
    }

    /// The object behind a handle.
    pub fn get(&self, handle: u64) -> Option<Arc<Object>> {
        self.map.read().get(&handle).cloned()
    }
}
