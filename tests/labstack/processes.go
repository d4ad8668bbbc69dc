package labstack

import (
	"fmt"
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

// Processes returns all running processes.
func Processes() ([]Process, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var found []Process
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		var p Process
		var state rune
		if _, err := fmt.Sscanf(string(text), "%d %s %c %d", &p.PID, &p.Name, &state, &p.Parent); err == nil { // else its name has spaces
			p.Name = strings.Trim(p.Name, "()")
			found = append(found, p)
		}
	}
	return found, nil
}

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
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
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
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var workers []Worker
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if err != nil || !strings.Contains(string(text), stack) {
			continue // it has ended, or is not ours
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line)))
		if err != nil {
			return nil, err
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
