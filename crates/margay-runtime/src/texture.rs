// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface objects and references: handles that kernels read through.
//!
//! Invariant: a handle belongs to a context and ends with it. A reference's binding changes only
//! after the context's earlier work has ended, so that a kernel reads what was bound when it was
//! launched.

use std::collections::HashMap;
use std::sync::Arc;

use margay_exec::mem::texture::{AddressMode, Filter, Image, Object, Sampler, Texture, View};
use margay_ir::Opaque;
use margay_ir::texture::SamplerFields;
use parking_lot::Mutex;

use crate::context::Context;
use crate::error::{CudaError, Result};
use crate::handle::{self, Handle};
use crate::module::Module;
use crate::runtime::{self, Runtime};

/// The sampler that a `.samplerref`'s or `.texref`'s initialiser describes.
pub fn sampler_of(fields: SamplerFields) -> Sampler {
    let mode = |code: u8| match code {
        0 => AddressMode::Wrap,
        1 => AddressMode::Clamp,
        2 => AddressMode::Mirror,
        _ => AddressMode::Border,
    };
    Sampler {
        address: fields.address.map(mode),
        filter: if fields.linear { Filter::Linear } else { Filter::Point },
        normalized: fields.normalized.unwrap_or(true),
        ..Sampler::default()
    }
}

/// Which context each object handle belongs to.
#[derive(Default)]
pub(crate) struct Owners(Mutex<HashMap<u64, Handle>>);

impl Context {
    /// `cuTexObjectCreate`: what the handle reads is checked by the caller.
    pub fn create_texture(&self, view: View, sampler: Sampler) -> Result<u64> {
        self.create_object(Object::Texture(Texture { view, sampler }))
    }

    /// `cuSurfObjectCreate`.
    pub fn create_surface(&self, image: Image) -> Result<u64> {
        self.create_object(Object::Surface(image))
    }

    fn create_object(&self, object: Object) -> Result<u64> {
        self.check()?;
        let rt = runtime::get();
        let handle = rt.memory.objects().insert(object);
        rt.object_owners.0.lock().insert(handle, self.handle);
        Ok(handle)
    }
}

impl Runtime {
    /// `cuTexObjectDestroy`, `cuSurfObjectDestroy`: after the work under way.
    pub fn destroy_object(&self, handle: u64, kind: Opaque) -> Result<()> {
        let found = self.memory.objects().get(handle).filter(|o| o.kind() == kind);
        found.ok_or(CudaError::InvalidHandle)?;
        let owner = self.object_owners.0.lock().remove(&handle);
        let owner = owner.ok_or(CudaError::InvalidHandle)?;
        if let Some(context) = self.contexts.get(owner) {
            context.drain();
        }
        self.memory.objects().remove(handle).map(drop).ok_or(CudaError::InvalidHandle)
    }

    /// Whether a handle is a live object of this kind.
    pub fn is_object(&self, handle: u64, kind: Opaque) -> bool {
        self.memory.objects().get(handle).is_some_and(|o| o.kind() == kind)
    }

    /// Ends the objects and references of a context.
    pub(crate) fn release_context_objects(&self, context: Handle) {
        let mut owners = self.object_owners.0.lock();
        owners.retain(|handle, owner| {
            if *owner == context {
                self.memory.objects().remove(*handle);
            }
            *owner != context
        });
        self.texture_references.drain_where(|r| r.context == context);
    }
}

/// What a texture or surface reference is bound to, as its getters tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Binding {
    #[default]
    None,
    Array(Handle),
    Mipmapped(Handle),
    /// Address of linear or pitched memory.
    Memory(u64),
}

/// A texture reference's state; its own defaults are those of the manual.
#[derive(Clone)]
pub struct ReferenceState {
    pub sampler: Sampler,
    /// `CU_TRSF_*`.
    pub flags: u32,
    /// `CUarray_format` and channels.
    pub format: (u32, u32),
    pub binding: Binding,
    /// What is read, once something is bound.
    pub image: Option<Image>,
}

/// A `.texref` or `.surfref` variable of a module, or a texture reference of its own.
pub struct Reference {
    pub handle: Handle,
    pub context: Handle,
    pub kind: Opaque,
    /// The variable's address, which is what kernels use as the handle; 0 if there is no variable.
    pub address: u64,
    pub module: Handle,
    pub state: Mutex<ReferenceState>,
}

impl Reference {
    fn new(context: Handle, kind: Opaque, address: u64, module: Handle) -> Arc<Reference> {
        let state = ReferenceState {
            sampler: Sampler::default(),
            flags: 0,
            format: (0x20, 1),
            binding: Binding::None,
            image: None,
        };
        let handle = handle::fresh();
        let state = Mutex::new(state);
        let reference = Arc::new(Reference { handle, context, kind, address, module, state });
        runtime::get().texture_references.insert(handle, reference.clone());
        reference
    }

    /// Changes the state and what kernels launched from now on read. `normalized` says, of the
    /// state's image and flags, whether integers read as floats.
    pub fn update(
        &self,
        change: impl FnOnce(&mut ReferenceState) -> Result<()>,
        normalized: impl FnOnce(&ReferenceState) -> bool,
    ) -> Result<()> {
        let rt = runtime::get();
        let context = rt.context(self.context)?;
        context.check()?;
        let mut state = self.state.lock();
        let mut next = state.clone();
        change(&mut next)?;
        if self.address != 0 {
            context.drain();
            let object = match (&next.image, self.kind) {
                (None, kind) => Object::Unbound(kind),
                (Some(image), Opaque::Surface) => Object::Surface(image.clone()),
                (Some(image), _) => {
                    let view = View { image: image.clone(), normalized: normalized(&next) };
                    Object::Texture(Texture { view, sampler: next.sampler })
                }
            };
            rt.memory.objects().bind(self.address, object);
        }
        *state = next;
        Ok(())
    }
}

impl Context {
    /// `cuTexRefCreate`: a reference that no kernel reads.
    pub fn create_reference(&self) -> Arc<Reference> {
        Reference::new(self.handle, Opaque::Texture, 0, 0)
    }
}

impl Module {
    /// `cuModuleGetTexRef`, `cuModuleGetSurfRef`: the same handle for the same name.
    pub fn reference(&self, name: &str, kind: Opaque) -> Result<Arc<Reference>> {
        let code = &self.loaded.ir;
        let id = code.global(name).ok_or(CudaError::NotFound)?;
        if code.globals[id.0 as usize].opaque != Some(kind) {
            return Err(CudaError::NotFound);
        }
        let address = self.loaded.addresses.get(id.0 as usize).copied().unwrap_or(0);
        let table = &runtime::get().texture_references;
        let known = table.all_where(|r| r.address == address && r.module == self.handle);
        if let Some(known) = known.into_iter().next() {
            return Ok(known);
        }
        let reference = Reference::new(self.context, kind, address, self.handle);
        let fields = SamplerFields::from_bytes(&code.globals[id.0 as usize].init);
        if fields != SamplerFields::default() {
            reference.state.lock().sampler = sampler_of(fields);
        }
        Ok(reference)
    }
}
