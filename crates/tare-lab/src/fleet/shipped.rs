//! The engines that come along, as their files have them.

/// Engines that come along. Slurm's and ssh's jobs are tested, Kubernetes' against stand-ins.
pub static SHIPPED: &[(&str, &str)] = &[
    ("slurm", include_str!("../../engines/slurm.toml")),
    ("kubernetes", include_str!("../../engines/kubernetes.toml")),
    ("ssh", include_str!("../../engines/ssh.toml")),
    ("slurm-steps", include_str!("../../engines/slurm-steps.toml")),
];
