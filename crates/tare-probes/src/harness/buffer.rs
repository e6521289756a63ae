//! A buffer for file and memory probes: whole pages of its own, mapped before the clock runs.

#![allow(unsafe_code, reason = "memory is mapped so that its pages are known")]

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use tare_data::failure::Failure;
use tare_data::generator::Generator;

use crate::harness::trial::broken_failure;
use crate::platform::{map_pages, small_pages, unmap_pages};

/// Page-aligned memory, as O_DIRECT wants it; unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Buffer {
    start: NonNull<u8>,
    length: usize,
}

impl Buffer {
    /// Maps `length` bytes of zeroed memory. Its pages are not there until they are touched.
    pub(crate) fn new_untouched(length: usize) -> Result<Buffer, Failure> {
        let length = length.max(1);
        let start = map_pages(length).map_err(|e| broken_failure(&format!("mapping {length} bytes"), e))?;
        Ok(Buffer { start, length })
    }

    /// Maps zeroed memory and touches its pages.
    pub(crate) fn new_zeroed(length: usize) -> Result<Buffer, Failure> {
        let mut buffer = Buffer::new_untouched(length)?;
        buffer.fill(0);
        Ok(buffer)
    }

    /// Fills memory with bytes that cannot be compressed, equal everywhere for one seed.
    pub(crate) fn new_random(length: usize, seed: u64) -> Result<Buffer, Failure> {
        let mut buffer = Buffer::new_untouched(length)?;
        let mut generator = Generator::for_part(seed, "buffer");
        for piece in buffer.chunks_mut(8) {
            piece.copy_from_slice(&generator.next_u64().to_le_bytes()[..piece.len()]);
        }
        Ok(buffer)
    }

    /// Requests pages of the usual size; a kernel that knows no others may refuse.
    pub(crate) fn small_pages(&self) {
        // SAFETY: the memory is mapped, and ours.
        unsafe { small_pages(self.start, self.length) };
    }
}

impl Deref for Buffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the memory is mapped, ours and initialised by the kernel for as long as `self` lives.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping is whole, ours, and nothing borrows it any more.
        unsafe { unmap_pages(self.start, self.length) };
    }
}

// SAFETY: the memory belongs to this value alone.
unsafe impl Send for Buffer {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_are_the_same_for_a_seed() {
        let (one, two, other) = (
            Buffer::new_random(5_001, 7).unwrap(),
            Buffer::new_random(5_001, 7).unwrap(),
            Buffer::new_random(5_001, 8).unwrap(),
        );
        assert_eq!(*one, *two);
        assert_ne!(*one, *other);
        assert_eq!(one.start.as_ptr() as usize % 4096, 0);
    }

    #[test]
    fn memory_that_cannot_be_had_is_a_failure() {
        assert!(Buffer::new_untouched(usize::MAX / 2).is_err());
    }
}
