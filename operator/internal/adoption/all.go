package adoption

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/filematch"
)

// CheckAll refuses if a PULUMI_HOME has a plugin that is not among those with a gateway: the engine would start it itself, and it would
// create and change what exists. There is no other place from which the engine starts any (toolchain.Installed.Environment).
func CheckAll(home string, plugins []Plugin) error {
	const prefix = "resource-"
	folders, err := filematch.In(filepath.Join(home, "plugins"), prefix+"*")
	if err != nil {
		return err
	}
	var found []string
	for _, folder := range folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			continue // a lock beside the plugins
		}
		files, err := filematch.In(folder, "pulumi-resource-*")
		if err != nil {
			return err
		}
		found = append(found, files...)
	}
	for _, file := range found {
		name := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(file), ".exe"), "pulumi-resource-")
		if !slices.ContainsFunc(plugins, func(p Plugin) bool { return p.Name == name }) {
			return fmt.Errorf("the plugin %s would change what it should only look at (an adoption stands between the engine and each plugin that em-infra brings; got %s): move that folder away, then run adopt again; nothing was touched", name, filepath.Dir(file))
		}
	}
	return nil
}
