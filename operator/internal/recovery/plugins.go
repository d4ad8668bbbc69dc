package recovery

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// EndOrphans ends the provider plugins of a PULUMI_HOME whose engine was killed, and says how many there were. A plugin
// looks for its engine only every five minutes (pulumi sdk/v3, go/common/util/rpcutil/healthcheck.go), and until then goes
// on with what it was doing: it would start a machine that nobody remembers. Those of an engine that works are left alone.
func EndOrphans(home string) (int, error) {
	plugins, err := pluginsOf(home)
	if err != nil {
		return 0, err
	}
	ended := 0
	for _, plugin := range plugins {
		if alive(plugin.parent) {
			continue
		}
		if err := syscall.Kill(plugin.pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			return ended, fmt.Errorf("end plugin process %d of the run before: %w", plugin.pid, err)
		}
		ended++
	}
	return ended, nil
}

// guardInterval is between two looks at plugins whose tool has ended.
const guardInterval = 200 * time.Millisecond

// Guard watches over the plugins of a PULUMI_HOME: when tool, the other end of which the tool alone holds, has come to its end,
// it ends those whose engine is dead, and returns when there is none left. An engine that still works is waited for.
func Guard(home string, tool io.Reader) error {
	if _, err := io.Copy(io.Discard, tool); err != nil {
		return err
	}
	for {
		plugins, err := pluginsOf(home)
		if err != nil || len(plugins) == 0 {
			return err
		}
		if _, err := EndOrphans(home); err != nil {
			return err
		}
		time.Sleep(guardInterval)
	}
}

// pluginsOf are the processes that run from the plugins of a PULUMI_HOME. A plugin in the home may be a link to where it was
// built, and the home may be reached by one.
func pluginsOf(home string) ([]process, error) {
	folder := filepath.Join(home, "plugins")
	resolved, err := filepath.EvalSymlinks(folder)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := processes()
	if err != nil {
		return nil, err
	}
	var found []process
	for _, p := range all {
		isOfHome := strings.HasPrefix(p.program, resolved+string(filepath.Separator)) ||
			strings.HasPrefix(p.program, folder+string(filepath.Separator))
		if isOfHome && !p.dead {
			found = append(found, p)
		}
	}
	return found, nil
}
