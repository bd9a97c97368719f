package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

var deniedHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_KEXEC_FILE_LOAD}

// foreignNumbers refuses the x32 calls, which share the architecture and would pass under other numbers.
func foreignNumbers() []unix.SockFilter {
	return []unix.SockFilter{unlessBits(0x40000000), result(resultNoSys)}
}
