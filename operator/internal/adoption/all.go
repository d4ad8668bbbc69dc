package adoption

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// CheckAll refuses if a PULUMI_HOME has a plugin that is not among those with a gateway: the engine would start it itself, and it would
// create and change what exists. There is no other place from which the engine starts any (toolchain.Installed.Environment).
func CheckAll(home string, plugins []Plugin) error {
	const prefix = "resource-"
	found, err := filepath.Glob(filepath.Join(home, "plugins", prefix+"*", "pulumi-resource-*"))
	if err != nil {
		return err
	}
	for _, file := range found {
		name := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(file), ".exe"), "pulumi-resource-")
		if !slices.ContainsFunc(plugins, func(p Plugin) bool { return p.Name == name }) {
			return fmt.Errorf("the plugin %s would change what it should only look at (an adoption stands between the engine and each plugin that em-infra brings; got %s): move that folder away, then run adopt again; nothing was touched", name, filepath.Dir(file))
		}
	}
	return nil
}
