// SPDX-License-Identifier: MIT
//! The PMU of guests on the silicon model. Each test has a model of its own, and is the one thread that uses it.
#![deny(unsafe_op_in_unsafe_fn)]
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use upmu::guest::{shape, Access, Door, Entry, Filter, Inject, Level, Policy, Shape, Vcpu, STATE_BYTES};
use upmu::sim::{Handler, Model, Work};
use upmu::*;

const BURST: Work = Work { instructions: 12000, cycles: 9000, branches: 2000, mispredicts: 31, ip: 0x1000, ip_step: 4 };

// Registers of Intel's PMU.
const PMC0: u32 = 0xc1;
const SELECT0: u32 = 0x186;
const GLOBAL_STATUS: u32 = 0x38e;
const GLOBAL_CTRL: u32 = 0x38f;
const GLOBAL_CLEAR: u32 = 0x390;
const PEBS_ENABLE: u32 = 0x3f1;
const FULL_PMC0: u32 = 0x4c1;
const DEBUGCTL: u32 = 0x1d9;
/// Instructions, in all rings; with interrupts.
const INSTRUCTIONS: u64 = 0x4300c0;
const INTERRUPTS: u64 = 0x100000;
const DONE: Result<Access, Error> = Ok(Access::Done(0));

static IPC: Policy = Policy::new(Level::Ipc);

struct Host {
    port: Model,
    machine: Machine,
    cpus: [Cpu; 2],
    idle: [Thread; 2],
    vcpu: Vcpu<8>,
}

/// The host's NMI entry.
fn entry(cpu: &'static Cpu, frame: &Frame) {
    // SAFETY: the model calls it where the interrupt of that CPU comes.
    assert_eq!(unsafe { cpu.interrupt(Some(frame)) }, Pmi::Handled);
}

impl Host {
    /// A machine of the model Skylake, never freed, whose CPU 0 runs the thread of a vCPU without a PMU.
    fn new(handler: Handler) -> &'static Host {
        let host: &'static Host = Box::leak(Box::new(Host {
            port: Model::new(),
            machine: Machine::new(),
            cpus: [Cpu::new(), Cpu::new()],
            idle: [Thread::new(0, 0), Thread::new(0, 1)],
            vcpu: Vcpu::new(1, 1),
        }));
        // SAFETY: one test uses it, on its thread.
        unsafe { host.port.init("skl", &[&host.cpus[0], &host.cpus[1]], handler) }.unwrap();
        host.machine.init(&host.port).unwrap();
        for number in [1, 0] {
            host.port.switch_cpu(number);
            host.cpus[number as usize].init(&host.machine).unwrap();
        }
        host
    }

    /// The same, with a PMU.
    fn with_pmu(handler: Handler) -> &'static Host {
        let host = Host::new(handler);
        host.vcpu().open(&host.machine, &host.shape(), &IPC).unwrap();
        host.switch(0, host.idle(0), host.vcpu().thread());
        host
    }

    fn vcpu(&'static self) -> Pin<&'static Vcpu<8>> {
        Pin::static_ref(&self.vcpu)
    }

    fn idle(&'static self, number: usize) -> Pin<&'static Thread> {
        Pin::static_ref(&self.idle[number])
    }

    fn shape(&'static self) -> Shape {
        shape(&self.machine, Door::Intel, &IPC).unwrap()
    }

    fn switch(&'static self, number: usize, prev: Pin<&Thread>, next: Pin<&Thread>) {
        self.port.switch_cpu(number as u32);
        // SAFETY: this CPU executes, `prev` ran on it and `next` runs nowhere.
        unsafe { self.cpus[number].switch(prev, next) }.unwrap();
    }

    fn enter(&'static self) -> Entry {
        // SAFETY: the model executes on the CPU that was switched to the thread of the vCPU.
        unsafe { self.vcpu().enter() }.unwrap()
    }

    /// An entry, work of the guest, an exit: the interrupt that the entry injects.
    fn run(&'static self) -> Inject {
        let entry = self.enter();
        assert_eq!(entry.trouble, None);
        self.port.work(BURST);
        self.vcpu().exit().unwrap();
        entry.inject
    }
}

#[test]
fn a_guest_counts_what_it_executes() {
    let host = Host::with_pmu(entry);
    let vcpu = host.vcpu();
    assert_eq!(vcpu.wrmsr(GLOBAL_CTRL, 0), DONE);
    assert_eq!(vcpu.wrmsr(SELECT0, INSTRUCTIONS), DONE);
    assert_eq!(host.run(), Inject::None);
    assert_eq!(vcpu.rdmsr(PMC0), DONE);
    assert_eq!(vcpu.wrmsr(GLOBAL_CTRL, 1), DONE);
    host.port.work(BURST);
    assert_eq!(host.run(), Inject::None);
    host.port.work(BURST);
    assert_eq!(vcpu.rdmsr(PMC0), Ok(Access::Done(12000)));
    // An instruction that the hypervisor has executed for the guest counts, too.
    vcpu.retired(1, 0, false).unwrap();
    assert_eq!(vcpu.rdpmc(0), Ok(Access::Done(12001)));
    // On another CPU the vCPU counts on; the thread that runs in its place does not.
    host.switch(0, vcpu.thread(), host.idle(0));
    host.port.work(BURST);
    host.switch(1, host.idle(1), vcpu.thread());
    host.run();
    assert_eq!((vcpu.rdmsr(PMC0), vcpu.waiting()), (Ok(Access::Done(24001)), Ok(0)));
    assert_eq!(vcpu.wrmsr(PMC0, 7), DONE);
    host.run();
    assert_eq!(vcpu.rdmsr(PMC0), Ok(Access::Done(12007)));
    vcpu.reset().unwrap();
    assert_eq!(vcpu.rdmsr(PMC0), DONE);
    vcpu.close().unwrap();
    assert_eq!(vcpu.rdmsr(PMC0), Err(Error::State));
    host.switch(1, vcpu.thread(), host.idle(1));
    host.cpus[1].fini().unwrap();
}

#[test]
fn sessions_of_the_host_count_beside_a_guest() {
    let host = Host::with_pmu(entry);
    let session = Box::pin(Session::new());
    session.as_ref().open(&host.machine).unwrap();
    session.as_ref().add("instructions,instructions:u").unwrap();
    session.as_ref().world(World::Host).unwrap();
    session.as_ref().attach_cpu(&host.cpus[0]).unwrap();
    session.as_ref().start().unwrap();
    assert_eq!(host.vcpu().wrmsr(SELECT0, INSTRUCTIONS), DONE);
    host.run();
    host.port.work(BURST);
    let mut counts = [Count::default()];
    session.as_ref().read(&mut counts).unwrap();
    assert_eq!((counts[0].value, host.vcpu().rdmsr(PMC0)), (12000, Ok(Access::Done(12000))));
}

#[test]
fn an_access_may_be_refused() {
    let vcpu = Host::with_pmu(entry).vcpu();
    assert_eq!(vcpu.rdmsr(PEBS_ENABLE), Ok(Access::Fault));
    assert_eq!(vcpu.wrmsr(GLOBAL_CTRL, 1 << 63), Ok(Access::Fault));
    assert_eq!(vcpu.rdpmc(31), Ok(Access::Fault));
    assert_eq!((vcpu.rdmsr(0x10), vcpu.wrmsr(0x10, 0)), (Ok(Access::NotOurs), Ok(Access::NotOurs)));
    assert_eq!(vcpu.wrmsr(DEBUGCTL, 0x1801), Ok(Access::Shared(0)));
    assert_eq!(vcpu.rdmsr(DEBUGCTL), Ok(Access::Shared(0x1800)));
}

#[test]
fn an_overflow_is_injected_once() {
    static INTERRUPTED: AtomicU32 = AtomicU32::new(0);
    let host = Host::with_pmu(|cpu, frame| {
        INTERRUPTED.fetch_add(1, Ordering::Relaxed);
        entry(cpu, frame);
    });
    let vcpu = host.vcpu();
    vcpu.set_lvtpc(0x400).unwrap();
    assert_eq!(vcpu.lvtpc(), Ok(0x400));
    assert_eq!(vcpu.wrmsr(FULL_PMC0, (1 << 48) - 5000), DONE);
    assert_eq!(vcpu.wrmsr(SELECT0, INSTRUCTIONS | INTERRUPTS), DONE);
    assert_eq!(vcpu.wrmsr(GLOBAL_CTRL, 1), DONE);
    assert_eq!((host.run(), INTERRUPTED.load(Ordering::Relaxed)), (Inject::None, 1));
    assert_eq!((vcpu.rdmsr(PMC0), vcpu.rdmsr(GLOBAL_STATUS)), (Ok(Access::Done(7000)), Ok(Access::Done(1))));
    assert_eq!(vcpu.wrmsr(GLOBAL_CTRL, 0), DONE);
    assert_eq!((host.run(), host.run()), (Inject::Nmi, Inject::None));
    // The delivery masks the entry, as on a CPU.
    assert_eq!(vcpu.lvtpc(), Ok(0x10400));
    assert_eq!((vcpu.wrmsr(GLOBAL_CLEAR, 1), vcpu.rdmsr(GLOBAL_STATUS)), (DONE, DONE));
    // A vector, and an APIC that is disabled.
    vcpu.set_lvtpc(0xf0).unwrap();
    for (enabled, injected) in [(true, Inject::Vector(0xf0)), (false, Inject::None)] {
        vcpu.set_lapic_enabled(enabled).unwrap();
        assert_eq!((vcpu.wrmsr(FULL_PMC0, (1 << 48) - 5000), vcpu.wrmsr(GLOBAL_CTRL, 1)), (DONE, DONE));
        assert_eq!(host.run(), Inject::None);
        assert_eq!((vcpu.wrmsr(GLOBAL_CTRL, 0), host.run()), (DONE, injected));
        vcpu.set_lvtpc(0xf0).unwrap();
    }
}

#[test]
fn cpuid_shows_what_the_policy_counts() {
    static CYCLES: Filter = Filter::allow(&[0x3c], 0);
    static FILTERED: Policy = Policy::new(Level::List(&CYCLES)).beside_strangers();
    static STRANGERS: Policy = Policy::new(Level::All);
    let host = Host::with_pmu(entry);
    let mut answer = [0; 4];
    assert_eq!(host.vcpu().cpuid(10, 0, &mut answer), Ok(true));
    let shown = host.shape();
    assert_eq!((answer[0] as u8, (answer[0] >> 8) as u8), (shown.version, shown.general));
    assert_eq!(host.vcpu().cpuid(0x8000_0002, 0, &mut answer), Ok(false));
    let narrow = shape(&host.machine, Door::Intel, &FILTERED).unwrap();
    assert_eq!((shown.arch_events & 3, narrow.arch_events, narrow.fixed), (3, 1, 0));
    let other = Box::pin(Vcpu::<1>::new(2, 2));
    assert_eq!(other.as_ref().open(&host.machine, &shown, &FILTERED), Err(Error::Unsupported));
    assert_eq!(other.as_ref().open(&host.machine, &shown, &STRANGERS), Err(Error::NotPermitted));
    assert_eq!(other.as_ref().rdmsr(PMC0), Err(Error::State));
    other.as_ref().open(&host.machine, &narrow, &FILTERED).unwrap();
    assert_eq!(other.as_ref().open(&host.machine, &narrow, &FILTERED), Err(Error::State));
    let none = Box::pin(Vcpu::<0>::new(3, 3));
    assert_eq!(none.as_ref().open(&host.machine, &shown, &IPC), Err(Error::Invalid));
    let many = Box::pin(Vcpu::<33>::new(4, 4));
    assert_eq!(many.as_ref().open(&host.machine, &shown, &IPC), Err(Error::Invalid));
    let empty: &'static Machine = Box::leak(Box::new(Machine::new()));
    assert_eq!(none.as_ref().open(empty, &shown, &IPC), Err(Error::State));
}

#[test]
fn a_policy_may_change_while_the_guest_lives() {
    static NOTHING: Policy = Policy::new(Level::Off);
    static OTHER: Policy = Policy::new(Level::Ipc).own_lapic();
    let host = Host::with_pmu(entry);
    let vcpu = host.vcpu();
    assert_eq!(vcpu.wrmsr(SELECT0, INSTRUCTIONS), DONE);
    host.run();
    vcpu.set_policy(&NOTHING).unwrap();
    host.run();
    vcpu.set_policy(&IPC).unwrap();
    host.run();
    assert_eq!(vcpu.rdmsr(PMC0), Ok(Access::Done(24000)));
    assert_eq!(vcpu.set_policy(&OTHER), Err(Error::State));
}

#[test]
fn a_saved_guest_continues_elsewhere() {
    let (host, mut state) = (Host::with_pmu(entry), [0; STATE_BYTES]);
    assert_eq!(host.vcpu().wrmsr(SELECT0, INSTRUCTIONS), DONE);
    host.run();
    assert_eq!(host.vcpu().save(&mut state[..10]), Err(Error::NoSpace));
    let bytes = host.vcpu().save(&mut state).unwrap();
    let other = Host::with_pmu(entry);
    state[40] ^= 1;
    assert_eq!(other.vcpu().restore(&state[..bytes]), Err(Error::Invalid));
    state[40] ^= 1;
    other.vcpu().restore(&state[..bytes]).unwrap();
    other.run();
    assert_eq!(other.vcpu().rdmsr(PMC0), Ok(Access::Done(24000)));
}

#[test]
fn counters_that_find_none_of_the_host_wait() {
    static STRICT: Policy = Policy::new(Level::Ipc).strict();
    let host = Host::new(entry);
    // One session for two counters.
    let vcpu = Box::pin(Vcpu::<1>::new(2, 2));
    vcpu.as_ref().open(&host.machine, &host.shape(), &STRICT).unwrap();
    host.switch(0, host.idle(0), vcpu.as_ref().thread());
    for select in [SELECT0, SELECT0 + 1] {
        assert_eq!(vcpu.as_ref().wrmsr(select, INSTRUCTIONS), DONE);
    }
    // SAFETY: the model executes on CPU 0, which runs the thread.
    let entry = unsafe { vcpu.as_ref().enter() }.unwrap();
    assert_eq!((entry.inject, entry.trouble), (Inject::None, Some(Error::DoesNotFit)));
    assert_eq!(vcpu.as_ref().waiting(), Ok(2));
    host.port.work(BURST);
    vcpu.as_ref().exit().unwrap();
    assert_eq!((vcpu.as_ref().rdmsr(PMC0), vcpu.as_ref().rdmsr(PMC0 + 1)), (Ok(Access::Done(12000)), DONE));
    // Its drop closes the session and ends the thread: the counter is free again.
    host.switch(0, vcpu.as_ref().thread(), host.idle(0));
    drop(vcpu);
    host.cpus[0].fini().unwrap();
}

#[test]
fn a_guest_whose_thread_has_ended_counts_nothing() {
    let host = Host::with_pmu(entry);
    let vcpu = host.vcpu();
    assert_eq!(vcpu.wrmsr(SELECT0, INSTRUCTIONS), DONE);
    host.run();
    vcpu.thread().exit().unwrap();
    host.run();
    assert_eq!((vcpu.waiting(), vcpu.rdmsr(PMC0)), (Ok(1), Ok(Access::Done(12000))));
    vcpu.close().unwrap();
    vcpu.open(&host.machine, &host.shape(), &IPC).unwrap();
    assert_eq!(vcpu.wrmsr(SELECT0, INSTRUCTIONS), DONE);
    host.run();
    assert_eq!(vcpu.rdmsr(PMC0), Ok(Access::Done(12000)));
}
