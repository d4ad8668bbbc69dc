//go:build !linux

package lab

import (
	"os"
	"os/exec"
	"runtime"
)

// isHeld reports that no lab holds a file: none runs on this system.
func isHeld(*os.File) (bool, error) { return false, nil }

// take returns why no lab runs on this system.
func take(*os.File) error { return CheckSystem(runtime.GOOS) }

// detach does nothing: no lab is started on this system.
func detach(*exec.Cmd) {}

// terminate returns why no lab runs on this system.
func terminate(int) error { return CheckSystem(runtime.GOOS) }
