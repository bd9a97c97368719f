package frame

import (
	"errors"
	"syscall"
)

var errnoCodes = map[syscall.Errno]string{
	syscall.EACCES: PermissionDenied, syscall.EPERM: PermissionDenied, syscall.EXDEV: PermissionDenied,
	syscall.ELOOP: PermissionDenied, syscall.EROFS: PermissionDenied,
	syscall.ENOENT: NotFound, syscall.EEXIST: Exists, syscall.EISDIR: IsDirectory, syscall.ENOTDIR: NotDirectory,
	syscall.ENXIO: NotRegular, syscall.ENODEV: NotRegular,
	syscall.ENAMETOOLONG: InvalidArgument, syscall.EINVAL: InvalidArgument, syscall.ENOTEMPTY: InvalidArgument,
	syscall.ENOSPC: NoSpace, syscall.EDQUOT: NoSpace, syscall.EFBIG: TooLarge,
}

// FromErrno turns a system error about path (relative, as the caller wrote it) into a Fault.
func FromErrno(err error, path string) *Fault {
	var fault *Fault
	if errors.As(err, &fault) {
		return fault
	}
	var number syscall.Errno
	if errors.As(err, &number) {
		if code, known := errnoCodes[number]; known {
			return Faultf(code, "%q: %s", path, reasonOf(number))
		}
	}
	return Faultf(IOError, "%q: %s", path, errnoText(err))
}

func reasonOf(number syscall.Errno) string {
	switch number {
	case syscall.EXDEV:
		return "leaves the workspace"
	case syscall.ELOOP:
		return "goes through a symbolic link that may not be followed"
	case syscall.ENOSPC, syscall.EDQUOT:
		return "no space left on the volume; nothing was changed"
	}
	return number.Error()
}

// errnoText is the text of the system error inside err, without the path Go adds to it.
func errnoText(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	return "input/output error"
}
