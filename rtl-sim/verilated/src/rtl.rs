//! An instance of a block, over the functions of its shim.

#![allow(unsafe_code)]

use std::ffi::{c_char, CStr, CString};
use std::marker::PhantomData;
use std::path::Path;
use std::ptr::NonNull;

/// Pins of each block, one module a block.
#[allow(missing_docs, clippy::all)]
pub mod pins {
    include!(concat!(env!("OUT_DIR"), "/pins.rs"));
}

/// What the shim gives out.
#[repr(C)]
pub struct Handle {
    _private: [u8; 0],
}

/// Functions of a block's shim.
#[derive(Clone, Copy)]
pub struct Shim<I, O> {
    // SAFETY: to be called with what `new` of the same shim gave, until `free`; paths end with 0.
    pub(crate) new: unsafe extern "C" fn(i32) -> *mut Handle,
    pub(crate) free: unsafe extern "C" fn(*mut Handle),
    pub(crate) reset: unsafe extern "C" fn(*mut Handle),
    pub(crate) cycle: unsafe extern "C" fn(*mut Handle, *const I, *mut O) -> u32,
    pub(crate) trace: unsafe extern "C" fn(*mut Handle, *const c_char) -> u32,
    pub(crate) coverage: unsafe extern "C" fn(*mut Handle, *const c_char) -> u32,
}

extern "C" {
    fn pollproof_failure() -> *const c_char;
}

/// A block of the RTL. Implemented by what the build script makes.
pub trait Block: Sized {
    /// Pins in.
    type In: Copy + Default;
    /// Pins out.
    type Out: Copy + Default;
    /// Name of its top module.
    const NAME: &'static str;
    #[doc(hidden)]
    const SHIM: Shim<Self::In, Self::Out>;

    /// Shows each pin: name, bits, words of 32 bits.
    fn show(input: &Self::In, output: &Self::Out, see: &mut dyn FnMut(&'static str, u32, &[u32]));
}

/// An assertion of the RTL failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// File and line.
    pub at: String,
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the assertion at {} failed", self.at)
    }
}

impl std::error::Error for Failed {}

/// An instance of a block.
pub struct Rtl<B: Block> {
    handle: NonNull<Handle>,
    _block: PhantomData<B>,
}

// SAFETY: an instance owns its model and its Verilator context, and neither knows its thread
// beyond a call: a failed assertion is taken from the thread that saw it within that call.
unsafe impl<B: Block> Send for Rtl<B> {}

impl<B: Block> Rtl<B> {
    /// An instance after reset. What reset leaves alone is random by `seed`.
    pub fn new(seed: u32) -> Self {
        // Verilator takes a seed of 0 as "of the clock".
        let seed = (seed & 0x7fff_fffe) as i32 + 1;
        // SAFETY: the shim of this block; it gives a new instance.
        let handle = unsafe { (B::SHIM.new)(seed) };
        let Some(handle) = NonNull::new(handle) else { unreachable!("new throws, or it is there") };
        let mut it = Self { handle, _block: PhantomData };
        it.reset();
        it
    }

    /// Resets it. Waveforms go on.
    pub fn reset(&mut self) {
        // SAFETY: the handle is that of this block's shim, and only we have it.
        unsafe { (B::SHIM.reset)(self.handle.as_ptr()) }
    }

    /// One clock cycle with these pins: gives the outputs as they are before the edge at its end.
    #[inline]
    pub fn cycle(&mut self, input: &B::In) -> Result<B::Out, Failed> {
        let mut output = B::Out::default();
        // SAFETY: as above; both structures are made from the same list of pins as the shim's.
        let failed = unsafe { (B::SHIM.cycle)(self.handle.as_ptr(), input, &mut output) };
        if failed == 0 {
            return Ok(output);
        }
        // SAFETY: a string that ends, of this thread, written in the call above.
        let at = unsafe { CStr::from_ptr(pollproof_failure()) };
        Err(Failed { at: at.to_string_lossy().into_owned() })
    }

    /// Writes a waveform with every signal from now on; false without `rtl-vcd` and `rtl-fst`.
    pub fn trace(&mut self, path: &Path) -> bool {
        let Ok(path) = CString::new(path.to_string_lossy().as_bytes()) else { return false };
        // SAFETY: as above; the path is a string that ends.
        unsafe { (B::SHIM.trace)(self.handle.as_ptr(), path.as_ptr()) != 0 }
    }

    /// Writes which lines ran so far; false without `rtl-coverage`.
    pub fn coverage(&mut self, path: &Path) -> bool {
        let Ok(path) = CString::new(path.to_string_lossy().as_bytes()) else { return false };
        // SAFETY: as above.
        unsafe { (B::SHIM.coverage)(self.handle.as_ptr(), path.as_ptr()) != 0 }
    }
}

impl<B: Block> Drop for Rtl<B> {
    fn drop(&mut self) {
        // SAFETY: nobody uses the handle after this.
        unsafe { (B::SHIM.free)(self.handle.as_ptr()) }
    }
}
