package recovery

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// cliName is the process name of a Pulumi CLI.
const cliName = "pulumi"

// process is a process as the system reports it.
type process struct {
	pid, parent int
	// dead reports whether the process is a zombie: it has ended, and its parent has not waited for it.
	dead bool
	// cli reports whether the process is a Pulumi CLI.
	cli bool
	// program is the path of the program; its arguments may follow.
	program string
}

// procFS is where Linux lists its processes. Other systems have ps.
const procFS = "/proc"

// processes returns all visible processes.
func processes() ([]process, error) {
	if _, err := os.Stat(filepath.Join(procFS, "self", "stat")); err != nil {
		return askPS("-A")
	}
	folders, err := filepath.Glob(filepath.Join(procFS, "[0-9]*"))
	if err != nil {
		return nil, err
	}
	var found []process
	for _, folder := range folders {
		if p, err := inProcFS(folder); err == nil { // else it has ended, or is not visible to us
			found = append(found, p)
		}
	}
	return found, nil
}

// processOf returns one process.
func processOf(pid int) (process, error) {
	if _, err := os.Stat(filepath.Join(procFS, "self", "stat")); err == nil {
		return inProcFS(filepath.Join(procFS, strconv.Itoa(pid)))
	}
	found, err := askPS("-p", strconv.Itoa(pid))
	if err != nil {
		return process{}, err
	}
	if len(found) != 1 {
		return process{}, fmt.Errorf("ps shows no process %d", pid)
	}
	return found[0], nil
}

// inProcFS reads the folder of a process. Its stat is "PID (NAME) STATE PARENT …"; the name may contain parentheses.
func inProcFS(folder string) (process, error) {
	text, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return process{}, err
	}
	begin, end := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
	var fields []string
	if 0 < begin && begin < end {
		fields = strings.Fields(string(text[end+1:]))
	}
	if len(fields) < 2 {
		return process{}, fmt.Errorf("%s/stat is not of the form PID (NAME) STATE PARENT", folder)
	}
	arguments, err := os.ReadFile(filepath.Join(folder, "cmdline"))
	if err != nil {
		return process{}, err
	}
	p := process{dead: fields[0] == "Z", cli: string(text[begin+1:end]) == cliName}
	p.program, _, _ = strings.Cut(string(arguments), "\x00")
	if p.pid, err = strconv.Atoi(filepath.Base(folder)); err != nil {
		return process{}, err
	}
	p.parent, err = strconv.Atoi(fields[1])
	return p, err
}

// askPS runs POSIX ps. IEEE 1003.1 defines all these columns but stat, which BSD, macOS and Linux have.
func askPS(which ...string) ([]process, error) {
	output, err := exec.Command("ps", append(which, "-o", "pid=", "-o", "ppid=", "-o", "stat=", "-o", "args=")...).Output() //nolint:gosec // fixed but for a process ID
	if err != nil && len(output) > 0 {
		return nil, fmt.Errorf("ps: %w", err)
	}
	var found []process
	for line := range strings.Lines(string(output)) {
		p, err := lineOfPS(line)
		if err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	return found, nil
}

func lineOfPS(line string) (p process, err error) {
	rest := strings.TrimSpace(line)
	var columns [3]string
	for i := range columns {
		columns[i], rest, _ = strings.Cut(rest, " ")
		rest = strings.TrimLeft(rest, " ")
	}
	if p.pid, err = strconv.Atoi(columns[0]); err == nil {
		p.parent, err = strconv.Atoi(columns[1])
	}
	if err != nil {
		return p, fmt.Errorf("ps: %q is not of the form PID PPID STAT ARGS", line)
	}
	p.dead, p.program = strings.HasPrefix(columns[2], "Z"), rest
	p.cli = isCLI(rest)
	return p, nil
}

// isCLI reports whether a command line starts a Pulumi CLI. Its path may contain spaces.
func isCLI(arguments string) bool {
	for end, c := range arguments + " " {
		if c == ' ' && filepath.Base(arguments[:end]) == cliName {
			return true
		}
	}
	return false
}
