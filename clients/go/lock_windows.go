package arbiter

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile waits until no other process has locked the file, and locks it until it is closed.
func lockFile(file *os.File) error {
	return windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &windows.Overlapped{})
}
