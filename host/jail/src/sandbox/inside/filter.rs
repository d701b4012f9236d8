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

/// Its submission queue does what no filter sees. `clone3` passes its flags where none can look;
/// libraries then use `clone`.
const UNKNOWN: [i64; 4] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_clone3,
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
    let flag = libc::CLONE_NEWUSER as u64;
    let holds = SeccompCmpOp::MaskedEq(flag);
    SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Qword, holds, flag)?])
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
