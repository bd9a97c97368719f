package confine

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data.
const (
	dataNumber = 0
	dataArch   = 4
	dataArg0   = 16 // low half, little endian
	dataArg1   = 24
)

const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID |
	unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// denied are calls no build or test needs and that widen what a process may do or reach.
var denied = append([]uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER,
	unix.SYS_IO_URING_REGISTER, unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ACCT,
	unix.SYS_QUOTACTL, unix.SYS_SYSLOG, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD, unix.SYS_FANOTIFY_INIT, unix.SYS_SETHOSTNAME,
	unix.SYS_SETDOMAINNAME, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_VHANGUP,
}, deniedHere...)

// peeking are denied only where Landlock does not already keep a command from looking into other processes.
var peeking = []uint32{unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV}

var deniedFamilies = []uint32{unix.AF_PACKET, unix.AF_KEY, unix.AF_ALG, unix.AF_VSOCK, unix.AF_XDP, unix.AF_TIPC}

const (
	resultAllow = unix.SECCOMP_RET_ALLOW
	resultEPERM = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	resultNoSys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

func statement(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

func load(offset uint32) unix.SockFilter {
	return statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset)
}

func result(value uint32) unix.SockFilter { return statement(unix.BPF_RET|unix.BPF_K, value) }

// unless skips the next statement when the accumulator does not equal k.
func unless(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: k}
}

// unlessBits skips the next statement when the accumulator has none of bits.
func unlessBits(bits uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: bits}
}

// filter is the whole program: foreign architectures have no calls at all, clone3 is "not there" so that libc falls
// back to clone, whose flags can be read.
func filter(withPeeking bool) []unix.SockFilter {
	program := []unix.SockFilter{
		load(dataArch),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: auditArch},
		result(resultNoSys),
		load(dataNumber),
	}
	program = append(program, foreignNumbers()...)
	calls := denied
	if withPeeking {
		calls = append(append([]uint32{}, denied...), peeking...)
	}
	for _, number := range calls {
		program = append(program, unless(number), result(resultEPERM))
	}
	program = append(program, unless(unix.SYS_CLONE3), result(resultNoSys))
	program = append(program, onArgument(unix.SYS_CLONE, dataArg0, []unix.SockFilter{
		unlessBits(namespaces), result(resultEPERM),
	})...)
	program = append(program, onArgument(unix.SYS_IOCTL, dataArg1, []unix.SockFilter{
		unless(unix.TIOCSTI), result(resultEPERM), unless(unix.TIOCLINUX), result(resultEPERM),
	})...)
	var families []unix.SockFilter
	for _, family := range deniedFamilies {
		families = append(families, unless(family), result(resultEPERM))
	}
	families = append(families, onlyInternet()...)
	families = append(families, load(dataArg1), statement(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0xf),
		unless(unix.SOCK_RAW), result(resultEPERM))
	program = append(program, onArgument(unix.SYS_SOCKET, dataArg0, families)...)
	return append(program, result(resultAllow))
}

// onlyInternet allows every other family; libc itself asks the routing socket, which is a raw one.
func onlyInternet() []unix.SockFilter {
	const jumpEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	return []unix.SockFilter{
		{Code: jumpEqual, Jt: 2, K: unix.AF_INET}, {Code: jumpEqual, Jt: 1, K: unix.AF_INET6}, result(resultAllow),
	}
}

// onArgument runs checks on one argument of call number, then allows it; other calls pass by.
func onArgument(number, offset uint32, checks []unix.SockFilter) []unix.SockFilter {
	body := append([]unix.SockFilter{load(offset)}, checks...)
	body = append(body, result(resultAllow))
	jump := unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: uint8(len(body)), K: number}
	return append([]unix.SockFilter{jump}, body...)
}

// SeccompAvailable says whether the kernel takes filters.
func SeccompAvailable() bool {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0 && auditArch != 0
}

// Seccomp applies the filter to this thread and what it becomes. NoNewPrivs must be set.
func Seccomp() error {
	program := filter(LandlockABI() == 0)
	head := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&head)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}
