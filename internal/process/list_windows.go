package process

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// List returns all processes.
func List() ([]Process, error) {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	defer func() { _ = windows.CloseHandle(snapshot) }()
	var found []Process
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot, &entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		name := windows.UTF16ToString(entry.ExeFile[:])
		p := Process{PID: int(entry.ProcessID), Parent: int(entry.ParentProcessID), Program: name}
		p.Name = strings.TrimSuffix(strings.ToLower(name), ".exe")
		if path, err := programOf(entry.ProcessID); err == nil { // else it has ended, or is not visible to us
			p.Program = path
		}
		found = append(found, p)
	}
	if !errors.Is(err, windows.ERROR_NO_MORE_FILES) {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	return found, nil
}

// Find returns one process.
func Find(pid int) (Process, error) {
	all, err := List()
	if err != nil {
		return Process{}, err
	}
	for _, p := range all {
		if p.PID == pid {
			return p, nil
		}
	}
	return Process{}, fmt.Errorf("there is no process %d", pid)
}

// Runs reports whether the process runs a program of that name.
func (p Process) Runs(name string) bool { return p.Name == strings.ToLower(name) }

// longestPath is the longest path of Windows, in characters.
const longestPath = 1 << 15

// programOf returns the path of a process's program.
func programOf(pid uint32) (string, error) {
	handle, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return "", err
	}
	defer func() { _ = windows.CloseHandle(handle) }()
	path := make([]uint16, longestPath)
	size := uint32(len(path))
	if err := windows.QueryFullProcessImageName(handle, 0, &path[0], &size); err != nil {
		return "", err
	}
	return windows.UTF16ToString(path[:size]), nil
}
