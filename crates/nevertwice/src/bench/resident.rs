//! What processes have in memory.

/// What this process has in memory, in bytes; 0 where the system doesn't tell (it is Linux's `/proc`).
pub(super) fn resident_bytes() -> u64 {
    resident_bytes_of("self")
}

/// The same of a process by its number.
pub(super) fn resident_bytes_of(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
