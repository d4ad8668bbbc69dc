//go:build unix

package engine_test

import "syscall"

func processGroup() int { return syscall.Getpgrp() }
