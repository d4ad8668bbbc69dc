package talos

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
)

// kernelLog has the messages of one boot, with those of Talos itself. The zero value is an empty log.
type kernelLog struct {
	mu    sync.Mutex
	lines []string
	grown chan struct{} // closed and replaced when a line is added; nil while no client waits
}

// printk adds a message, in the form in which the API sends it (v1alpha1_server.go, Dmesg).
func (l *kernelLog) printk(message string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.lines = append(l.lines, fmt.Sprintf("user: warning: [%s]: %s", at.UTC().Format(time.RFC3339Nano), message))
	if l.grown != nil {
		close(l.grown)
		l.grown = nil
	}
}

// from returns the messages from a number on, and a channel that is closed when there are more.
func (l *kernelLog) from(number int) ([]string, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.grown == nil {
		l.grown = make(chan struct{})
	}

	return slices.Clone(l.lines[number:]), l.grown
}

// Dmesg sends the kernel's log: the existing messages, only new ones, or both (v1alpha1_server.go).
func (m *machinedServer) Dmesg(in *machine.DmesgRequest, stream machine.MachineService_DmesgServer) error {
	sent := 0
	if in.GetTail() {
		lines, _ := m.system.kernel.from(0)
		sent = len(lines)
	}

	for {
		lines, grown := m.system.kernel.from(sent)
		for _, line := range lines {
			if err := stream.Send(&common.Data{Bytes: []byte(line)}); err != nil {
				return err
			}
		}

		sent += len(lines)

		if !in.GetFollow() {
			return nil
		}

		select {
		case <-grown:
		case <-stream.Context().Done():
			return nil
		case <-m.system.ctx.Done():
			return nil
		}
	}
}
