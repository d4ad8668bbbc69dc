package bench_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
)

// measured is what a command cost.
type measured struct {
	command string
	wall    time.Duration
	cpu     time.Duration    // of the command and all that it started and waited for, the lab not among them
	peak    map[string]int64 // bytes of memory of the largest process of each kind
	engines int              // processes of the Pulumi CLI
	written int64            // bytes that the CLI wrote, to files and to its plugins
	calls   int              // requests to Proxmox VE
	writes  int              // those of them that change something
	state   int64            // bytes of the state, where it was looked at
}

func (m measured) named(command string) measured {
	m.command = command
	return m
}

// The kinds of processes, and the programs that they are.
const (
	kindTool   = "tool"
	kindEngine = "engine"
	kindPlugin = "plugins"
	kindLab    = "lab"
)

func kindOf(program string) string {
	switch {
	case program == "pulumi":
		return kindEngine
	case strings.HasPrefix(program, "pulumi-resource-"):
		return kindPlugin
	case program == "em-infra":
		return kindTool
	default:
		return ""
	}
}

// samplingInterval is well below what any process of the CLI takes.
const samplingInterval = 20 * time.Millisecond

// measure runs a command on the stack's lab and looks at its processes meanwhile. Its line is printed at once: a life of 300 nodes takes an hour.
func (s stack) measure(b *testing.B, args ...string) measured {
	b.Helper()
	before, err := labstack.Calls(s.Dir())
	require.NoError(b, err)
	command := s.Command(b.Context(), append(append(args, "--lab"), s.On()...)...)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	started := time.Now()
	require.NoError(b, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	seen := newSample(s.Name)
	for err = nil; ; {
		seen.look(b, command.Process.Pid)
		select {
		case err = <-ended:
		case <-time.After(samplingInterval):
			continue
		}
		break
	}
	wall := time.Since(started)
	require.NoError(b, err, "%s\n%s", strings.Join(args, " "), output.String())
	after, err := labstack.Calls(s.Dir())
	require.NoError(b, err)
	m := measured{
		command: strings.Join(args, " "), wall: wall, cpu: command.ProcessState.UserTime() + command.ProcessState.SystemTime(),
		peak: seen.peak, engines: len(seen.written), written: seen.bytes(),
		calls: len(after) - len(before), writes: len(labstack.Writes(after[len(before):])),
	}
	fmt.Fprintln(os.Stderr, m)
	return m
}

// sample is what was seen of the processes of a command.
type sample struct {
	stack   string
	peak    map[string]int64
	written map[int]int64 // by process of the CLI
}

func newSample(stack string) *sample {
	return &sample{stack: stack, peak: map[string]int64{}, written: map[int]int64{}}
}

// look looks at all that runs below a process, and at the lab.
func (s *sample) look(b *testing.B, root int) {
	b.Helper()
	below, err := labstack.Descendants(root)
	require.NoError(b, err)
	for _, pid := range append(below, root) {
		program, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
		kind := kindOf(filepath.Base(program))
		if err != nil || kind == "" {
			continue // it has ended, or is none of ours
		}
		s.remember(kind, pid)
		if kind == kindEngine {
			s.written[pid] = max(s.written[pid], field(pid, "io", "wchar:"))
		}
	}
	workers, err := labstack.Workers(s.stack)
	require.NoError(b, err)
	for _, worker := range workers {
		if worker.OfLab() {
			s.remember(kindLab, worker.PID)
		}
	}
}

func (s *sample) remember(kind string, pid int) {
	s.peak[kind] = max(s.peak[kind], field(pid, "status", "VmHWM:")<<10)
}

func (s *sample) bytes() int64 {
	var sum int64
	for _, bytes := range s.written {
		sum += bytes
	}
	return sum
}

// field returns a number that the kernel reports about a process; 0 once it has ended.
func field(pid int, file, name string) int64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, name); found {
			value, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0
			}
			return value
		}
	}
	return 0
}

// String is the row of a table.
func (m measured) String() string {
	mib := func(bytes int64) int64 { return bytes >> 20 }
	return fmt.Sprintf("%-24s %7.1f s %7.1f s %4d %6d %6d %7d  %5d %6d %7d %5d", m.command, m.wall.Seconds(), m.cpu.Seconds(), m.engines,
		m.calls, m.writes, mib(m.written), mib(m.peak[kindTool]), mib(m.peak[kindEngine]), mib(m.peak[kindPlugin]), mib(m.peak[kindLab]))
}

// heading names the columns of the table.
const heading = "command                     wall       cpu  CLI  calls writes written  peak: tool engine plugins   lab  (MiB)"
