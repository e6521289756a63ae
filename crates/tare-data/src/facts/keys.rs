//! Keys of facts that one crate writes and another reads: a family, and a name that ends with the unit where there is one.

/// Declares each key as a constant, a family a line.
macro_rules! keys {
    ($($KEY:ident: $key:literal,)+) => { $(pub const $KEY: &str = $key;)+ };
}

/// Value of a fact that is as it is where nobody sets it. Unknown is another thing: a fact that is absent.
pub const USUAL: &str = "usual";

keys! {
    BOOT_WORDS: "boot.words",
    // Times in microseconds, and a share.
    BURST_GAPS: "burst.gaps", BURST_RAN: "burst.ran", BURST_THREADS: "burst.threads",
    BURST_USED: "burst.used",
    CALLS_REFUSED: "calls.refused", CALLS_TRIED: "calls.tried",
    CALL_UNKNOWN: "call.unknown",
    CLOCK_STEP_NS: "clock.step_ns",
    CODE_AFTER: "code.after", CODE_BEFORE: "code.before",
    // A short hash of a command's words, which names none.
    COMMAND_WORDS: "command.words",
    CONTROL_GROUP: "control_group",
    // Blocks in nanoseconds for an operation.
    COST_CLOCK: "cost.clock", COST_CLOCK_CALL: "cost.clock_call", COST_KNOWN_CODE: "cost.known_code",
    COST_NEW_CODE: "cost.new_code", COST_SYNC_WORK: "cost.sync.work", COST_WRITE_WORK: "cost.write.work",
    CPU_ALLOWED: "cpu.allowed", CPU_COUNT: "cpu.count", CPU_EMULATED: "cpu.emulated",
    CPU_FLAGS: "cpu.flags", CPU_HYPERVISOR: "cpu.hypervisor", CPU_LIST: "cpu.list", CPU_MODEL: "cpu.model",
    CPU_ONLINE: "cpu.online", CPU_OTHERS: "cpu.others", CPU_STOLEN: "cpu.stolen",
    CPU_THROTTLED: "cpu.throttled",
    CPUID_BRAND: "cpuid.brand", CPUID_HYPERVISOR: "cpuid.hypervisor", CPUID_INTERFACES: "cpuid.interfaces",
    CPUID_VENDOR: "cpuid.vendor",
    CPUINFO_HYPERVISOR: "cpuinfo.hypervisor", CPUINFO_KIND: "cpuinfo.kind", CPUINFO_MODEL: "cpuinfo.model",
    // Blocks in nanoseconds.
    CYCLE_ADDITION: "cycle.addition", CYCLE_MULTIPLICATION: "cycle.multiplication",
    // Cycles.
    CYCLES_CALL: "cycles.call", CYCLES_COLD_CODE: "cycles.cold_code", CYCLES_CPUID: "cycles.cpuid",
    CYCLES_FAULT: "cycles.fault", CYCLES_WARM_CODE: "cycles.warm_code",
    FILE_SYSTEM_FREE_BYTES: "file_system.free_bytes", FILE_SYSTEM_TYPE: "file_system.type",
    KERNEL_BUILD: "kernel.build", KERNEL_COMMAND_LINE: "kernel.command_line", KERNEL_LOG: "kernel.log",
    KERNEL_MACHINE: "kernel.machine", KERNEL_NAME: "kernel.name", KERNEL_OSRELEASE: "kernel.osrelease",
    KERNEL_RELEASE: "kernel.release", KERNEL_VERSION: "kernel.version",
    LANDLOCK_ROOM: "landlock.room",
    // Words that a person starts an environment by.
    LAUNCHER_TESTED: "launcher.tested",
    LAUNCHER_WORDS: "launcher.words",
    // Processors, bytes and numbers.
    // Bursts of the levels that allow one, in microseconds.
    LIMIT_BURST: "limit.burst_us",
    LIMIT_CPU: "limit.cpu", LIMIT_FILES: "limit.files", LIMIT_MEMORY: "limit.memory",
    LIMIT_PROCESSES: "limit.processes", LIMIT_PROCESSORS: "limit.processors",
    // Weights of the levels that set another than the usual one.
    LIMIT_WEIGHT: "limit.weight",
    MACHINE_BIOS: "machine.bios", MACHINE_BOARD: "machine.board",
    MACHINE_DEVICE_TREE: "machine.device_tree", MACHINE_PRODUCT: "machine.product",
    MACHINE_VENDOR: "machine.vendor",
    MARKS_SEEN: "marks", MARKS_CONTROL_GROUPS: "marks.control_groups", MARKS_LABEL: "marks.label",
    MARKS_MANAGER: "marks.manager",
    MEMORY_TOTAL_BYTES: "memory.total_bytes",
    MOUNT_TYPE: "mount.type", MOUNT_UPPER: "mount.upper",
    MOUNTS_SIGNS: "mounts.signs",
    NAMESPACE_MNT: "namespace.mnt", NAMESPACE_NET_COOKIE: "namespace.net_cookie",
    NAMESPACE_PID: "namespace.pid",
    // Packet filters.
    NETWORK_CHAINS: "network.filter_chains", NETWORK_RULES: "network.filter_rules",
    OUTSIDE_IMAGE_DIRECT: "outside.image_direct",
    PLACE_OWN_TYPE: "place.own.type",
    // Blocks in nanoseconds for a file that a command read.
    PRICE_MAP_OWN: "price.map-own", PRICE_OPEN_OWN: "price.open-own",
    // Each of a file beside those, in nanoseconds.
    PRICE_OPEN_NEW: "price.open-new",
    PROCESS_ANCESTORS: "process.ancestors", PROCESS_CLASS: "process.class", PROCESS_FIRST: "process.first", PROCESS_NAME: "process.name",
    PROCESS_CAPABILITIES: "process.capabilities", PROCESS_NICE: "process.nice",
    PROCESS_NUMBER: "process.number", PROCESS_POLICY: "process.policy", PROCESS_SECOND: "process.second",
    PROCESS_STORE_BYPASS: "process.store_bypass", PROCESS_USER: "process.user",
    PROCESS_USERS: "process.users",
    PROGRAM_MACHINE: "program.machine", PROGRAM_NAME: "program.name",
    PROOF_AT_NS: "proof.at_ns",
    PTRACE_REQUEST: "ptrace.request", PTRACE_SCOPE: "ptrace.scope",
    ROOT_DEVICE: "root.device", ROOT_IS_MOUNT: "root.is_mount", ROOT_LINK: "root.link",
    ROOT_MOUNT: "root.mount", ROOT_MOUNT_DEVICE: "root.mount_device", ROOT_NUMBER: "root.number",
    ROOT_TYPE: "root.type",
    RUNTIME_COMMAND: "runtime.command", RUNTIME_VERSION: "runtime.version",
    SECCOMP_BY_CALL: "seccomp.by_call", SECCOMP_FILTERS: "seccomp.filters", SECCOMP_MODE: "seccomp.mode",
    SECCOMP_LISTENER: "seccomp.listener", SECCOMP_ROOM: "seccomp.room",
    SYSTEM_PROCESSES: "system.processes",
    // Seconds since 1970.
    TAKEN_AT: "taken.at",
    TRACER_NAME: "tracer.name",
    VARIABLES_SET: "variables", VARIABLES_CONTAINER: "variables.container",
    VDSO: "vdso", VDSO_RELEASE: "vdso.release",
    WSL_VERSION: "wsl.version",
}
