package labstack

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// Run runs the tests of a package that brings clusters up, in a workshop that opened receives, and returns the exit code. closed is called
// after the tests. perProcessor is how many tests run at once for each processor, unless -parallel says how many.
func Run(m *testing.M, perProcessor int, opened func(*Workshop), closed func() error) int {
	if lifeline := os.Getenv(sweeperVariable); lifeline != "" {
		return exitCode(0, sweep(os.Stdin, lifeline))
	}
	flag.Parse()
	return exitCode(run(m, perProcessor, opened, closed))
}

// exitCode prints an error, and returns the exit code of a run.
func exitCode(code int, err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func run(m *testing.M, perProcessor int, opened func(*Workshop), closed func() error) (code int, err error) {
	if !testing.Short() && os.Getenv(turnVariable) == "" {
		turn, err := takeTurn()
		if err != nil {
			return 1, err
		}
		defer turn.Close()
	}
	workshop, err := Open()
	if err != nil {
		return 1, err
	}
	swept, err := startSweeper(workshop.lifeline.Name())
	if err != nil {
		return 1, errors.Join(err, workshop.Close())
	}
	defer func() { err = errors.Join(err, closed(), workshop.Close(), swept()) }()
	opened(workshop)
	if err := runAtOnce(perProcessor); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// turnVariable is set for the processes of a package that has the turn, which may be tests of the same package.
const turnVariable = "EM_INFRA_TEST_TURN"

// takeTurn waits until no other package on this machine runs tests with clusters, and takes the turn until the file is closed or the process
// ends. A lab that only waits takes a tenth of a processor, so twice as many clusters at once take more than twice the time.
func takeTurn() (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("em-infra-tests-%d.turn", os.Getuid())), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	lock := &unix.Flock_t{Type: unix.F_WRLCK}
	if unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, lock) != nil {
		fmt.Fprintln(os.Stderr, "other tests with clusters run on this machine: these wait for their turn")
	}
	for {
		err := unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLKW, lock)
		if err == nil {
			return file, os.Setenv(turnVariable, "taken")
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("wait for other tests with clusters: %w", err), file.Close())
		}
	}
}

// runAtOnce sets -test.parallel unless it was given.
func runAtOnce(perProcessor int) error {
	const parallel = "test.parallel"
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == parallel })
	if given {
		return nil
	}
	return flag.Set(parallel, strconv.Itoa(perProcessor*runtime.GOMAXPROCS(0)))
}
