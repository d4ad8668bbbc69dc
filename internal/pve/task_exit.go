package pve

import (
	"strings"

	"github.com/luthermonson/go-proxmox"
)

// hasFailed reports whether a task that has ended has not done its work. The client's own answer counts warnings as a failure.
func hasFailed(task *proxmox.Task) bool { return task.IsFailed && !isSuccess(task.ExitStatus) }

// isSuccess reports whether a task with this exit status has done its work. One that has written warnings ends with their number, and its work is done
// (pve-common, PVE/Tools.pm, upid_status_is_error).
func isSuccess(exit string) bool { return exit == "OK" || strings.HasPrefix(exit, "WARNINGS: ") }
