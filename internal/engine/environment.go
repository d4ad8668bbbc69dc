package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	variablePassphrase     = "PULUMI_CONFIG_PASSPHRASE" //nolint:gosec // its name
	variablePassphraseFile = "PULUMI_CONFIG_PASSPHRASE_FILE"
	variablePath           = "PATH"
	variableUser           = "USER"
)

// environment returns the environment of the CLI: this process's own, overlaid with given. With it, plugins find this CLI, and
// the CLI knows its caller.
func environment(cli string, inherited, given []string) []string {
	env := slices.Clone(inherited)
	if _, found := lookup(given, variablePassphraseFile); found {
		// The CLI prefers a passphrase to a passphrase file (pulumi pkg/v3 v3.254.0, secrets/passphrase/manager.go), so a passphrase
		// of another stack in the user's shell would encrypt this stack.
		env = slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, variablePassphrase+"=") })
	}
	env = append(env, given...)
	if file, _ := lookup(env, variablePassphraseFile); file != "" && !filepath.IsAbs(file) {
		// The CLI runs in the folder of the project, and this process where the user is, for whom the name is meant.
		if absolute, err := filepath.Abs(file); err == nil {
			env = append(env, variablePassphraseFile+"="+absolute)
		}
	}
	if _, found := lookup(env, variableUser); !found && os.Getuid() >= 0 {
		// In a container a user may have no entry in /etc/passwd, and then the CLI knows no user without this variable (Go's os/user,
		// lookup_stubs.go, which is what a build without cgo has).
		env = append(env, variableUser+"="+strconv.Itoa(os.Getuid()))
	}
	path, _ := lookup(env, variablePath)
	return append(env, "PULUMI_AUTOMATION_API=true", variablePath+"="+filepath.Dir(cli)+string(os.PathListSeparator)+path)
}

// lookup finds a variable; the last of several wins, as for a process.
func lookup(env []string, name string) (value string, found bool) {
	for _, entry := range slices.Backward(env) {
		if value, found = strings.CutPrefix(entry, name+"="); found {
			return value, true
		}
	}
	return "", false
}
