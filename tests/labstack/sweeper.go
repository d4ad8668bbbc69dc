package labstack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/process"
)

// sweeperVariable is set for the sweeper of a run of tests: it contains the run's lifeline.
const sweeperVariable = "EM_INFRA_TEST_SWEEPER"

const (
	// sweepGrace is the time in which labs end by themselves, so that they save their state.
	sweepGrace    = 15 * time.Second
	sweepInterval = 200 * time.Millisecond
)

// startSweeper starts this program again as the sweeper of a run: when the run has ended, even by a kill, the sweeper ends all processes that
// the run started, directly or not. Most end by themselves, but plugins stay when the tool, its guard and the engine were killed, as
// tests do. A run that ends by itself waits for its sweeper with release, whose error names what had to be killed: tests leave nothing behind.
func startSweeper(lifeline string) (release func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	sweeper := exec.Command(self)
	var output bytes.Buffer // not this process' own output, which would keep `go test` waiting after a kill
	sweeper.Stderr = &output
	sweeper.Env = append(os.Environ(), sweeperVariable+"="+lifeline)
	process.Lead(sweeper) // a signal to the group of the tests does not reach it
	run, err := sweeper.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := sweeper.Start(); err != nil {
		return nil, fmt.Errorf("start the sweeper of the tests: %w", err)
	}
	return func() error {
		closed := run.Close()
		if err := sweeper.Wait(); err != nil {
			return errors.Join(closed, fmt.Errorf("the sweeper of the tests: %w: %s", err, &output))
		}
		return closed
	}, nil
}

// sweep waits for the end of a run and ends the processes that are left of it.
func sweep(run io.Reader, lifeline string) error {
	if _, err := io.Copy(io.Discard, run); err != nil {
		return err
	}
	left, err := awaitEndOf(lifeline, sweepGrace)
	if err != nil || len(left) == 0 {
		return err
	}
	var killed []string
	for _, pid := range left {
		command, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")) // it may have ended
		killed = append(killed, strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " ")))
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	if left, err = awaitEndOf(lifeline, sweepGrace); err != nil || len(left) > 0 {
		return errors.Join(err, fmt.Errorf("processes %v of the tests do not end", left))
	}
	return fmt.Errorf("the tests left %s behind", strings.Join(killed, " and "))
}

// awaitEndOf waits until all processes under a lifeline have ended, and returns those that are left after a time.
func awaitEndOf(lifeline string, limit time.Duration) ([]int, error) {
	for began := time.Now(); ; time.Sleep(sweepInterval) {
		left, err := startedUnder(lifeline)
		if err != nil || len(left) == 0 || time.Since(began) > limit {
			return left, err
		}
	}
}

// startedUnder returns the processes, apart from this one, that were started with a lifeline in their environment.
func startedUnder(lifeline string) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	variable := []byte(lab.LifelineVariable + "=" + lifeline + "\x00")
	var found []int
	for _, file := range files {
		environment, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(environment, variable) {
			continue // it has ended, or is another user's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, err
		}
		if pid != os.Getpid() {
			found = append(found, pid)
		}
	}
	return found, nil
}
