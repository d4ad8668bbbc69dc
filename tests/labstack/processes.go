package labstack

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Process is a process of this machine.
type Process struct {
	PID, Parent int
	// Name of its program, truncated by the kernel.
	Name string
}

// Processes returns all running processes. Tests ask several times a second, so it reads one file for each of them, and no more.
func Processes() ([]Process, error) {
	pids, err := runningPIDs()
	if err != nil {
		return nil, err
	}
	found := make([]Process, 0, len(pids))
	for _, pid := range pids {
		text, err := os.ReadFile(procFile(pid, "stat"))
		if err != nil {
			continue // it has ended
		}
		if p, ok := readStat(pid, string(text)); ok {
			found = append(found, p)
		}
	}
	return found, nil
}

// readStat reads the file stat of a process, "PID (NAME) STATE PARENT …", whose name may have spaces and parentheses (proc_pid_stat(5)).
func readStat(pid int, text string) (p Process, ok bool) {
	begin, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if begin < 0 || end < begin {
		return p, false
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) < 2 {
		return p, false
	}
	parent, err := strconv.Atoi(fields[1])
	return Process{PID: pid, Parent: parent, Name: text[begin+1 : end]}, err == nil
}

// runningPIDs returns the IDs of all running processes.
func runningPIDs() ([]int, error) {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil { // else it is no folder of a process
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// ChildrenNamed returns the child processes of a process that run a program of that name.
func ChildrenNamed(parent int, name string) ([]int, error) {
	all, err := Processes()
	var children []int
	for _, p := range all {
		if p.Parent == parent && p.Name == name {
			children = append(children, p.PID)
		}
	}
	return children, err
}

// Descendants returns all processes below one.
func Descendants(of int) ([]int, error) {
	all, err := Processes()
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, p := range all {
		children[p.Parent] = append(children[p.Parent], p.PID)
	}
	var found []int
	for queue := []int{of}; len(queue) > 0; queue = queue[1:] {
		found = append(found, children[queue[0]]...)
		queue = append(queue, children[queue[0]]...)
	}
	return found, nil
}

// Arguments returns the command lines of all processes below one, a line for each, its program first.
func Arguments(of int) ([]string, error) {
	pids, err := Descendants(of)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, pid := range pids {
		text, err := os.ReadFile(procFile(pid, "cmdline"))
		if err == nil { // else it has ended
			lines = append(lines, strings.ReplaceAll(strings.TrimSuffix(string(text), "\x00"), "\x00", " "))
		}
	}
	return lines, nil
}

// Worker is a process that works for a stack.
type Worker struct {
	PID int
	// Arguments are its arguments, its program first.
	Arguments []string
}

// Program returns the name of its program.
func (w Worker) Program() string { return filepath.Base(w.Arguments[0]) }

// Workers returns the processes that work for a stack, found by their command lines.
func Workers(stack string) ([]Worker, error) {
	pids, err := runningPIDs()
	if err != nil {
		return nil, err
	}
	var workers []Worker
	for _, pid := range pids {
		text, err := os.ReadFile(procFile(pid, "cmdline"))
		if err != nil || !strings.Contains(string(text), stack) {
			continue // it has ended, or is not ours
		}
		workers = append(workers, Worker{PID: pid, Arguments: strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")})
	}
	return workers, nil
}

// OfLab reports whether a process is a part of the lab itself, not of a run.
func (w Worker) OfLab() bool {
	program := w.Program()
	return program == "exe" || program == "kwok" || strings.HasPrefix(program, "controlplane")
}
