//! System calls that no command needs and that lead around the walls.
//!
//! What a program probes for and does without is answered as "no such call", the rest as
//! "not permitted".

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use super::super::Posture;
use super::super::plan::Plan;
use super::step;

/// A submission queue does what no filter sees. `clone3` and `openat2` pass their flags where none
/// can look; libraries then use `clone` and `openat`.
const UNKNOWN: [i64; 5] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_clone3,
    libc::SYS_openat2,
];

/// Keys of the user, the kernel's insides.
const REFUSED: [i64; 6] = [
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
];

/// Calls that set the mode of a file, with the argument that holds it.
const MODES: [(i64, u8); 4] = [
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_mknodat, 2),
];

/// The same, where they are older than directory handles.
#[cfg(target_arch = "x86_64")]
const OLD_MODES: &[(i64, u8)] = &[(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OLD_MODES: &[(i64, u8)] = &[];

/// Calls that may make a file; the flags come before the mode.
#[cfg(target_arch = "x86_64")]
const MAKERS: &[(i64, u8)] = &[(libc::SYS_openat, 3), (libc::SYS_open, 2)];
#[cfg(not(target_arch = "x86_64"))]
const MAKERS: &[(i64, u8)] = &[(libc::SYS_openat, 3)];

/// System calls of the x32 interface have this bit set.
#[cfg(target_arch = "x86_64")]
const X32: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const X32: Option<i64> = None;

/// Puts the filter before this process and all it starts.
pub(super) fn enter(plan: &Plan) -> Result<(), String> {
    let unknown = UNKNOWN.map(|call| (call, Vec::new()));
    let mut refused = Vec::from(REFUSED.map(|call| (call, Vec::new())));
    // A new user namespace would bring capabilities back, in it.
    for call in [libc::SYS_clone, libc::SYS_unshare] {
        refused.push((call, vec![step("a rule", new_user_namespace())?]));
    }
    // A program that runs as its owner would lend that owner's rights to other users of the
    // machine, out there.
    for (call, mode) in MODES.iter().chain(OLD_MODES) {
        refused.push((*call, vec![step("a rule", runs_as_owner(*mode, None))?]));
    }
    for (call, mode) in MAKERS {
        let rules = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY]
            .map(|flag| step("a rule", runs_as_owner(*mode, Some((mode - 1, flag)))));
        refused.push((*call, rules.into_iter().collect::<Result<_, _>>()?));
    }
    if plan.posture == Posture::Partial {
        // The server is in sight, and a limit on its time would end it.
        refused.push((libc::SYS_prlimit64, vec![step("a rule", of_another())?]));
    }
    let families = [(libc::SYS_socket, vec![step("a rule", other_family(plan))?])];
    for (answer, rules) in [
        (libc::ENOSYS, unknown.to_vec()),
        (libc::EPERM, refused),
        (libc::EAFNOSUPPORT, families.to_vec()),
    ] {
        let program = step("a system call filter", compile(answer, rules))?;
        step("the system call filter", apply_filter(&program))?;
    }
    Ok(())
}

fn compile(
    answer: i32,
    rules: Vec<(i64, Vec<SeccompRule>)>,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let alike: Vec<_> = match X32 {
        Some(bit) => rules.iter().map(|(call, rules)| (call | bit, rules.clone())).collect(),
        None => Vec::new(),
    };
    let rules: BTreeMap<_, _> = rules.into_iter().chain(alike).collect();
    let answer = SeccompAction::Errno(u32::try_from(answer).unwrap_or(1));
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, SeccompAction::Allow, answer, arch)?.try_into()
}

fn new_user_namespace() -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![has(0, libc::CLONE_NEWUSER as u64)?])
}

/// The mode has the bit, and the flags have theirs.
fn runs_as_owner(
    mode: u8,
    flags: Option<(u8, i32)>,
) -> Result<SeccompRule, seccompiler::BackendError> {
    let mut conditions = vec![has(mode, u64::from(libc::S_ISUID))?];
    if let Some((argument, flag)) = flags {
        conditions.push(has(argument, u64::from(flag.unsigned_abs()))?);
    }
    SeccompRule::new(conditions)
}

fn of_another() -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?])
}

fn has(argument: u8, bit: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    let holds = SeccompCmpOp::MaskedEq(bit);
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, holds, bit)
}

/// Families of sockets beyond these reach what no namespace divides: the host of a virtual machine,
/// the kernel's ciphers. Without namespaces the network is shut here.
fn other_family(plan: &Plan) -> Result<SeccompRule, seccompiler::BackendError> {
    let mut families = vec![libc::AF_UNIX, libc::AF_NETLINK];
    if plan.network || plan.posture == Posture::Full {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    let differs = |family: &i32| {
        let family = u64::from(family.unsigned_abs());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    };
    SeccompRule::new(families.iter().map(differs).collect::<Result<_, _>>()?)
}
