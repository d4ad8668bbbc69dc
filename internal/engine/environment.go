package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	variablePassphrase     = "PULUMI_CONFIG_PASSPHRASE" //nolint:gosec // its name
	variablePassphraseFile = "PULUMI_CONFIG_PASSPHRASE_FILE"
	variablePath           = "PATH"
)

// environment returns the one of the CLI: that of this process and, above it, what the caller gives. It lets the plugins' own
// look for the CLI find this one, and tells it who calls.
func environment(cli string, inherited, given []string) []string {
	env := slices.Clone(inherited)
	if _, found := lookup(given, variablePassphraseFile); found {
		// The CLI prefers a passphrase to a file with one (pulumi pkg/v3 v3.254.0, secrets/passphrase/manager.go), so
		// that a stack would be encrypted with the passphrase of another one which the user's shell happens to know.
		env = slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, variablePassphrase+"=") })
	}
	env = append(env, given...)
	path, _ := lookup(env, variablePath)
	return append(env, "PULUMI_AUTOMATION_API=true", variablePath+"="+filepath.Dir(cli)+string(os.PathListSeparator)+path)
}

// lookup finds a variable; the last of several counts, as for a process.
func lookup(env []string, name string) (value string, found bool) {
	for _, entry := range slices.Backward(env) {
		if value, found = strings.CutPrefix(entry, name+"="); found {
			return value, true
		}
	}
	return "", false
}
