package prepare

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// BinaryName is what the injected binary is called.
const BinaryName = "guildhall-workshop"

// Inject copies this binary to dir, mode 0555, whole or not at all.
func Inject(dir string) error {
	source, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("the binary cannot be read: %w", err)
	}
	defer source.Close()
	target, err := os.CreateTemp(dir, ".inject-")
	if err != nil {
		return fmt.Errorf("the binary's directory cannot be written to: %w", err)
	}
	defer os.Remove(target.Name())
	if _, err := io.Copy(target, source); err != nil {
		target.Close()
		return fmt.Errorf("the binary cannot be copied: %w", err)
	}
	if err := target.Chmod(0o555); err != nil {
		target.Close()
		return err
	}
	if err := target.Close(); err != nil {
		return fmt.Errorf("the binary cannot be copied: %w", err)
	}
	return os.Rename(target.Name(), filepath.Join(dir, BinaryName))
}
