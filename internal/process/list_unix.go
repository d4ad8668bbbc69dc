//go:build unix

package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// procFS is where Linux lists its processes. Other systems have ps.
const procFS = "/proc"

// List returns all visible processes.
func List() ([]Process, error) {
	if _, err := os.Stat(filepath.Join(procFS, "self", "stat")); err != nil {
		return askPS("-A")
	}
	folders, err := filepath.Glob(filepath.Join(procFS, "[0-9]*"))
	if err != nil {
		return nil, err
	}
	var found []Process
	for _, folder := range folders {
		if p, err := inProcFS(folder); err == nil { // else it has ended, or is not visible to us
			found = append(found, p)
		}
	}
	return found, nil
}

// Find returns one process.
func Find(pid int) (Process, error) {
	if _, err := os.Stat(filepath.Join(procFS, "self", "stat")); err == nil {
		return inProcFS(filepath.Join(procFS, strconv.Itoa(pid)))
	}
	found, err := askPS("-p", strconv.Itoa(pid))
	if err != nil {
		return Process{}, err
	}
	if len(found) != 1 {
		return Process{}, fmt.Errorf("ps shows no process %d", pid)
	}
	return found[0], nil
}

// inProcFS reads the folder of a process. Its stat is "PID (NAME) STATE PARENT …"; the name may contain parentheses.
func inProcFS(folder string) (Process, error) {
	text, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return Process{}, err
	}
	begin, end := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
	var fields []string
	if 0 < begin && begin < end {
		fields = strings.Fields(string(text[end+1:]))
	}
	if len(fields) < 2 {
		return Process{}, fmt.Errorf("%s/stat is not of the form PID (NAME) STATE PARENT", folder)
	}
	arguments, err := os.ReadFile(filepath.Join(folder, "cmdline"))
	if err != nil {
		return Process{}, err
	}
	p := Process{Dead: fields[0] == "Z", Name: string(text[begin+1 : end])}
	p.Program, _, _ = strings.Cut(string(arguments), "\x00")
	if p.PID, err = strconv.Atoi(filepath.Base(folder)); err != nil {
		return Process{}, err
	}
	p.Parent, err = strconv.Atoi(fields[1])
	return p, err
}

// askPS runs POSIX ps. IEEE 1003.1 defines all these columns but stat, which BSD, macOS and Linux have.
func askPS(which ...string) ([]Process, error) {
	output, err := exec.Command("ps", append(which, "-o", "pid=", "-o", "ppid=", "-o", "stat=", "-o", "args=")...).Output() //nolint:gosec // fixed but for a process ID
	if err != nil && len(output) > 0 {
		return nil, fmt.Errorf("ps: %w", err)
	}
	var found []Process
	for line := range strings.Lines(string(output)) {
		p, err := lineOfPS(line)
		if err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	return found, nil
}

func lineOfPS(line string) (p Process, err error) {
	rest := strings.TrimSpace(line)
	var columns [3]string
	for i := range columns {
		columns[i], rest, _ = strings.Cut(rest, " ")
		rest = strings.TrimLeft(rest, " ")
	}
	if p.PID, err = strconv.Atoi(columns[0]); err == nil {
		p.Parent, err = strconv.Atoi(columns[1])
	}
	if err != nil {
		return p, fmt.Errorf("ps: %q is not of the form PID PPID STAT ARGS", line)
	}
	p.Dead, p.Program = strings.HasPrefix(columns[2], "Z"), rest
	return p, nil
}

// Runs reports whether the process runs a program of that name. Without a name of its own, each beginning of the command line that
// ends before a space may be the path, as ps does not quote spaces.
func (p Process) Runs(name string) bool {
	if p.Name != "" {
		return p.Name == name
	}
	for end, c := range p.Program + " " {
		if c == ' ' && filepath.Base(p.Program[:end]) == name {
			return true
		}
	}
	return false
}
