package lab

import "fmt"

// CheckSystem returns an error if a lab cannot run on an operating system, in the form of [runtime.GOOS]. A lab listens on the
// addresses of its nodes, locks open files, and ties its processes to its own life, which only Linux does without further rights.
func CheckSystem(system string) error {
	if system == "linux" {
		return nil
	}
	names := map[string]string{"darwin": "macOS", "windows": "Windows"}
	name, known := names[system]
	if !known {
		name = system
	}
	return fmt.Errorf("the lab needs Linux, and this is %s: run the same command on Linux, for example in WSL 2 or in a container; "+
		"runs without the lab work here", name)
}
