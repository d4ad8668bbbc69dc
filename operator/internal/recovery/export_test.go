package recovery

// ThroughPS returns what ps reports about a process, as on a system without /proc.
func ThroughPS(pid string) (parent int, program string, isCLI bool, err error) {
	found, err := askPS("-p", pid)
	if err != nil || len(found) != 1 {
		return 0, "", false, err
	}
	return found[0].parent, found[0].program, found[0].cli, nil
}

// IsCLI reports whether a command line starts a Pulumi CLI.
var IsCLI = isCLI
