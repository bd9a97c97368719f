// Package confine guards the host from a command: no writes but to the named directories, no system calls that widen
// what a process may do. Applied by the process to itself just before it becomes the command.
package confine

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// LandlockABI is the version the kernel offers, 0 for none.
func LandlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

const (
	writesABI1 = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	fileWrites = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

func writesOf(abi int) uint64 {
	rights := uint64(writesABI1)
	if abi >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	return rights
}

// rulesetAttr is struct landlock_ruleset_attr up to ABI 6.
type rulesetAttr struct{ accessFS, accessNet, scoped uint64 }

func attrOf(abi int) (rulesetAttr, uintptr) {
	attr := rulesetAttr{accessFS: writesOf(abi)}
	switch {
	case abi >= 6:
		attr.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		return attr, 24
	case abi >= 4:
		return attr, 16
	}
	return attr, 8
}

// Landlock lets this thread, and what it becomes, write only below dirs, to the device files of /dev, and to POSIX
// shared memory; signals and abstract sockets stay among the command's own processes where the kernel can (ABI 6).
func Landlock(dirs []string) error {
	abi := LandlockABI()
	if abi == 0 {
		return nil
	}
	attr, size := attrOf(abi)
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	defer unix.Close(int(ruleset))
	for _, dir := range dirs {
		if err := allow(int(ruleset), dir, attr.accessFS); err != nil {
			return fmt.Errorf("landlock_add_rule for a writable directory: %w", err)
		}
	}
	allow(int(ruleset), "/dev/shm", attr.accessFS) // absent in some images
	allow(int(ruleset), "/dev", attr.accessFS&fileWrites)
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return nil
}

func allow(ruleset int, dir string, rights uint64) error {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	runtime.KeepAlive(&rule)
	if errno != 0 {
		return errno
	}
	return nil
}
