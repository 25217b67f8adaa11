//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package arbiter

import (
	"os"
	"syscall"
)

// lockFile waits until no other process has locked the file, and locks it until it is closed.
func lockFile(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX) }
