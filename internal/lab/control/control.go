// Package control gives access to a running lab outside its emulated APIs: commands of the host's own console, and the faults
// of the lab. It uses HTTP over a socket in the lab's folder, which only the folder's owner can open.
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
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// ErrRefused is wrapped by the error for an invalid request.
var ErrRefused = errors.New("the lab refuses")

// Lab handles the requests. Errors for an invalid request wrap ErrRefused.
type Lab interface {
	// Faults returns the faults that are set, in the order in which they were set.
	Faults() []fault.State
	// SetFault sets a fault.
	SetFault(fault.Fault) error
	// ClearFaults clears the faults of a name, or all for "". It returns how many there were.
	ClearFaults(name string) (int, error)
	// Unlock removes a VM's lock, as `qm unlock` does on the host.
	Unlock(ctx context.Context, vmid int) error
	// Reset restarts a running VM, as `qm reset` does on the host.
	Reset(ctx context.Context, vmid int) error
	// SetUp changes what a person sets up at a host, such as its IOMMU.
	SetUp(host string, change proxmox.SetupChange) error
}

const socketName = "control.sock"

// Paths of the requests.
const (
	faultsPath = "/faults"
	locksPath  = "/locks/"
	resetsPath = "/resets/"
	setupsPath = "/setups/"
)

// Listen opens the socket in a lab's folder. It replaces the socket of a killed lab. The caller holds the folder's lock.
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
	// The path under which it was opened no longer exists; the next lab removes the file.
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	return listener, os.Chmod(filepath.Join(dir, socketName), 0o600)
}

// inFolder passes do a short path of the socket in a folder. The kernel allows at most 107 bytes (unix(7), sun_path), and the
// path of a project may be longer.
func inFolder(dir string, do func(socket string) error) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), socketName))
}
