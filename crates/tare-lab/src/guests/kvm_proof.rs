//! The proof that KVM runs real code: a virtual machine that runs what every kernel does in its first instants.

#![allow(unsafe_code, reason = "memory of a virtual machine is mapped and shared with the kernel")]

use std::time::{Duration, Instant};

use kvm_bindings::{KVM_MAX_CPUID_ENTRIES, kvm_regs, kvm_segment, kvm_userspace_memory_region};
use kvm_ioctls::{Kvm, VcpuExit, VcpuFd};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::error::Cause;

/// Memory of the machine: page tables, descriptors, code.
const MEMORY_BYTES: usize = 1 << 20;
const TABLES: u64 = 0x1000;
const DESCRIPTORS: u64 = 0x4000;
const CODE: u64 = 0x8000;
/// Port to which the code reports that it is done.
const PORT: u16 = 0x3f8;
const DONE: u8 = b'K';
/// A loop of 100 000 turns takes some 50 us on a real processor and 200 ms where it is emulated.
const LONGEST_LOOP: Duration = Duration::from_millis(20);

/// An SSE instruction, a loop of 100 000 turns, then DONE to PORT: what every kernel does in its first
/// instants, and what emulation cannot do, or not so fast.
const INSTRUCTIONS: [u8; 21] = [
    0x66, 0x0f, 0xef, 0xc0, // pxor xmm0, xmm0
    0xb9, 0xa0, 0x86, 0x01, 0x00, // mov ecx, 100000
    0xff, 0xc9, // dec ecx
    0x75, 0xfc, // jnz
    0xb0, DONE, // mov al, DONE
    0x66, 0xba, 0xf8, 0x03, // mov dx, PORT
    0xee, // out dx, al
    0xf4, // hlt
];

pub fn prove_kvm() -> Result<(), Cause> {
    let kvm = Kvm::new().map_err(|e| format!("/dev/kvm: {e}"))?;
    let machine = kvm.create_vm().map_err(|e| format!("making a machine: {e}"))?;
    let flags = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
    let memory = unsafe { mmap_anonymous(std::ptr::null_mut(), MEMORY_BYTES, flags, MapFlags::SHARED) }
        .map_err(|e| format!("memory: {e}"))?;
    // SAFETY: the mapping is this long, zeroed, and lives to the end of the process; the machine does not
    // run yet.
    fill(unsafe { std::slice::from_raw_parts_mut(memory.cast::<u8>(), MEMORY_BYTES) });
    let region = kvm_userspace_memory_region {
        slot: 0,
        flags: 0,
        guest_phys_addr: 0,
        memory_size: MEMORY_BYTES as u64,
        userspace_addr: memory as u64,
    };
    // SAFETY: the mapping lives to the end of the process.
    unsafe { machine.set_user_memory_region(region) }.map_err(|e| format!("memory: {e}"))?;
    let mut processor = machine.create_vcpu(0).map_err(|e| format!("making a processor: {e}"))?;
    let known = kvm.get_supported_cpuid(KVM_MAX_CPUID_ENTRIES).map_err(|e| format!("CPUID: {e}"))?;
    processor.set_cpuid2(&known).map_err(|e| format!("CPUID: {e}"))?;
    set_up(&processor).map_err(|e| format!("setting up the processor: {e}"))?;
    let began = Instant::now();
    match processor.run() {
        Ok(VcpuExit::IoOut(PORT, [DONE])) if began.elapsed() < LONGEST_LOOP => Ok(()),
        Ok(VcpuExit::IoOut(PORT, [DONE])) => {
            Err(format!("a loop took {} ms: its instructions are emulated", began.elapsed().as_millis())
                .into())
        }
        Ok(other) => Err(format!("a machine stopped at its first instructions: {other:?}").into()),
        Err(e) => Err(format!("running: {e}").into()),
    }
}

/// Writes identity-mapped page tables, flat segments and the code. Intel's manual, volume 3, 4.5 and 3.4.5.
fn fill(memory: &mut [u8]) {
    const PRESENT_WRITABLE: u64 = 3;
    const LARGE: u64 = 1 << 7;
    let mut put = |at: u64, value: u64| {
        memory[at as usize..at as usize + 8].copy_from_slice(&value.to_le_bytes());
    };
    put(TABLES, (TABLES + 0x1000) | PRESENT_WRITABLE);
    put(TABLES + 0x1000, (TABLES + 0x2000) | PRESENT_WRITABLE);
    put(TABLES + 0x2000, LARGE | PRESENT_WRITABLE);
    put(DESCRIPTORS + 8, 0x00af_9a00_0000_ffff);
    put(DESCRIPTORS + 16, 0x00cf_9200_0000_ffff);
    memory[CODE as usize..][..INSTRUCTIONS.len()].copy_from_slice(&INSTRUCTIONS);
}

/// Puts the processor into 64-bit mode, at the code.
fn set_up(processor: &VcpuFd) -> Result<(), kvm_ioctls::Error> {
    let mut special = processor.get_sregs()?;
    special.gdt.base = DESCRIPTORS;
    special.gdt.limit = 23;
    special.cr3 = TABLES;
    special.cr4 = 0x620; // PAE, OSFXSR, OSXMMEXCPT
    special.cr0 = 0x8005_0033; // paging, protection, numeric errors
    special.efer = 0x500; // long mode, enabled and active
    let flat = kvm_segment { limit: u32::MAX, present: 1, s: 1, g: 1, ..Default::default() };
    special.cs = kvm_segment { selector: 8, type_: 11, l: 1, ..flat };
    let data = kvm_segment { selector: 16, type_: 3, db: 1, ..flat };
    [special.ds, special.es, special.fs, special.gs, special.ss] = [data; 5];
    processor.set_sregs(&special)?;
    processor.set_regs(&kvm_regs { rip: CODE, rsp: CODE, rflags: 2, ..Default::default() })
}
