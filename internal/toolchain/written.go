package toolchain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Plugins returns the build of each plugin by its name: "v6.18.1, official", "v6.18.1, built from v0.73.0", "v1.2.1, stand-in". The
// texts contain no path of this machine, so that they can be stored in a state.
func (i *Installed) Plugins() map[string]string {
	builds := map[string]string{}
	for _, tool := range i.Tools {
		if tool.Kind != Plugin {
			continue
		}
		build := string(tool.Origin)
		if from := tool.From[strings.LastIndex(tool.From, " ")+1:]; from != "" {
			build = "built from " + from
		}
		builds[tool.Name] = tool.Version + ", " + build
	}
	return builds
}

// OtherPlugins lists, sorted by name, the plugins whose build differs from the one that wrote a state. A plugin that only one side
// contains is not listed: the state has no resource of it, or its build was not recorded.
func OtherPlugins(wrote, now map[string]string) []string {
	var others []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if before, known := wrote[name]; known && before != now[name] {
			others = append(others, fmt.Sprintf("%s: %s (before: %s)", name, now[name], before))
		}
	}
	return others
}
