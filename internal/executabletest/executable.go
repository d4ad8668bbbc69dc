// Package executabletest writes programs that tests run at once.
package executabletest

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Write writes a program that can be run as soon as Write returns. No process is started while the file is open: it would inherit the
// file, open for writing, until it runs its own program, and Linux refuses to run such a file (ETXTBSY, golang/go#22315).
func Write(t testing.TB, path string, program []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, program, 0o700)) //nolint:gosec // it is to be run
}

// Script writes a script of the shell, as [Write] does.
func Script(t testing.TB, path, text string) {
	t.Helper()
	Write(t, path, []byte("#!/bin/sh\n"+text))
}
