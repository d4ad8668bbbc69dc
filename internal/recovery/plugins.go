package recovery

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// EndOrphans ends the provider plugins of a PULUMI_HOME whose engine was killed, and says how many there were. A plugin
// looks for its engine only every five minutes (pulumi sdk/v3, go/common/util/rpcutil/healthcheck.go), and until then goes
// on with what it was doing: it would start a machine that nobody remembers. The caller has made sure that no engine
// works in that home. Without /proc there is nothing to find them by.
func EndOrphans(home string) (int, error) {
	plugins, err := filepath.EvalSymlinks(filepath.Join(home, "plugins"))
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	ended := 0
	for _, process := range processes {
		pid, err := strconv.Atoi(filepath.Base(process))
		if err != nil || !runsFrom(process, home, plugins) || !isOrphan(pid) {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			return ended, fmt.Errorf("end plugin process %d of the run before: %w", pid, err)
		}
		ended++
	}
	return ended, nil
}

// runsFrom compares the command line too: a plugin in the home may be a link to where it was built.
func runsFrom(process, home, plugins string) bool {
	arguments, err := os.ReadFile(filepath.Join(process, "cmdline"))
	if err != nil {
		return false // it has ended, or is not ours
	}
	program, _, _ := strings.Cut(string(arguments), "\x00")
	return strings.HasPrefix(program, plugins+string(filepath.Separator)) ||
		strings.HasPrefix(program, filepath.Join(home, "plugins")+string(filepath.Separator))
}

// isOrphan reports whether the parent is no Pulumi CLI that runs. One that was killed stays the parent while the last of its
// threads end.
func isOrphan(pid int) bool {
	process, err := processOf(pid)
	if err != nil {
		return false // it has ended
	}
	return !alive(process.parent)
}
