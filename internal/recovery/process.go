package recovery

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// cliName is what the kernel calls a Pulumi CLI.
const cliName = "pulumi"

// process is what /proc/PID/stat says of a process.
type process struct {
	name   string
	state  string
	parent int
}

func processOf(pid int) (process, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	// "PID (NAME) STATE PARENT …", and the name may hold anything, parentheses too.
	begin, end := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
	if begin < 0 || end < begin {
		return process{}, fmt.Errorf("/proc/%d/stat is not of the form PID (NAME) STATE PARENT", pid)
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 2 {
		return process{}, fmt.Errorf("/proc/%d/stat is not of the form PID (NAME) STATE PARENT", pid)
	}
	parent, err := strconv.Atoi(fields[1])
	return process{name: string(text[begin+1 : end]), state: fields[0], parent: parent}, err
}
