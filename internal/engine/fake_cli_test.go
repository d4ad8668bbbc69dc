package engine_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blang/semver"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
)

// roleVariable makes the test binary a Pulumi CLI in one of the roles below.
const roleVariable = "EM_INFRA_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	os.Exit(map[string]func() int{
		"report": report, "patient": patient, "stubborn": stubborn, "chatty": chatty, "failing": failing, "store": store,
		"stackless": stackless, "listing": listing, "diary": diary, "historian": historian,
	}[role]())
}

// call is what a CLI sees of how it was called.
type call struct {
	Args  []string
	Env   []string
	Dir   string
	Stdin string
	Group int
	PID   int
}

func callOf(stdin io.Reader) (call, error) {
	text, err := io.ReadAll(stdin)
	if err != nil {
		return call{}, err
	}
	dir, err := os.Getwd()
	return call{
		Args: os.Args[1:], Env: os.Environ(), Dir: dir, Stdin: string(text), Group: processGroup(), PID: os.Getpid(),
	}, err
}

// report prints how it was called.
func report() int {
	seen, err := callOf(os.Stdin)
	if err != nil {
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(seen); err != nil {
		return 1
	}
	fmt.Fprintln(os.Stderr, "warning: none")
	return 0
}

// patient is an engine in mid-work: it prints that it was interrupted, and ends when it is interrupted again or, some time after the first interrupt,
// by itself.
func patient() int { return interrupted(time.After(300 * time.Millisecond)) }

// stubborn is one that ends when it is interrupted again, and not by itself.
func stubborn() int { return interrupted(nil) }

func interrupted(saved <-chan time.Time) int {
	interrupts := make(chan os.Signal, 9)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	fmt.Println("working")
	fmt.Println(<-interrupts)
	select {
	case again := <-interrupts:
		fmt.Println(again, "again")
		return 2
	case <-saved:
		fmt.Println("saved")
		return 1
	}
}

// chatty prints more than a pipe holds, and ends well if it could.
func chatty() int {
	for range 10_000 {
		if _, err := fmt.Println(strings.Repeat("x", 99)); err != nil {
			return 1
		}
	}
	return 0
}

func failing() int {
	fmt.Fprintln(os.Stderr, "error: no such stack")
	return 3
}

// stackless is a CLI that knows no stack.
func stackless() int {
	fmt.Fprintln(os.Stderr, "error: no stack named 'k3s-dev' found")
	return 6
}

// listing is a CLI with two stacks.
func listing() int {
	fmt.Println(`[{"name": "k3s-dev", "current": true}, {"name": "k3s-prod"}]`)
	return 0
}

// diary notes what it is asked for in the file that the environment names.
func diary() int {
	if os.WriteFile(os.Getenv("EM_INFRA_TEST_STATE"), []byte(strings.Join(os.Args[1:], "\n")), 0o600) != nil {
		return 1
	}
	return 0
}

// historian is a CLI that remembers one update.
func historian() int {
	fmt.Println(`[{"kind": "update", "result": "succeeded", "endTime": "2026-01-02T03:04:05.000Z"}]`)
	return 0
}

// store is a CLI with one state: it exports the one in the file that the environment names, and imports into it.
func store() int {
	file := os.Getenv("EM_INFRA_TEST_STATE")
	seen, err := callOf(os.Stdin)
	if err != nil {
		return 1
	}
	if words := strings.Join(seen.Args, " "); strings.Contains(words, "stack import") || strings.Contains(words, "change-secrets-provider") {
		text, err := json.Marshal(seen)
		if err != nil || os.WriteFile(file, text, 0o600) != nil {
			return 1
		}
		return 0
	}
	text, err := os.ReadFile(file) //nolint:gosec // the test's own
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	fmt.Print(string(text))
	return 0
}

// cli is the test binary as a Pulumi CLI.
func cli(t *testing.T) *engine.Command {
	t.Helper()
	return engine.NewCommand(self(t), semver.MustParse("3.254.0"))
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

func role(name string) []string { return []string{roleVariable + "=" + name} }

// lines hands on what a CLI prints, line by line, while it runs.
func lines(t *testing.T) (io.Writer, <-chan string) {
	t.Helper()
	reader, writer := io.Pipe()
	printed := make(chan string, 99)
	go func() {
		defer close(printed)
		for scanner := bufio.NewScanner(reader); scanner.Scan(); {
			printed <- scanner.Text()
		}
	}()
	t.Cleanup(func() { require.NoError(t, writer.Close()) })
	return writer, printed
}
