package status

import "fmt"

// The statuses of a guest, without those that last only for moments: Proxmox VE lists the status of QEMU, or else whether the guest runs
// (pve-manager, PVE/Service/pvestatd.pm, update_qemu_status, and PVE/API2Tools.pm, extract_vm_stats).
const (
	// running is the name that Proxmox VE and Talos use for a healthy running machine.
	running = "running"
	// stopped is the status of a guest that is switched off.
	stopped = "stopped"
	// paused is the status of a guest whose processors a person or a task has halted.
	paused = "paused"
	// ioError is the status of a guest that was halted because a disk could not be written.
	ioError = "io-error"
	// unknown is the status of a guest whose host has sent none for some minutes.
	unknown = "unknown"
	// absent is the status of a guest that is not on any host.
	absent = "absent"
)

// statusRemedy returns what to do about a guest that is on a host and does not run.
func statusRemedy(status string, vmid int, host string) string {
	switch status {
	case stopped:
		return "it is stopped: `em-infra up` starts it"
	case unknown:
		return fmt.Sprintf("its host %s is off, or sends no status: start the host, or its service pvestatd", host)
	case ioError:
		return fmt.Sprintf("it is halted, since a disk of it could not be written: make room on its storage, or bring that back, then `qm resume %d` on %s", vmid, host)
	case paused:
		return fmt.Sprintf("it is paused: if no backup or snapshot of it runs, `qm resume %d` on %s", vmid, host)
	default:
		return fmt.Sprintf("it is %s: look at its tasks and its console in Proxmox VE on %s", status, host)
	}
}
