package recovery

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/poll"
	"github.com/em-infra/em-infra/internal/process"
)

// EndOrphans ends the provider plugins of a PULUMI_HOME whose engine is dead, and returns their number. A plugin checks for its
// engine only every five minutes (pulumi sdk/v3, go/common/util/rpcutil/healthcheck.go) and continues until then: it could start a
// machine that is not in the state. Plugins of a running engine are left alone.
func EndOrphans(home string) (int, error) {
	plugins, err := pluginsOf(home)
	if err != nil {
		return 0, err
	}
	ended := 0
	for _, plugin := range plugins {
		if alive(plugin.Parent) {
			continue
		}
		if err := process.Kill(plugin.PID); err != nil {
			return ended, fmt.Errorf("end plugin process %d of the run before: %w", plugin.PID, err)
		}
		ended++
	}
	return ended, nil
}

// guardInterval is the longest interval between two checks of the plugins.
const guardInterval = 200 * time.Millisecond

// Guard ends the plugins of a PULUMI_HOME after their tool. It waits for the end of the pipe tool, whose other end only the tool
// holds, then ends plugins whose engine is dead, and returns when no plugin is left. It waits for an engine that still runs.
func Guard(home string, tool io.Reader) error {
	if _, err := io.Copy(io.Discard, tool); err != nil {
		return err
	}
	return poll.Until(context.Background(), guardInterval, func(context.Context) (bool, error) { // no context ends it
		plugins, err := pluginsOf(home)
		if err != nil || len(plugins) == 0 {
			return true, err
		}
		_, err = EndOrphans(home)
		return false, err
	})
}

// pluginsOf returns the processes that run from the plugins of a PULUMI_HOME. A plugin may be a symbolic link to its build, and the
// path of the home may contain one.
func pluginsOf(home string) ([]process.Process, error) {
	folder := filepath.Join(home, "plugins")
	resolved, err := filepath.EvalSymlinks(folder)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := process.List()
	if err != nil {
		return nil, err
	}
	var found []process.Process
	for _, p := range all {
		isOfHome := strings.HasPrefix(p.Program, resolved+string(filepath.Separator)) ||
			strings.HasPrefix(p.Program, folder+string(filepath.Separator))
		if isOfHome && !p.Dead {
			found = append(found, p)
		}
	}
	return found, nil
}
