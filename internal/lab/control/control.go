// Package control is the way into a running lab that is no emulation: what somebody asks of it who sits at the host's own
// console, or at the bench that the host stands on. It speaks HTTP over a socket in the lab's folder, which only the
// folder's owner can open.
package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/lab/fault"
)

// ErrRefused is the parent of what a lab answers to a request that is wrong.
var ErrRefused = errors.New("the lab refuses")

// Lab is what can be asked of a lab. Errors of a wrong request wrap ErrRefused.
type Lab interface {
	// Faults are those that are asked for, in the order of asking.
	Faults() []fault.State
	// SetFault asks for one more.
	SetFault(fault.Fault) error
	// ClearFaults takes back those of a name, or all of them for "", and returns how many there were.
	ClearFaults(name string) (int, error)
	// Unlock takes a VM's lock away, as `qm unlock` does on the host.
	Unlock(ctx context.Context, vmid int) error
	// Reset restarts a VM that runs, as `qm reset` does on the host.
	Reset(ctx context.Context, vmid int) error
}

const socketName = "control.sock"

// Paths of the requests.
const (
	faultsPath = "/faults"
	locksPath  = "/locks/"
	resetsPath = "/resets/"
)

// Listen opens the socket in a lab's folder. One that a lab left behind which was killed is replaced: whoever calls holds
// the folder's lock.
func Listen(dir string) (net.Listener, error) {
	if err := os.Remove(filepath.Join(dir, socketName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var listener net.Listener
	err := inFolder(dir, func(socket string) (err error) {
		listener, err = net.Listen("unix", socket)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open the lab's console: %w", err)
	}
	// The name that it was opened by is gone, and the next lab removes the file.
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	return listener, os.Chmod(filepath.Join(dir, socketName), 0o600)
}

// inFolder gives the socket in a folder a short name: the kernel takes no more than 107 bytes (unix(7), sun_path), and a
// project may lie deeper.
func inFolder(dir string, do func(socket string) error) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), socketName))
}
